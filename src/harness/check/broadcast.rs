//! `broadcast`: an axis of 1 that is repeated is meant.
//!
//! [8, 16] + [8, 1, 16] is [8, 8, 16] without a word. Each expansion of an axis from 1 to more that the pass makes has to be
//! one that the case lists, by the named step that it flows into. Axes that are only missing in front, as those of a bias,
//! are none.

use super::tally::Tally;
use super::{Expansion, Finding, What};
use crate::harness::case::Case;
use crate::harness::law::starred;
use crate::harness::study::Study;
use crate::trace::Trace;
use crate::trace::op::{Kind, RawOp};

/// Expansions of the witness run, whose dims all differ, that the case does not list: the first, and the steps of all.
pub fn broadcast(case: &Case, study: &Study) -> Vec<Finding> {
    let trace = &study.witness.trace;
    let listed = |step: &str| case.broadcast.iter().any(|known| known.matches(step));
    let all = trace.ops.iter().filter_map(|op| expansion(trace, op));
    let unlisted: Vec<Expansion> = all.filter(|found| !listed(&found.step)).collect();
    let mut steps: Vec<String> = Vec::new();
    for step in unlisted.iter().map(|found| starred(&found.step)) {
        if !steps.contains(&step) {
            steps.push(step);
        }
    }
    let Some(first) = unlisted.into_iter().next() else { return Vec::new() };
    vec![Finding {
        check: super::Check::Broadcast,
        variant: study.variant.clone(),
        tally: Tally::new(study.seen.iter().map(|seen| (&seen.point, true))),
        at: study.witness.dims.clone(),
        what: What::Expanded(Box::new(first), steps),
    }]
}

fn expansion(trace: &Trace, op: &RawOp) -> Option<Expansion> {
    let operand = op.operands.first().and_then(|i| trace.ops.get(*i))?;
    if op.kind != Kind::Broadcast {
        return None;
    }
    let missing = op.shape.len().checked_sub(operand.shape.len())?;
    let repeated = operand.shape.iter().zip(&op.shape[missing..]).any(|(a, b)| *a == 1 && *b > 1);
    if !repeated {
        return None;
    }
    let into = trace.next_name(op)?;
    Some(Expansion {
        step: into.name.clone(),
        place: into.place.clone(),
        from: operand.shape.clone(),
        to: op.shape.clone(),
    })
}
