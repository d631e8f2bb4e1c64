//! `shapes`: contract, then law over all points, then baseline.
//!
//! What was run is lined up with what was expected, once for each who expects something; the first step that differs is
//! the finding, with what follows as its fallout. The contract overrides the shapes of the steps it names.

use std::collections::HashSet;

use super::align::{Row, Wanted, align, first_wrong};
use super::cause::{cause, cause_of_instead, cause_of_skipped, cause_of_unpaired};
use super::failed::{failed, not_failed};
use super::skipped::{mark_skipped, skipped};
use super::tally::Tally;
use super::watched::{found, watched};
use super::{Around, Difference, Finding, Shape, Source, What};
use crate::dims::Dims;
use crate::harness::case::{Case, Lock};
use crate::harness::law::expand::{Expected, expand};
use crate::harness::law::{Law, starred};
use crate::harness::run::Observation;
use crate::harness::study::Study;
use crate::trace::order::joins;
use crate::trace::steps::{Step, module};

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
        return not_failed(study, expect);
    }
    let own = Reference { law: own_law(study), base: &study.witness.dims, source: Source::Law };
    let by = |r: &Reference<'_>| difference(case, study, r);
    let failed = failed(study);
    if !failed.is_empty() {
        return before_errors(by(reference.unwrap_or(&own)), failed);
    }
    let difference = match reference {
        Some(twin) if matches!(twin.source, Source::Twin(_)) => by(twin),
        // A contract or law that is broken is the cause; the baseline that differs with it is not another one.
        Some(locked) => by(&own).or_else(|| by(locked)),
        None => by(&own),
    };
    let mut findings = refused(study);
    findings.extend(missing_names(case, study));
    findings.extend(watched(study));
    let by_law = |f: &Finding| matches!(&f.what, What::Shape(d) if d.source == Source::Law);
    // Points cannot be blamed for a law that could not be stated.
    let difference = difference.filter(|f| study.unlawful.is_empty() || !by_law(f));
    if difference.is_none() {
        let first = study.unlawful.first();
        let others = study.unlawful.len().saturating_sub(1);
        findings.extend(first.map(|u| found(study, What::Unlawful(u.clone(), others))));
    }
    findings.extend(difference);
    findings
}

/// The study's law; where its witness runs end with an error, the law of the steps before that.
fn own_law(study: &Study) -> &Law {
    if study.witness.failure.is_some() { &study.begun } else { &study.law }
}

/// An error is the fallout of a named step that was wrong before it; errors elsewhere stay findings of their own.
fn before_errors(wrong: Option<Finding>, failed: Vec<Finding>) -> Vec<Finding> {
    let of_named = |f: &Finding| matches!(&f.what, What::Shape(d) if d.named);
    let Some(wrong) = wrong.filter(of_named) else { return failed };
    let explained = |f: &Finding| f.tally.failed.iter().all(|p| wrong.tally.failed.contains(p));
    let others: Vec<Finding> = failed.into_iter().filter(|f| !explained(f)).collect();
    std::iter::once(wrong).chain(others).collect()
}

fn refused(study: &Study) -> Vec<Finding> {
    let Some((first, bytes)) = study.refused.first() else { return Vec::new() };
    let refused = study.refused.iter().map(|(point, _)| (point, true));
    let tally = Tally::new(refused.chain(study.seen.iter().map(|seen| (&seen.point, false))));
    let mut finding = Finding::of_shapes(study, tally, What::TooLarge { bytes: *bytes });
    finding.at = first.dims.clone();
    vec![finding]
}

/// Contracts that name no step of any run.
fn missing_names(case: &Case, study: &Study) -> Vec<Finding> {
    let runs = || study.seen.iter().map(|seen| &seen.run);
    let steps = || runs().flat_map(|run| &run.steps);
    let unknown = case.shapes.iter().filter(|c| !steps().any(|step| c.pattern.matches(&step.name)));
    let unknown: Vec<_> = unknown.filter(|_| runs().next().is_some()).collect();
    if unknown.is_empty() {
        return Vec::new();
    }
    let mut names: Vec<String> =
        steps().filter(|s| s.is_named()).map(|s| starred(&s.name)).collect();
    let mut known = HashSet::new();
    names.retain(|name| known.insert(name.clone()));
    let what = |contract: &crate::harness::case::Contract| What::NoSuchStep {
        pattern: contract.pattern.to_string(),
        line: contract.at.line,
        names: names.clone(),
    };
    unknown.into_iter().map(|c| found(study, what(c))).collect()
}

/// The first step that differs from what `reference` and the contract expect, over all points.
///
/// The witness run counts as one more point, and so do those beside it: there no two dims are equal, so an exchange of axes
/// that the case's own sizes hide is seen.
fn difference(case: &Case, study: &Study, reference: &Reference<'_>) -> Option<Finding> {
    let compare = |run: &Observation| {
        let wanted = wanted(case, reference, run);
        let mut steps: Vec<Step> =
            run.steps.iter().filter(|s| locks(case, s.is_named())).cloned().collect();
        mix_by_law(study, run, &mut steps);
        let mut rows = align(&wanted, &steps);
        until_the_end(&mut rows, run.failure.is_some(), study.witness.failure.is_some());
        // Where a law gives an axis below zero, the run that ended there has its error to tell.
        let expected = expand(reference.law, reference.base, &run.dims);
        let ended = run.failure.is_some() && expected.is_err();
        mark_skipped(&mut rows, &expected.unwrap_or_default(), run);
        let fails = !ended && rows.iter().any(|row| !row.is_same());
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
            let runs = std::iter::once(&study.witness).chain(&study.beside);
            let mut compared = runs.map(|run| (run, compare(run)));
            let (run, (rows, steps, _)) = compared.find(|(_, (_, _, fails))| *fails)?;
            (run, rows, steps)
        }
    };
    let what = What::Shape(Box::new(describe(reference, study, run, rows, &steps)?));
    Some(Finding { at: run.dims.clone(), ..Finding::of_shapes(study, tally, what) })
}

