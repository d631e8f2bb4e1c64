//! `gradients`: every parameter has one, of its own shape, finite, and zero only where the case says so.

use std::collections::BTreeMap;

use super::tally::Tally;
use super::{Check, Finding, GradientProblem, What, WrongGradient};
use crate::harness::case::{Case, ZeroGradient};
use crate::harness::law::starred;
use crate::harness::run::{Gradient, parameter_shapes};
use crate::harness::study::{Seen, Study};

/// What is wrong with the gradients of a variant: one finding for each kind and the points that have it, naming every
/// parameter that is wrong so there.
pub fn gradients(case: &Case, study: &Study) -> Vec<Finding> {
    let mut problems: BTreeMap<(&'static str, Vec<bool>), Vec<Wrong>> = BTreeMap::new();
    for (name, _) in parameters(study) {
        if let Some((kind, wrong)) = worst(case, study, &name) {
            let failing = failing(case, study, &name, &wrong);
            problems.entry((kind, failing)).or_default().push((name, wrong));
        }
    }
    let findings = problems.into_iter().filter_map(|((_, failing), p)| finding(study, &failing, p));
    findings.collect()
}

/// A parameter and what is wrong with it.
type Wrong = (String, WrongGradient);

/// Every parameter that any point has, with its shape there.
fn parameters(study: &Study) -> BTreeMap<String, Vec<usize>> {
    let all = study.seen.iter().flat_map(|seen| &seen.run.params);
    all.map(|(name, shape)| (name.clone(), shape.clone())).collect()
}

/// The most serious problem of one parameter over all points.
fn worst(case: &Case, study: &Study, name: &str) -> Option<(&'static str, WrongGradient)> {
    let zero = zero_gradient(case, name);
    let problems = study.seen.iter().filter_map(|seen| wrong(seen, name, zero));
    let all = problems.collect::<Vec<_>>();
    let gradients = || study.seen.iter().filter_map(|seen| gradient(seen, name));
    let never = gradients().count() > 0 && gradients().all(|g| g.shape.is_some() && g.zero);
    let undeclared = all.contains(&WrongGradient::Zero);
    if never && (undeclared || zero.is_some()) {
        return Some(("3 zero everywhere", WrongGradient::ZeroEverywhere));
    }
    let rank = |w: &WrongGradient| match w {
        WrongGradient::Missing | WrongGradient::Unused => "0 missing",
        WrongGradient::Shape(_) => "1 shape",
        WrongGradient::NotFinite => "2 not finite",
        WrongGradient::ZeroEverywhere => "3 zero everywhere",
        WrongGradient::Zero => "4 zero",
        WrongGradient::NotZero(_) => "5 not zero",
    };
    all.into_iter().map(|w| (rank(&w), w)).min_by_key(|(rank, _)| *rank)
}

fn gradient<'a>(seen: &'a Seen, name: &str) -> Option<&'a Gradient> {
    seen.run.gradients.iter().find(|g| g.name == name)
}

/// What is wrong with a parameter's gradient at one point.
fn wrong(seen: &Seen, name: &str, zero: Option<&ZeroGradient>) -> Option<WrongGradient> {
    let gradient = gradient(seen, name)?;
    let Some(shape) = &gradient.shape else { return Some(WrongGradient::Missing) };
    if parameter_shapes(&seen.run).get(name).is_some_and(|own| *own != shape.as_slice()) {
        return Some(WrongGradient::Shape(shape.clone()));
    }
    if !gradient.finite {
        return Some(WrongGradient::NotFinite);
    }
    let declared = zero.filter(|z| z.when.eval(&seen.point.dims) == Ok(true));
    match (gradient.zero, declared) {
        (true, None) => Some(WrongGradient::Zero),
        (false, Some(zero)) => Some(WrongGradient::NotZero(zero.when.clone())),
        _ => None,
    }
}

/// For each point, whether a parameter's gradient is wrong there in that way.
fn failing(case: &Case, study: &Study, name: &str, kind: &WrongGradient) -> Vec<bool> {
    let zero = zero_gradient(case, name);
    let fails = |seen: &Seen| match kind {
        WrongGradient::ZeroEverywhere => gradient(seen, name).is_some_and(|g| g.zero),
        kind => wrong(seen, name, zero).is_some_and(|w| same_kind(&w, kind)),
    };
    study.seen.iter().map(fails).collect()
}

/// What the case says of the zeros of a parameter's gradient.
fn zero_gradient<'a>(case: &'a Case, name: &str) -> Option<&'a ZeroGradient> {
    let about = |z: &&ZeroGradient| z.pattern.matches(name) || z.pattern.matches(&starred(name));
    case.zero_gradient.iter().find(about)
}

fn finding(study: &Study, failing: &[bool], problem: Vec<Wrong>) -> Option<Finding> {
    let (first, kind) = problem.first()?.clone();
    let seen = || study.seen.iter().zip(failing.iter().copied());
    let (at, _) = seen().find(|(_, fails)| *fails)?;
    let shape = parameter_shapes(&at.run).get(first.as_str()).map(|s| s.to_vec());
    let parameters = problem.into_iter().map(|(name, _)| name).collect();
    Some(Finding {
        check: Check::Gradients,
        variant: study.variant.clone(),
        tally: Tally::new(seen().map(|(seen, fails)| (&seen.point, fails))),
        at: at.point.dims.clone(),
        what: What::Gradient(Box::new(GradientProblem {
            parameter: first,
            shape: shape.unwrap_or_default(),
            wrong: kind,
            severed: None,
            parameters,
        })),
    })
}

fn same_kind(a: &WrongGradient, b: &WrongGradient) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b)
}
