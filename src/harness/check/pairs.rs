//! What all checks that compare two passes share: the points they run at, the first step that differs, the finding.

use std::collections::HashMap;

use candle_core::{Device, Tensor};

use super::disagreement::{Claim, Disagreement, First};
use super::tally::Tally;
use super::{Check, Failed, Finding, What};
use crate::harness::case::{Case, DType};
use crate::harness::plan::{Point, VariantPlan};
use crate::harness::run::slices::{Key, numbered};
use crate::harness::run::{Failure, Named, Pass, Rig, Setup, apart, likeness};
use crate::harness::study::{StudyError, device, setup};
use crate::harness::subject::AnySubject;
use crate::trace::locate::Place;
use crate::trace::tap::Tap;

/// What a check looks at: a variant of a case, and the subject.
#[derive(Clone, Copy)]
pub struct Pairs<'a> {
    /// The check.
    pub check: Check,
    /// The case.
    pub case: &'a Case,
    /// The variant.
    pub variant: &'a VariantPlan,
    /// The points to run.
    pub points: &'a [Point],
    /// The subject.
    pub subject: &'a dyn AnySubject,
}

/// Why a check went no further at a point.
#[derive(Debug, Clone)]
pub enum Stop {
    /// The model failed.
    Failed(Box<Failure>),
    /// Something that should not be.
    Found(Box<What>),
}

impl From<Box<Failure>> for Stop {
    fn from(failure: Box<Failure>) -> Self {
        Self::Failed(failure)
    }
}

impl From<candle_core::Error> for Stop {
    fn from(error: candle_core::Error) -> Self {
        Self::Failed(Box::new(Failure::from(&error)))
    }
}

/// What came of one point.
pub type Verdict = Result<(), Stop>;

impl Pairs<'_> {
    /// Runs a check at every point, each raised to sizes at which the check can tell something; equal ones run once.
    ///
    /// # Errors
    /// A device that cannot be opened.
    pub fn findings(
        &self,
        raised: impl Fn(&Point) -> Point,
        verdict: impl Fn(&Point, &Setup<'_>) -> Verdict,
    ) -> Result<Vec<Finding>, StudyError> {
        let mut seen: Vec<(Point, Verdict)> = Vec::new();
        let mut verdicts = Vec::new();
        for own in self.points {
            let point = raised(own);
            let same = |other: &Point| (&other.dims, other.dtype) == (&point.dims, point.dtype);
            let known = seen.iter().find(|(other, _)| same(other)).map(|(_, v)| v.clone());
            let found = match known {
                Some(found) => found,
                None => {
                    let device: Device = device(point.device)?;
                    let found = verdict(&point, &setup(self.case, self.variant, &point, &device));
                    seen.push((point.clone(), found.clone()));
                    found
                }
            };
            let what = found.err().and_then(|stop| self.told(stop, own, &point));
            verdicts.push((own, point.dims, what));
        }
        // What cannot be told at one point is no finding where another point tells it.
        if verdicts.iter().any(|(_, _, what)| what.is_none()) {
            let untold = |what: &mut Box<What>| matches!(**what, What::Inconclusive(_));
            verdicts.iter_mut().for_each(|(_, _, what)| drop(what.take_if(untold)));
        }
        let first = verdicts.iter().find_map(|(_, at, v)| Some((at.clone(), v.clone()?)));
        let Some((at, what)) = first else { return Ok(Vec::new()) };
        let tally = Tally::new(verdicts.iter().map(|(point, _, v)| (*point, v.is_some())));
        let variant = self.variant.name.clone();
        Ok(vec![Finding { check: self.check, variant, tally, at, what: *what }])
    }

    /// What is to be said. A model that fails at the point of the case itself is none of this check's where the case has
    /// `shapes`, which tells it.
    fn told(&self, stop: Stop, own: &Point, ran: &Point) -> Option<Box<What>> {
        let shapes = Check::Shapes.name();
        let named = self.case.checks.as_ref();
        let by_shapes = named.is_none_or(|named| named.iter().any(|name| name.value == shapes));
        let fails = || own.dims == ran.dims || self.fails(own);
        match stop {
            Stop::Found(what) => Some(what),
            Stop::Failed(_) if by_shapes && self.case.fault.is_none() && fails() => None,
            Stop::Failed(failure) => Some(Box::new(bare(*failure))),
        }
    }

    fn fails(&self, point: &Point) -> bool {
        let Ok(device) = device(point.device) else { return true };
        let setup = setup(self.case, self.variant, point, &device);
        let pass = Rig::new(self.subject, &setup).and_then(|rig| rig.forward(rig.inputs()));
        pass.is_err()
    }

    /// The symbol of a size of the subject.
    pub fn symbol(&self, size: &str) -> Option<String> {
        let sizes = self.subject.sizes();
        sizes.into_iter().find(|(name, _)| *name == size).map(|(_, symbol)| symbol.to_owned())
    }

    /// A point with another value of a size.
    pub fn resized(&self, point: &Point, symbol: &str, n: usize) -> Point {
        Point { dims: point.dims.clone().with(symbol, n), ..point.clone() }
    }

    /// What is allowed between two computations of the same thing, in the number format of the point.
    pub fn tolerance(&self, dtype: DType) -> f64 {
        let own = self.case.tolerance(self.check.name(), dtype);
        own.unwrap_or_else(|| match self.check {
            // Other sizes take other kernels, whose roundings differ by more than those of two ways at one size.
            Check::Batch | Check::Continuation => 10. * rounding(dtype),
            _ => rounding(dtype),
        })
    }
}

