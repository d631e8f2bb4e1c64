//! Models that end with an error, and models that should have.

use super::align::align;
use super::cause::cause_of_error;
use super::tally::Tally;
use super::{Failed, Finding, What};
use crate::harness::case::Expect;
use crate::harness::law::starred;
use crate::harness::run::{Failure, Observation};
use crate::harness::study::{Seen, Study};
use crate::trace::Role;
use crate::trace::locate::Place;

/// Points at which the model fails, one finding for each distinct failure. Where none does, but a run with all dims
/// distinct: that run, since the points then pass by the chance of equal sizes.
pub fn failed(study: &Study) -> Vec<Finding> {
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
        cause: cause_of_error(failure, |shape| is_weight(shape, run)),
    }
}

/// Whether a shape is a parameter's, and of no step that nobody made from one.
fn is_weight(shape: &[usize], run: &Observation) -> bool {
    let is_data = run.steps.iter().any(|step| step.role != Role::Param && step.shape == shape);
    !is_data && run.params.iter().any(|(_, own)| own == shape)
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
pub(super) fn not_failed(study: &Study, expect: &Expect) -> Vec<Finding> {
    let expected = expect.error.as_str();
    let message = |seen: &Seen| seen.run.failure.as_ref().map(|f| f.message.clone());
    let says = |seen: &Seen| message(seen).is_some_and(|m| m.contains(expected));
    let wrong = |seen: &Seen| !says(seen) || !expect.at.as_ref().is_none_or(|at| ends_at(seen, at));
    let Some(first) = study.seen.iter().find(|seen| wrong(seen)) else { return Vec::new() };
    let tally = Tally::new(study.seen.iter().map(|seen| (&seen.point, wrong(seen))));
    let at = expect.at.as_ref().map(|at| format!("` at `{at}")).unwrap_or_default();
    let what = What::NotFailed { expected: format!("{expected}{at}"), actual: message(first) };
    vec![Finding::of_shapes(study, tally, what)]
}

/// Whether a run failed in that op, or after that step and before the next.
fn ends_at(seen: &Seen, at: &str) -> bool {
    let op = seen.run.failure.as_ref().and_then(|failure| failure.op.as_deref());
    let last = seen.run.steps.iter().rev().find(|step| step.is_named());
    op == Some(at) || last.is_some_and(|step| step.name == at || starred(&step.name) == at)
}
