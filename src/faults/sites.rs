//! Which faults there are: the taps of the subjects that cases run, and the changes that change something there.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Change;
use super::reindexed::Reindexed;
use crate::harness::case::{Case, DeviceKind};
use crate::harness::check::Check;
use crate::harness::law::starred;
use crate::harness::plan::{Plan, Point, plan};
use crate::harness::registry::Registry;
use crate::harness::snapshot::Snapshot;
use crate::harness::study::{StudyError, inferred};
use crate::harness::subject::Described;
use crate::harness::trial::{TrialError, checks, subject};
use crate::trace::Role;

/// One variant of a case, as far as faults need it.
#[derive(Debug)]
pub struct Ground {
    /// The case, with this variant alone.
    pub case: Arc<Case>,
    /// Its checks, which faults have to get past.
    pub checks: Vec<Check>,
    /// Its points.
    pub plan: Plan,
    /// What is locked of it.
    pub baseline: Option<Snapshot>,
    /// Its taps, `*` for the numbers in their names, and how many axes each has, with the shape that it had first in a run
    /// whose dims all differ.
    taps: BTreeMap<(String, usize), Vec<usize>>,
    /// What its points come to, by which cases are put in order.
    cost: usize,
}

impl Ground {
    /// The variants of a case; each is run once, and its taps are noted.
    ///
    /// # Errors
    /// A case that does not fit its subject; candle's internals.
    pub fn of(
        case: &Case,
        subjects: &Registry,
        baseline: Option<&Snapshot>,
    ) -> Result<Vec<Self>, TrialError> {
        let variants = case.variants.iter().map(|variant| {
            let case = Case { variants: vec![variant.clone()], ..case.clone() };
            Self::new(case, subjects, baseline.cloned())
        });
        variants.collect()
    }

    fn new(
        case: Case,
        subjects: &Registry,
        baseline: Option<Snapshot>,
    ) -> Result<Self, TrialError> {
        let model = subject(subjects, &case.subject)?;
        let mut plan = plan(&case, &Described(model))?;
        plan.variants.iter_mut().for_each(|v| v.points.retain(|p| p.device == DeviceKind::Cpu));
        let mut taps = BTreeMap::new();
        for variant in plan.variants.iter().filter(|variant| !variant.points.is_empty()) {
            let trace = inferred(&case, variant, model).map_err(StudyError::from)?.witness.trace;
            for name in trace.names.iter().filter(|name| name.role == Role::Tap) {
                let shape = trace.ops.get(name.op).map(|op| op.shape.clone()).unwrap_or_default();
                taps.entry((starred(&name.name), shape.len())).or_insert(shape);
            }
        }
        let checks = checks(&case, model)?;
        let dims = |point: &Point| point.dims.iter().map(|(_, n)| n).sum::<usize>();
        let cost = plan.variants.iter().flat_map(|v| &v.points).map(dims).sum();
        Ok(Self { case: Arc::new(case), checks, plan, baseline, taps, cost })
    }

    /// The case's name, and the variant's where it has one.
    pub fn name(&self) -> String {
        let case = self.case.path.to_string();
        match self.plan.variants.first() {
            Some(variant) if self.case.variants.iter().any(|v| v.at.is_some()) => {
                format!("{case} ({})", variant.name)
            }
            _ => case,
        }
    }

    /// The name of the reference point.
    pub(super) fn reference(&self) -> Option<&str> {
        self.plan.variants.first()?.points.first().map(|point| point.name.as_str())
    }
}

/// A place for a fault, and the cases that run it.
#[derive(Debug, Clone)]
pub struct Site {
    /// The subject.
    pub subject: String,
    /// The tap, `*` for the numbers in its name.
    pub tap: String,
    /// How many axes its tensors have.
    pub rank: usize,
    /// What happens to them.
    pub change: Change,
    /// Whether the change gives the tensor another shape, where no two dims are equal.
    pub shape_changes: bool,
    /// Positions of the cases that have the tap, the smallest first.
    pub grounds: Vec<usize>,
}

/// Every fault of the cases: each change at each tap that changes something, and each only once where two changes are the
/// same there. A tap that several subjects share is tried in the first of them.
///
/// # Errors
/// Candle's own.
pub fn sites(grounds: &[Ground]) -> candle_core::Result<Vec<Site>> {
    let mut sites = Vec::new();
    for ((tap, rank), (subject, shape)) in taps(grounds) {
        let has = |ground: &Ground| {
            ground.case.subject == *subject && ground.taps.contains_key(&(tap.clone(), rank))
        };
        let of = (0..grounds.len()).filter(|&i| has(&grounds[i])).collect();
        let of = enough(grounds, of, &(tap.clone(), rank));
        let mut known: Vec<Reindexed> = Vec::new();
        for change in Change::all(rank) {
            let Some(shape_changes) = told(change, shape, &mut known)? else { continue };
            let (subject, tap, grounds) = (subject.to_owned(), tap.clone(), of.clone());
            sites.push(Site { subject, tap, rank, change, shape_changes, grounds });
        }
    }
    Ok(sites)
}

/// The cases with the least work, the smallest first: one whose checks all stand in smaller ones would only take longer. A
/// case in which an axis of the tap is 1 does not stand for one in which it is more, since most changes of that axis do
/// nothing there.
fn enough(grounds: &[Ground], mut of: Vec<usize>, tap: &(String, usize)) -> Vec<usize> {
    of.sort_by_key(|&i| grounds[i].cost);
    let mut made: Vec<(Check, Vec<bool>)> = Vec::new();
    of.retain(|&i| {
        let shape = grounds[i].taps.get(tap).map(Vec::as_slice).unwrap_or_default();
        let long: Vec<bool> = shape.iter().map(|n| *n > 1).collect();
        let stands = |check: &Check| {
            made.iter().any(|(c, l)| c == check && long.iter().zip(l).all(|(is, was)| *was || !is))
        };
        let news: Vec<Check> =
            grounds[i].checks.iter().filter(|check| !stands(check)).copied().collect();
        made.extend(news.iter().map(|check| (*check, long.clone())));
        !news.is_empty()
    });
    of
}

/// Every tap, with the first subject that has it and its shape there.
fn taps(grounds: &[Ground]) -> BTreeMap<(String, usize), (&str, &[usize])> {
    let mut taps = BTreeMap::new();
    for ground in grounds {
        for (tap, shape) in &ground.taps {
            taps.entry(tap.clone()).or_insert((ground.case.subject.as_str(), shape.as_slice()));
        }
    }
    taps
}

/// Whether a change gives a tensor of that shape another; nothing where it changes nothing, or what a known one does.
fn told(
    change: Change,
    shape: &[usize],
    known: &mut Vec<Reindexed>,
) -> candle_core::Result<Option<bool>> {
    if matches!(change, Change::Detached | Change::Format | Change::Strided) {
        return Ok((change != Change::Strided || shape.len() > 1).then_some(false));
    }
    let Some(op) = change.reindexed(shape)? else { return Ok(None) };
    // NaN is not equal to itself.
    if known.contains(&op) {
        return Ok(None);
    }
    let shape_changes = op.shape != shape;
    known.push(op);
    Ok(Some(shape_changes))
}
