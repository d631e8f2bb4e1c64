//! Models that end with an error, and models that should have.

use super::align::align;
use super::cause::cause_of_error;
use super::tally::Tally;
use super::{Failed, Finding, What};
use crate::harness::run::{Failure, Observation};
use crate::harness::study::{Seen, Study};
use crate::trace::locate::Place;

/// Points at which the model fails, one finding for each distinct failure. Where none does, but a run with all dims
/// distinct: that run, since the points then pass by the chance of equal sizes.
pub(super) fn failed(study: &Study) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    let mut kinds: Vec<(Option<String>, Vec<Place>)> = Vec::new();
    for seen in &study.seen {
        let Some(failure) = &seen.run.failure else { continue };
        let kind = (failure.op.clone(), failure.places.clone());
        if kinds.contains(&kind) {
            continue;
        }
        let same = |other: &Seen| {
            let failure = other.run.failure.as_ref();
            failure.is_some_and(|f| (&f.op, &f.places) == (&kind.0, &kind.1))
        };
        let tally = Tally::new(study.seen.iter().map(|seen| (&seen.point, same(seen))));
        let what = What::Failed(Box::new(told(failure, &seen.run)));
        findings.push(Finding::of_shapes(study, tally, what));
        kinds.push(kind);
    }
    if let (true, Some(failure)) = (findings.is_empty(), &study.witness.failure) {
        let tally = Tally::new(study.seen.iter().map(|seen| (&seen.point, false)));
        let what = What::Failed(Box::new(told(failure, &study.witness)));
        findings.push(Finding::of_shapes(study, tally, what));
    }
    findings
}

/// An error, with what its operands are in the model and why it came.
pub fn told(failure: &Failure, run: &Observation) -> Failed {
    let operands = failure.operands.iter().map(|o| (o.clone(), owner(o, run)));
    Failed {
        failure: failure.clone(),
        operands: operands.collect(),
        rows: align(&[], &run.steps),
        cause: cause_of_error(failure),
    }
}

/// What in the model has the shape of an operand: the latest step, or a parameter, as it is or transposed.
fn owner(shape: &[usize], run: &Observation) -> Option<String> {
    let step = run.steps.iter().rev().find(|step| step.shape == shape);
    let parameter = |shape: &[usize]| {
        run.params.iter().find(|(_, own)| own == shape).map(|(name, _)| name.clone())
    };
    let transposed = || match *shape {
        [rows, columns] => parameter(&[columns, rows]).map(|name| format!("{name}` transposed")),
        _ => None,
    };
    let quoted = |name: String| format!("{name}`");
    let named = step.map(|step| step.name.clone()).or_else(|| parameter(shape)).map(quoted);
    named.or_else(transposed).map(|name| format!("`{name}"))
}

/// Points that should have failed, and did not or otherwise.
pub(super) fn not_failed(study: &Study, expected: &str) -> Vec<Finding> {
    let message = |seen: &Seen| seen.run.failure.as_ref().map(|f| f.message.clone());
    let wrong = |seen: &Seen| !message(seen).is_some_and(|m| m.contains(expected));
    let Some(first) = study.seen.iter().find(|seen| wrong(seen)) else { return Vec::new() };
    let tally = Tally::new(study.seen.iter().map(|seen| (&seen.point, wrong(seen))));
    let what = What::NotFailed { expected: expected.to_owned(), actual: message(first) };
    vec![Finding::of_shapes(study, tally, what)]
}
