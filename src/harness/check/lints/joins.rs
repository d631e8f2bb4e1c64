//! Concatenations that no point of a case shows.

use std::collections::BTreeSet;

use super::{Lint, Odd, run};
use crate::harness::check::pairs::Pairs;
use crate::harness::law::starred;
use crate::harness::study::{Study, StudyError};
use crate::trace::op::Kind;
use crate::trace::{Name, Trace};

/// Steps before which tensors are joined at the witness run or where no size is one, and at no point: candle takes one
/// tensor for its own concatenation along whatever axis.
pub(super) fn never_joined(of: &Pairs<'_>, study: &Study) -> Result<Vec<Lint>, StudyError> {
    let Some(first) = of.points.first() else { return Ok(Vec::new()) };
    // The sizes stand first among the dims.
    let sizes = first.dims.iter().take(first.sizes.len());
    let ones = sizes.filter(|(_, n)| *n == 1).map(|(symbol, _)| symbol);
    let raised = ones.fold(first.clone(), |point, symbol| of.resized(&point, symbol, 2));
    let others = [
        (study.witness.dims.clone(), study.witness.trace.clone()),
        (raised.dims.clone(), run(of, &raised)?),
    ];
    let at_points = study.seen.iter().flat_map(|seen| joined(&seen.run.trace));
    let mut told: BTreeSet<String> = at_points.map(|(into, _)| starred(&into.name)).collect();
    let mut lints = Vec::new();
    for (dims, trace) in &others {
        for (into, pieces) in joined(trace) {
            if told.insert(starred(&into.name)) {
                let odd = Odd::NeverJoined { at: dims.clone(), pieces };
                lints.push(Lint { odd, step: into.name.clone(), place: into.place.clone() });
            }
        }
    }
    Ok(lints)
}

/// Each name that a concatenation flows into, and the number of its pieces.
fn joined(trace: &Trace) -> impl Iterator<Item = (&Name, usize)> {
    let cats = trace.ops.iter().filter(|op| matches!(op.kind, Kind::Cat(_)));
    cats.filter_map(|op| Some((trace.next_name(op)?, op.operands.len())))
}
