//! `shapes`: contract, then law over all points, then baseline.
//!
//! What was run is lined up with what was expected, once for each who expects something; the first step that differs is
//! the finding, with what follows as its fallout. The contract overrides the shapes of the steps it names.

use super::align::{Row, Wanted, align};
use super::cause::{cause, cause_of_product, cause_of_unpaired};
use super::tally::Tally;
use super::{Check, Difference, Failed, Finding, Shape, Source, What};
use crate::dims::Dims;
use crate::harness::case::{Case, Lock};
use crate::harness::law::expand::expand;
use crate::harness::law::{Law, starred};
use crate::harness::run::Observation;
use crate::harness::study::{Seen, Study};
use crate::trace::locate::Place;
use crate::trace::steps::Step;

/// A law that a study is held against, with dims at which it was stated, and whose it is.
pub struct Reference<'a> {
    /// The law.
    pub law: &'a Law,
    /// Dims at which it holds without doubt.
    pub base: &'a Dims,
    /// Whose it is.
    pub source: Source,
}

/// What is wrong with the shapes of a variant. `reference` is the twin's law or the locked one.
pub fn shapes(case: &Case, study: &Study, reference: Option<&Reference<'_>>) -> Vec<Finding> {
    if let Some(expect) = &case.expect {
        return not_failed(study, &expect.error);
    }
    let failed = failed(study);
    if !failed.is_empty() {
        return failed;
    }
    let own = Reference { law: &study.law, base: &study.witness.dims, source: Source::Law };
    let by = |r: &Reference<'_>| difference(case, study, r);
    let difference = match reference {
        Some(twin) if matches!(twin.source, Source::Twin(_)) => by(twin),
        // A contract or law that is broken is the cause; the baseline that differs with it is not another one.
        Some(locked) => by(&own).or_else(|| by(locked)),
        None => by(&own),
    };
    let mut findings = refused(study);
    findings.extend(missing_names(case, study));
    findings
        .extend(study.watched.iter().map(|d| found(study, What::Disagree(Box::new(d.clone())))));
    if difference.is_none() {
        findings.extend(study.unlawful.iter().map(|u| found(study, What::Unlawful(u.clone()))));
    }
    findings.extend(difference);
    findings
}

/// A finding about the variant as a whole.
fn found(study: &Study, what: What) -> Finding {
    let points = study.seen.iter().map(|seen| (&seen.point, true));
    at_points(study, Tally::new(points), what)
}

fn at_points(study: &Study, tally: Tally, what: What) -> Finding {
    let first = tally.failed.first();
    let at = study.seen.iter().find(|seen| Some(&seen.point.name) == first);
    let at = at.map_or_else(|| study.witness.dims.clone(), |seen| seen.point.dims.clone());
    Finding { check: Check::Shapes, variant: study.variant.clone(), tally, at, what }
}

fn refused(study: &Study) -> Vec<Finding> {
    let Some((first, bytes)) = study.refused.first() else { return Vec::new() };
    let refused = study.refused.iter().map(|(point, _)| (point, true));
    let tally = Tally::new(refused.chain(study.seen.iter().map(|seen| (&seen.point, false))));
    let mut finding = at_points(study, tally, What::TooLarge { bytes: *bytes });
    finding.at = first.dims.clone();
    vec![finding]
}

/// Points at which the model fails, one finding for each distinct failure.
fn failed(study: &Study) -> Vec<Finding> {
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
        let operands = failure.operands.iter().map(|o| (o.clone(), owner(o, &seen.run)));
        let product = failure.op.as_deref() == Some("matmul");
        let failed = Failed {
            failure: failure.clone(),
            operands: operands.collect(),
            rows: align(&[], &seen.run.steps),
            cause: cause_of_product(&failure.operands).filter(|_| product),
        };
        findings.push(at_points(study, tally, What::Failed(Box::new(failed))));
        kinds.push(kind);
    }
    findings
}

/// What in the model has the shape of an operand: a parameter, or else the latest step.
fn owner(shape: &[usize], run: &Observation) -> Option<String> {
    let step =
        run.steps.iter().rev().find(|step| step.shape == shape).map(|step| step.name.clone());
    let parameter = run.params.iter().find(|(_, own)| own == shape).map(|(name, _)| name.clone());
    step.or(parameter)
}

/// Points that should have failed, and did not or otherwise.
fn not_failed(study: &Study, expected: &str) -> Vec<Finding> {
    let message = |seen: &Seen| seen.run.failure.as_ref().map(|f| f.message.clone());
    let wrong = |seen: &Seen| !message(seen).is_some_and(|m| m.contains(expected));
    let Some(first) = study.seen.iter().find(|seen| wrong(seen)) else { return Vec::new() };
    let tally = Tally::new(study.seen.iter().map(|seen| (&seen.point, wrong(seen))));
    let what = What::NotFailed { expected: expected.to_owned(), actual: message(first) };
    vec![at_points(study, tally, what)]
}

/// Contracts that name no step of any run.
fn missing_names(case: &Case, study: &Study) -> Vec<Finding> {
    let runs = || study.seen.iter().map(|seen| &seen.run);
    let steps = || runs().flat_map(|run| &run.steps);
    let unknown = case.shapes.iter().filter(|c| !steps().any(|step| c.pattern.matches(&step.name)));
    let mut names: Vec<String> =
        steps().filter(|s| s.is_named()).map(|s| starred(&s.name)).collect();
    let mut known = std::collections::HashSet::new();
    names.retain(|name| known.insert(name.clone()));
    let what = |contract: &crate::harness::case::Contract| What::NoSuchStep {
        pattern: contract.pattern.to_string(),
        line: contract.at.line,
        names: names.clone(),
    };
    unknown.filter(|_| runs().next().is_some()).map(|c| found(study, what(c))).collect()
}

