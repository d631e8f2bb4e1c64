//! Subjects with a known fault: that it is caught, where, with which cause, and that the right twin is clean.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use super::case::{Case, Fault, Spanned};
use super::check::{Check, Finding, What};
use super::outcome::Outcome;
use super::report::{self, Context};
use super::trial::{self, Trial, TrialError, checks, subject};
use crate::trace::locate::Place;

/// What marks the faulty line in a subject's source.
const MARK: &str = "~fault";
/// A call may stretch over some lines: the mark stands on one of them.
const LINES_OF_A_CALL: usize = 4;

/// Runs a trial, of a known fault or not; `binary` is the test binary that runs it again.
///
/// # Errors
/// Those of [`trial::run`].
pub fn run(of: &Trial<'_>, binary: &str) -> Result<Outcome, TrialError> {
    match (of.check, &of.case.fault) {
        (Check::Caught, Some(fault)) => caught(of, fault, binary),
        _ => trial::run(of),
    }
}

/// Runs the twin's checks and the faulty subject's; what is not as the case says is a finding. The text is what the
/// faulty subject's failure says, with line numbers and magnitudes left out.
///
/// # Errors
/// Those of [`trial::run`].
fn caught(trial: &Trial<'_>, fault: &Fault, binary: &str) -> Result<Outcome, TrialError> {
    let mut outcome = Outcome::default();
    if let Some(twin) = &fault.twin {
        outcome.findings.extend(unclean(trial, fault, twin, binary)?);
    }
    let mut texts = Vec::new();
    for name in &fault.caught_by {
        let Some(check) = Check::named(&name.value) else { continue };
        let of_fault = trial::run(&Trial { check, ..*trial })?;
        outcome.points = of_fault.points.clone();
        let text = text(trial.case, check, &of_fault, binary);
        outcome.findings.extend(verdict(trial, fault, (check, &text), &of_fault));
        texts.push(text);
    }
    outcome.text = Some(filtered(&texts.join("\n")));
    Ok(outcome)
}

/// What the default checks, and those that catch the fault, find in the right twin. Many cases name the same one, at the
/// same points: what was found is kept for them.
fn unclean(
    trial: &Trial<'_>,
    fault: &Fault,
    twin: &Spanned<String>,
    binary: &str,
) -> Result<Vec<Finding>, TrialError> {
    static KNOWN: Mutex<BTreeMap<String, Vec<Finding>>> = Mutex::new(BTreeMap::new());
    let case = Case { subject: twin.value.clone(), fault: None, ..trial.case.clone() };
    let told = (&case.subject, &case.config, case.seed, &case.variants, &case.matrix, &case.shapes);
    let points = (&case.except, &case.only, &case.zero_gradient, &case.checks, &case.tolerance);
    let right = subject(trial.subjects, &twin.value)?;
    let named = fault.caught_by.iter().filter_map(|name| Check::named(&name.value));
    let opted = named.filter(|check| check.is_opt_in() && check.lacks(&case, right).is_none());
    let also: Vec<Check> = opted.collect();
    let key = format!("{told:?} {points:?} {also:?} {:?} {:?}", trial.point, trial.device);
    let known = || KNOWN.lock().unwrap_or_else(|broken| broken.into_inner());
    if let Some(findings) = known().get(&key).filter(|findings| findings.is_empty()) {
        return Ok(findings.clone());
    }
    let mut findings = Vec::new();
    let mut all = checks(&case, right)?;
    all.extend(also);
    for check in all {
        let of_twin = trial::run(&Trial { case: &case, check, baseline: None, ..*trial })?;
        let text = || text(&case, check, &of_twin, binary);
        let first = of_twin.findings.first();
        let expected = || format!("the twin `{}` passes", case.subject);
        findings.extend(first.map(|found| not_caught(found, expected(), text())));
    }
    known().insert(key, findings.clone());
    Ok(findings)
}