/// A failure with nothing known of the pass before it.
pub fn bare(failure: Failure) -> What {
    let cause = super::cause::cause_of_error(&failure, |_| false);
    let operands = failure.operands.iter().map(|o| (o.clone(), None)).collect();
    What::Failed(Box::new(Failed { failure, operands, rows: Vec::new(), cause }))
}

/// How far two computations of the same thing may be apart where the case does not say.
pub fn rounding(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => 1e-11,
        DType::F16 => 1e-2,
        DType::BF16 => 5e-2,
        _ => 1e-5,
    }
}

/// A claim about values, and how closely it has to hold.
pub struct Held {
    /// What should hold.
    pub claim: Claim,
    /// How far two values may be apart.
    pub tolerance: f64,
}

impl Held {
    /// Whether outputs agree with `expected`, name by name; where one does not, `first` finds the step.
    pub fn outputs(
        &self,
        actual: &Named,
        expected: &Named,
        first: impl FnOnce() -> Option<First>,
    ) -> Verdict {
        self.named(actual, expected, false, first)
    }

    /// Whether gradients agree.
    pub fn gradients(&self, actual: &Named, expected: &Named) -> Verdict {
        self.named(actual, expected, true, || None)
    }

    fn named(
        &self,
        actual: &Named,
        expected: &Named,
        gradient: bool,
        first: impl FnOnce() -> Option<First>,
    ) -> Verdict {
        let compared = expected.iter().filter_map(|(name, b)| {
            let a = actual.iter().find(|(own, _)| own == name).map(|(_, a)| a);
            let error = a.map_or(Some(f64::INFINITY), |a| apart(a, b, self.tolerance))?;
            Some((name.clone(), error))
        });
        let worst = compared.max_by(|(_, a), (_, b)| a.total_cmp(b));
        let Some((name, error)) = worst else { return Ok(()) };
        let (claim, tolerance, first) = (self.claim.clone(), self.tolerance, first());
        let found = Disagreement { name, gradient, claim, first, error, tolerance };
        Err(Stop::Found(Box::new(What::Disagree(Box::new(found)))))
    }
}

/// The first tap, in the order of the pass, whose values are not those of its counterpart. `views` cuts out what has to
/// agree of the two; where it gives nothing, the tap is passed over.
pub fn first_apart(
    actual: &Pass,
    expected: &Pass,
    tolerance: f64,
    views: impl Fn(&Key, &Tensor, &Tensor) -> Option<(Tensor, Tensor)>,
) -> Option<First> {
    let (own, others) = (numbered(actual), numbered(expected));
    let others: HashMap<Key, &Tap> = others.into_iter().collect();
    let repeats = |pass: &Pass, name: &str| pass.taps.iter().filter(|t| t.name == name).count();
    let mut alike = HashMap::new();
    let mut after: Option<&Tap> = None;
    for (key, tap) in own {
        let Some(other) = others.get(&key) else { continue };
        // A loop that runs another number of times does other things in each turn.
        let same = || repeats(actual, &tap.name) == repeats(expected, &tap.name);
        if !*alike.entry(&tap.name).or_insert_with(same) {
            continue;
        }
        let Some((a, b)) = views(&key, &tap.tensor, &other.tensor) else { continue };
        if apart(&a, &b, tolerance).is_some() {
            let after = after.map(|tap| (tap.name.clone(), Place::from(tap.place)));
            let place = Some(Place::from(tap.place));
            let like = likeness(&a, &b);
            return Some(First { step: tap.name.clone(), place, after, like });
        }
        after = Some(tap);
    }
    None
}