/// The first step that differs from what `reference` and the contract expect, over all points.
///
/// The witness run counts as one more point: there no two dims are equal, so an exchange of axes that the case's own
/// sizes hide is seen.
fn difference(case: &Case, study: &Study, reference: &Reference<'_>) -> Option<Finding> {
    let compare = |run: &Observation| {
        let wanted = wanted(case, reference, &run.dims);
        let steps: Vec<Step> =
            run.steps.iter().filter(|s| locks(case, s.is_named())).cloned().collect();
        let rows = align(&wanted, &steps);
        let fails = rows.iter().any(|row| !row.is_same());
        (rows, steps, fails)
    };
    let compared: Vec<_> = study.seen.iter().map(|seen| compare(&seen.run)).collect();
    let verdicts =
        study.seen.iter().zip(&compared).map(|(seen, (_, _, fails))| (&seen.point, *fails));
    let tally = Tally::new(verdicts);
    let failing = study.seen.iter().zip(compared).find(|(_, (_, _, fails))| *fails);
    let (run, rows, steps) = match failing {
        Some((seen, (rows, steps, _))) => (&seen.run, rows, steps),
        None => {
            let (rows, steps, fails) = compare(&study.witness);
            if !fails {
                return None;
            }
            (&study.witness, rows, steps)
        }
    };
    let what = What::Shape(Box::new(describe(reference, study, run, rows, &steps)?));
    Some(at_points(study, tally, what))
}

/// Whether the case locks a step with or without a name.
fn locks(case: &Case, named: bool) -> bool {
    named || case.lock == Lock::All
}

/// The steps that should be there at `dims`.
fn wanted(case: &Case, reference: &Reference<'_>, dims: &Dims) -> Vec<Wanted> {
    let Ok(expected) = expand(reference.law, reference.base, dims) else { return Vec::new() };
    let expected = expected.into_iter().filter(|e| locks(case, e.step.named));
    let one = |e: crate::harness::law::expand::Expected<'_>| {
        let contract = case.shapes.iter().find(|c| e.step.named && c.pattern.matches(&e.key));
        let by_contract =
            contract.and_then(|c| Some((c.axes.clone(), c.axes.eval(dims).ok()?, c.at.line)));
        let (axes, shape, source) = match by_contract {
            Some((axes, shape, line)) => (axes, shape, Source::Contract(line)),
            None => (e.step.axes.clone(), e.shape, reference.source.clone()),
        };
        let (named, mixing) = (e.step.named, e.step.mixing);
        Wanted { key: e.key, named, axes, shape, source, may_miss: e.may_miss, mixing }
    };
    expected.map(one).collect()
}

fn describe(
    reference: &Reference<'_>,
    study: &Study,
    run: &Observation,
    rows: Vec<Row>,
    steps: &[Step],
) -> Option<Difference> {
    let at = rows.iter().position(|row| !row.is_same())?;
    let first = &rows[at];
    let step = first.actual.as_ref().and_then(|_| steps.get(first.step));
    let expected = first
        .wanted
        .as_ref()
        .map(|w| Shape { axes: Some(w.axes.clone()), extents: w.shape.clone() });
    let actual = first.actual.as_ref().map(|extents| Shape {
        axes: own_axes(study, run, &first.name, extents),
        extents: extents.clone(),
    });
    let ops = step.map(|s| s.ops.as_slice()).unwrap_or_default();
    let cause = match (&expected, &actual) {
        (Some(want), Some(have)) => cause(want, have, &run.trace.ops, ops),
        (want, _) => cause_of_unpaired(want.is_some(), first.mixing, &run.trace.ops, ops),
    };
    let source = first.wanted.as_ref().map_or(reference.source.clone(), |w| w.source.clone());
    Some(Difference {
        step: first.name.clone(),
        named: first.named,
        place: first.place.clone(),
        between: around(&rows, at),
        expected,
        source,
        actual,
        cause: Some(cause),
        only_unnamed: only_unnamed(&rows, at),
        rows,
    })
}

/// The symbols of a step's shape by the study's own law.
fn own_axes(
    study: &Study,
    run: &Observation,
    name: &str,
    extents: &[usize],
) -> Option<crate::dims::Axes> {
    let key = starred(name);
    let steps = expand(&study.law, &study.witness.dims, &run.dims).ok()?;
    let found = steps.into_iter().find(|e| e.key == key && e.shape == extents)?;
    Some(found.step.axes.clone())
}

/// The nearest steps with a line before and after.
#[allow(clippy::type_complexity)]
fn around(rows: &[Row], at: usize) -> (Option<(String, Place)>, Option<(String, Place)>) {
    let place = |row: &Row| Some((row.name.clone(), row.place.clone()?));
    let before = rows[..at].iter().rev().find_map(place);
    let after = rows[at + 1..].iter().find_map(place);
    (before, after)
}

/// Where every difference is in an unnamed step: the named steps around the differences.
fn only_unnamed(rows: &[Row], first: usize) -> Option<(String, String)> {
    let differs = |row: &&Row| !row.is_same();
    if rows.iter().filter(differs).any(|row| row.named) {
        return None;
    }
    let last = rows.iter().rposition(|row| !row.is_same())?;
    let name = |row: &Row| row.named.then(|| row.name.clone());
    let before = rows[..first].iter().rev().find_map(name).unwrap_or_else(|| "the start".into());
    let after = rows[last..].iter().find_map(name).unwrap_or_else(|| "the end".into());
    Some((before, after))
}