/// What a check of the faulty subject, whose text is `whole`, did not do as the case says.
fn verdict(
    trial: &Trial<'_>,
    fault: &Fault,
    (check, whole): (Check, &str),
    found: &Outcome,
) -> Option<Finding> {
    let nothing = Finding {
        check: Check::Caught,
        variant: "plain".into(),
        tally: Default::default(),
        at: Default::default(),
        what: What::NotFinite { step: String::new(), place: None },
    };
    let Some(first) = found.findings.first() else {
        let expected = format!("`{}` catches `{}`", check.name(), trial.case.subject);
        let mended = |library| {
            format!(
                "it found nothing: fixed upstream, where {library} had the fault; remove the row"
            )
        };
        let actual = fault.alive_in.as_ref().map_or_else(|| "it found nothing".into(), mended);
        return Some(not_caught(&nothing, expected, actual));
    };
    let step = fault.at(check.name());
    let at = |finding: &&Finding| step.is_none_or(|step| finding.what.concerns(step));
    let Some(finding) = found.findings.iter().find(at) else {
        let step = step.unwrap_or_default();
        let expected = format!("`{}` catches it at `{step}`", check.name());
        return Some(not_caught(first, expected, whole.to_owned()));
    };
    // The cause is what the first check says; another one may know none.
    let says_cause = fault.caught_by.first().is_some_and(|name| name.value == check.name());
    let cause = fault.cause.as_ref().filter(|cause| says_cause && !whole.contains(cause.as_str()));
    if let Some(cause) = cause {
        return Some(not_caught(finding, format!("the text says `{cause}`"), whole.to_owned()));
    }
    // A check that is given no step, where another one is, may see the fault far from its line.
    if step.is_none() && !fault.at.is_empty() {
        return None;
    }
    let places = finding.what.places();
    let marked = places.is_empty() || places.iter().any(|place| marked(place, place));
    let between = || places.len() == 2 && marked_between(&places[0], &places[1]);
    // Taps of one loop stand on one line, and its body may stand elsewhere.
    let looped = || places.len() == 2 && places[0] == places[1];
    // A fault in one part of a model that is shipped shows at that model's own taps, far from its line.
    let elsewhere = || disagrees(&finding.what) && !places.iter().any(has_mark);
    // A backward pass fails in the library, where no line of the subject is known.
    let in_library = || places.iter().all(|place| source(place).is_none());
    if marked || between() || looped() || elsewhere() || in_library() {
        return None;
    }
    Some(not_caught(finding, format!("the line is the one marked `{MARK}`"), whole.to_owned()))
}

fn not_caught(like: &Finding, expected: String, actual: String) -> Finding {
    let what = What::NotCaught { expected, actual };
    Finding { check: Check::Caught, what, ..like.clone() }
}

fn disagrees(what: &What) -> bool {
    matches!(what, What::Disagree(_))
}

fn source(place: &Place) -> Option<String> {
    let root = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    std::fs::read_to_string(Path::new(&root).join(&place.file)).ok()
}

/// Whether the file has marked lines at all.
fn has_mark(place: &Place) -> bool {
    source(place).is_some_and(|source| source.contains(MARK))
}

fn marked(first: &Place, last: &Place) -> bool {
    let Some(source) = source(first) else { return false };
    let from = (first.line as usize).saturating_sub(1);
    let to = (last.line as usize).max(from) + LINES_OF_A_CALL - 1;
    source.lines().take(to).skip(from).any(|line| line.contains(MARK))
}

/// Whether the fault lies between two taps, where no line of its own is known.
fn marked_between(before: &Place, after: &Place) -> bool {
    let (first, last) = if before.line <= after.line { (before, after) } else { (after, before) };
    before.file == after.file && marked(first, last)
}

/// What a failed check says, for people.
fn text(case: &Case, check: Check, outcome: &Outcome, binary: &str) -> String {
    let trial = format!("{}::{}", case.path, check.name());
    let context =
        Context { trial: &trial, device: "cpu", skipped: &[], snapshot: None, texts: None, binary };
    let whole = report::failure(case, outcome, &context);
    // The check is none of the case's trials; what runs it again is.
    let again = format!("-- {}::{} --exact", case.path, Check::Caught.name());
    whole.replace(&format!("-- {trial} --exact"), &again)
}

/// A text without what differs between machines and edits: line numbers and measured magnitudes.
pub fn filtered(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) =
        [".rs:", ".yaml:", " = "].iter().filter_map(|m| Some((rest.find(m)?, *m))).min()
    {
        let (position, mark) = at;
        let (before, after) = rest.split_at(position + mark.len());
        kept.push_str(before);
        let number = after
            .find(|c: char| !(c.is_ascii_digit() || ".e-+".contains(c)))
            .unwrap_or(after.len());
        let magnitude = mark == " = " && after[..number].contains('e');
        let line = mark != " = " && number > 0;
        rest = after;
        if magnitude || line {
            kept.push_str(if line { "LINE" } else { "ERROR" });
            rest = &after[number..];
        }
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::filtered;

    #[test]
    fn lines_and_magnitudes_are_left_out_and_nothing_else() {
        let text = "first  states, src/a.rs:41\ncontract, x.yaml:7\nmax|a-b| / max|b| = 1.2e-7\n(b) = [8, 60]\nl = 1, x";
        let kept = "first  states, src/a.rs:LINE\ncontract, x.yaml:LINE\nmax|a-b| / max|b| = ERROR\n(b) = [8, 60]\nl = 1, x";
        assert_eq!(filtered(text), kept);
    }
}
