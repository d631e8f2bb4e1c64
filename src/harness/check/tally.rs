//! At which points something was found, and what the others have in common.

use crate::dims::{Comparison, Condition, Expr};
use crate::harness::case::DType;
use crate::harness::plan::Point;

/// Points by name: where it was found and where not.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tally {
    /// Found here, the first first.
    pub failed: Vec<String>,
    /// Not found here.
    pub passed: Vec<String>,
    /// A condition that holds at all passing points and at none of the others.
    pub passing: Option<Condition>,
    /// The value of one dim that all failing points have and no other.
    pub failing: Option<Condition>,
    /// The element type that all failing points have and none of the others.
    pub failing_dtype: Option<DType>,
}

impl Tally {
    /// Over points and whether each fails.
    pub fn new<'a>(points: impl IntoIterator<Item = (&'a Point, bool)>) -> Self {
        let (failed, passed): (Vec<_>, Vec<_>) = points.into_iter().partition(|(_, fails)| *fails);
        let failed: Vec<&Point> = failed.into_iter().map(|(point, _)| point).collect();
        let passed: Vec<&Point> = passed.into_iter().map(|(point, _)| point).collect();
        let names = |points: &[&Point]| points.iter().map(|p| p.name.clone()).collect();
        Self {
            failed: names(&failed),
            passed: names(&passed),
            passing: tells(&passed, &failed),
            failing: equal(&failed, &passed),
            failing_dtype: dtype(&failed, &passed),
        }
    }

    /// How many points were looked at.
    pub fn total(&self) -> usize {
        self.failed.len() + self.passed.len()
    }
}

fn dtype(points: &[&Point], others: &[&Point]) -> Option<DType> {
    let (first, _) = (points.first()?, others.first()?);
    let has = |point: &&Point| point.dtype == first.dtype;
    (points.iter().all(has) && !others.iter().any(has)).then_some(first.dtype)
}

/// The simplest condition on one dim, or between two, that holds at the one points and at none of the others.
fn tells(points: &[&Point], others: &[&Point]) -> Option<Condition> {
    let (first, _) = (points.first()?, others.first()?);
    let varied: Vec<(&str, usize)> = first.dims.iter().collect();
    let right = |condition: &Condition| separates(condition, points, others);
    let bounded = varied.iter().flat_map(|(symbol, _)| {
        let all = points.iter().filter_map(|p| p.dims.get(symbol));
        let (least, most) = (all.clone().min().unwrap_or(0), all.max().unwrap_or(0));
        [value(symbol, Comparison::AtMost, most), value(symbol, Comparison::AtLeast, least)]
    });
    let pairs = varied.iter().enumerate().flat_map(|(i, (a, _))| {
        varied[i + 1..]
            .iter()
            .map(|(b, _)| Condition::compare(Expr::dim(a), Comparison::Equal, Expr::dim(b)))
    });
    equal(points, others).or_else(|| bounded.chain(pairs).find(right))
}

/// The value of one dim that all of `these` have and none of the `others`.
fn equal(these: &[&Point], others: &[&Point]) -> Option<Condition> {
    let (first, _) = (these.first()?, others.first()?);
    let values = first.dims.iter().map(|(symbol, n)| value(symbol, Comparison::Equal, n));
    values.into_iter().find(|condition| separates(condition, these, others))
}

fn separates(condition: &Condition, these: &[&Point], others: &[&Point]) -> bool {
    let holds = |point: &&Point| condition.eval(&point.dims) == Ok(true);
    these.iter().all(holds) && !others.iter().any(holds)
}

fn value(symbol: &str, comparison: Comparison, n: usize) -> Condition {
    Condition::compare(Expr::dim(symbol), comparison, Expr::constant(n as i64))
}