/// A reshape that mixes axes may look as if it split one, where an extent happens to divide another; the law, stated where
/// none does, says that it mixes.
fn mix_by_law(study: &Study, run: &Observation, steps: &mut [Step]) {
    let law = expand(own_law(study), &study.witness.dims, &run.dims).unwrap_or_default();
    let mixing: HashSet<&str> =
        law.iter().filter(|e| e.step.mixing && e.step.named).map(|e| e.key.as_str()).collect();
    if mixing.is_empty() {
        return;
    }
    let ops = &run.trace.ops;
    for step in steps.iter_mut().filter(|step| mixing.contains(starred(&step.name).as_str())) {
        let own = step.ops.last().and_then(|&i| ops.get(i));
        let from = own.and_then(|op| op.operands.first()).and_then(|&i| ops.get(i));
        step.mixing |= from.is_some_and(|from| !joins(&from.shape, &step.shape));
    }
}

/// Leaves out what follows an error: of a run that ended with one, and of a law that was inferred from such runs.
fn until_the_end(rows: &mut Vec<Row>, run_ended: bool, law_ended: bool) {
    let beyond = |row: &Row| match (&row.wanted, &row.actual) {
        (_, None) => run_ended,
        (None, _) => law_ended,
        _ => false,
    };
    let end = rows.iter().rposition(|row| !beyond(row)).map_or(0, |last| last + 1);
    rows.truncate(end);
}

/// Whether the case locks a step with or without a name.
fn locks(case: &Case, named: bool) -> bool {
    named || case.lock == Lock::All
}

/// The steps that should be there at the dims of a run.
fn wanted(case: &Case, reference: &Reference<'_>, run: &Observation) -> Vec<Wanted> {
    let dims = &run.dims;
    let Ok(expected) = expand(reference.law, reference.base, dims) else { return Vec::new() };
    let skipped = skipped(&expected, run);
    let expected = expected.into_iter().filter(|e| locks(case, e.step.named));
    let modules = reference.law.parameters.iter().map(|(path, _)| module(path));
    let parameters: HashSet<&str> = modules.collect();
    let one = |e: Expected<'_>| {
        let contract = case.shapes.iter().find(|c| e.step.named && c.pattern.matches(&e.key));
        let by_contract =
            contract.and_then(|c| Some((c.axes.clone(), c.axes.eval(dims).ok()?, c.at.line)));
        let (axes, shape, source) = match by_contract {
            Some((axes, shape, line)) => (axes, shape, Source::Contract(line)),
            None => (e.step.axes.clone(), e.shape, reference.source.clone()),
        };
        // What a contract calls (b, l, n) holds these axes; elements of others in the same extents break it.
        let mixing = e.step.mixing && !matches!(source, Source::Contract(_));
        let named = e.step.named;
        let parameter = parameters.contains(e.key.as_str());
        let may_miss = e.may_miss && !skipped.contains(e.key.as_str());
        let key = e.key;
        Wanted { key, named, axes, shape, source, may_miss, mixing, parameter }
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
    let at = first_wrong(&rows)?;
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
        _ if first.skips.is_some() => cause_of_skipped(first.skips.unwrap_or_default()),
        (Some(want), Some(have)) => cause(want, have, &run.trace.ops, ops),
        _ if instead(&rows, at).is_some() => {
            let actual = instead(&rows, at).map(|row| row.name.clone()).unwrap_or_default();
            cause_of_instead(first.name.clone(), actual)
        }
        (want, _) => cause_of_unpaired(want.is_some(), first.mixing, &run.trace.ops, ops),
    };
    let same_parameters = reference.law.parameters == study.law.parameters;
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
        only_unnamed: only_unnamed(&rows).filter(|_| same_parameters),
        rows,
        error: run.failure.clone(),
    })
}

/// The unnamed step that stands next to a missing one, in its place, and has its shape.
fn instead(rows: &[Row], at: usize) -> Option<&Row> {
    let (missing, next) = (rows.get(at)?, rows.get(at + 1)?);
    let wanted = missing.wanted.as_ref().filter(|_| missing.actual.is_none() && !missing.named)?;
    let is_one = next.wanted.is_none() && !next.named && next.name != missing.name;
    (is_one && next.actual.as_ref() == Some(&wanted.shape)).then_some(next)
}

/// The symbols of a step's shape by the study's own law.
fn own_axes(
    study: &Study,
    run: &Observation,
    name: &str,
    extents: &[usize],
) -> Option<crate::dims::Axes> {
    let key = starred(name);
    let steps = expand(own_law(study), &study.witness.dims, &run.dims).ok()?;
    let found = steps.into_iter().find(|e| e.key == key && e.shape == extents)?;
    Some(found.step.axes.clone())
}

/// The nearest steps with a line before and after.
fn around(rows: &[Row], at: usize) -> Around {
    let place = |row: &Row| Some((row.name.clone(), row.place.clone()?));
    let before = rows[..at].iter().rev().find_map(place);
    let after = rows[at + 1..].iter().find_map(place);
    (before, after)
}

/// Where every difference is in an unnamed step: the named steps around the differences.
fn only_unnamed(rows: &[Row]) -> Option<(String, String)> {
    let first = rows.iter().position(|row| !row.is_same())?;
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
