//! Making a failing case small, step by step, as long as the same finding is there.

use std::mem::discriminant;

use super::candidate::Candidate;
use crate::harness::case::{Case, DeviceKind};
use crate::harness::check::{Check, Finding, What};
use crate::harness::law::starred;
use crate::harness::plan::Plan;
use crate::harness::registry::Registry;
use crate::harness::run::panics;
use crate::harness::trial::{Trial, run};

/// Cases that are tried at most.
const MOST: usize = 400;

/// The smallest case that was found.
pub(super) struct Small {
    pub(super) check: Check,
    pub(super) yaml: String,
    pub(super) tried: usize,
}

/// The smallest case with the same finding; nothing where no part of the case has it.
pub(super) fn smallest(
    subjects: &Registry,
    case: &Case,
    plan: &Plan,
    device: DeviceKind,
    finding: &Finding,
) -> Option<Small> {
    let mut search = Search { subjects, case, device, finding, tried: 0 };
    let mut best = starts(case, plan, finding).into_iter().find(|start| search.fails(start))?;
    // A smaller size may let another shrink further, so that this ends only where no step is left.
    while let Some(next) = steps(&best).into_iter().find(|step| search.fails(step)) {
        best = next;
    }
    let check = finding.check;
    Some(Small { check, yaml: best.yaml(case, check, device), tried: search.tried })
}

struct Search<'a> {
    subjects: &'a Registry,
    case: &'a Case,
    device: DeviceKind,
    finding: &'a Finding,
    tried: usize,
}

impl Search<'_> {
    /// Whether a candidate is a case with the same finding.
    fn fails(&mut self, candidate: &Candidate) -> bool {
        if self.tried >= MOST {
            return false;
        }
        self.tried += 1;
        let (check, device) = (self.finding.check, self.device);
        let Some(case) = candidate.case(self.case, check, device) else { return false };
        let (case, subjects) = (&case, self.subjects);
        // Candidates share a path, so that a law of one must not be taken for that of another.
        let (point, baseline, laws) = (None, None, None);
        let trial = Trial { case, subjects, check, device, point, baseline, laws };
        // What the subject's code makes of a configuration that nobody meant is no finding of this case.
        let Ok(Ok(outcome)) = panics::catch(|| run(&trial)) else { return false };
        outcome.findings.iter().any(|other| is_same(&self.finding.what, &other.what))
    }
}

/// Whether two findings are of one kind, about one step.
fn is_same(a: &What, b: &What) -> bool {
    let step = |what: &What| what.step().map(starred);
    let said = |what: &What| match what {
        What::Failed(failed) => {
            let first = failed.failure.message.lines().next().unwrap_or_default();
            Some(first.chars().filter(|c| !c.is_ascii_digit()).collect::<String>())
        }
        _ => None,
    };
    let kind = |what: &What| match what {
        What::Gradient(problem) => Some(discriminant(&problem.wrong)),
        _ => None,
    };
    discriminant(a) == discriminant(b)
        && step(a) == step(b)
        && kind(a) == kind(b)
        && said(a) == said(b)
}

/// Parts of the case to begin with, the smallest first: its first failing point, then all points of the variant; each
/// without promises of the case and with them.
fn starts(case: &Case, plan: &Plan, finding: &Finding) -> Vec<Candidate> {
    let Some(variant) = plan.variants.iter().find(|v| v.name == finding.variant) else {
        return Vec::new();
    };
    let shapes = case.shapes.iter().map(|one| (one.pattern.clone(), one.axes.clone())).collect();
    let zero = case.zero_gradient.iter().map(|one| (one.pattern.clone(), one.when.clone()));
    let sizes = case.matrix.sizes.iter();
    let whole = Candidate {
        config: variant.config.clone(),
        sizes: sizes.map(|(name, values)| (name.value.clone(), values.clone())).collect(),
        dtypes: case.matrix.dtypes.clone(),
        shapes,
        zero: zero.collect(),
        seed: case.seed,
    };
    let failing = variant.points.iter().find(|p| Some(&p.name) == finding.tally.failed.first());
    let point = failing.or(variant.points.first()).map(|point| Candidate {
        sizes: point.sizes.iter().map(|(name, size)| (name.clone(), vec![*size])).collect(),
        dtypes: vec![point.dtype],
        ..whole.clone()
    });
    let promises = |of: Candidate| {
        let no_zero = Candidate { zero: Vec::new(), ..of.clone() };
        [Candidate { shapes: Vec::new(), ..no_zero.clone() }, no_zero, of]
    };
    point.into_iter().chain([whole]).flat_map(promises).collect()
}

/// Candidates that are one step smaller, the largest steps first.
fn steps(of: &Candidate) -> Vec<Candidate> {
    let mut all = Vec::new();
    let mut add = |change: &dyn Fn(&mut Candidate)| {
        let mut next = of.clone();
        change(&mut next);
        if next != *of && !all.contains(&next) {
            all.push(next);
        }
    };
    for i in 0..of.shapes.len() {
        add(&|next| drop(next.shapes.remove(i)));
    }
    for i in 0..of.zero.len() {
        add(&|next| drop(next.zero.remove(i)));
    }
    add(&|next| next.seed = 0);
    for i in 0..of.dtypes.len().saturating_sub(1) {
        add(&|next| next.dtypes.retain(|dtype| *dtype != of.dtypes[i + 1]));
        add(&|next| next.dtypes.retain(|dtype| *dtype != of.dtypes[i]));
    }
    for (at, (_, values)) in of.sizes.iter().enumerate() {
        for i in 0..values.len() {
            if values.len() > 1 {
                add(&|next| next.sizes[at].1.retain(|size| *size != values[i]));
            }
            for less in smaller(values[i] as u64).filter(|n| !values.contains(&(*n as usize))) {
                add(&|next| next.sizes[at].1[i] = less as usize);
            }
        }
    }
    for (key, value) in &of.config {
        for less in value.as_u64().into_iter().flat_map(smaller) {
            add(&|next| drop(next.config.insert(key.clone(), less.into())));
        }
    }
    all
}

/// Smaller numbers, the smallest first.
fn smaller(n: u64) -> impl Iterator<Item = u64> {
    [1, 2, n / 2, n.saturating_sub(1)].into_iter().filter(move |less| (1..n).contains(less))
}
