//! Ops that compute, and that a run leaves out.

use std::collections::{HashMap, HashSet};

use super::align::Row;
use crate::harness::law::expand::Expected;
use crate::harness::law::starred;
use crate::harness::run::Observation;

/// Names of computing ops of which a run has fewer than its law says. Where an op around a product vanishes, the
/// product may go into another step; it is skipped only where no step holds it.
pub(super) fn skipped(expected: &[Expected<'_>], run: &Observation) -> HashSet<&'static str> {
    // What an error cut off is not skipped.
    if run.failure.is_some() {
        return HashSet::new();
    }
    let mut missing: HashMap<&'static str, i64> = HashMap::new();
    for name in expected.iter().flat_map(|e| &e.step.computes) {
        *missing.entry(*name).or_default() += 1;
    }
    for name in run.steps.iter().flat_map(|step| run.computes(step)) {
        *missing.entry(name).or_default() -= 1;
    }
    missing.into_iter().filter(|(_, n)| *n > 0).map(|(name, _)| name).collect()
}

/// Marks the first named step into which a computing op does not go that its law puts there, where no other step holds
/// the op and nothing else differs.
pub(super) fn mark_skipped(rows: &mut [Row], expected: &[Expected<'_>], run: &Observation) {
    if rows.iter().any(|row| !row.is_same()) {
        return;
    }
    let skipped = skipped(expected, run);
    if skipped.is_empty() {
        return;
    }
    let lacks = |row: &Row| {
        let step = run.steps.iter().find(|step| step.is_named() && step.name == row.name)?;
        let law = expected.iter().find(|e| e.step.named && e.key == starred(&row.name))?;
        let holds: Vec<_> = run.computes(step).collect();
        law.step.computes.iter().copied().find(|op| skipped.contains(op) && !holds.contains(op))
    };
    let found = rows.iter().enumerate().filter(|(_, row)| row.named && row.actual.is_some());
    let found = found.filter_map(|(at, row)| Some((at, lacks(row)?))).next();
    if let Some((at, op)) = found {
        rows[at].skips = Some(op);
    }
}
