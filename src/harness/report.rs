//! What a failed trial says.
//!
//! Findings are data; here they become text, for a person who reads it in a terminal or a log: what fails and where it
//! passes, the first wrong step with expected, actual and cause, the whole pass, the change of the snapshot, and the
//! command that runs just this again.

mod blind;
mod causes;
mod change;
mod claims;
mod delta;
mod difference;
mod flow;
mod format;
mod github;
mod junit;
mod lines;
mod lints;
mod markdown;
mod others;
mod page;
mod record;
mod table;

use std::path::Path;

use super::case::Case;
use super::check::{Finding, Source, What};
use super::outcome::Outcome;
use crate::dims::Condition;

pub use blind::blind;
pub use causes::word;
pub use change::change;
pub use delta::{Delta, deltas};
pub use flow::{Flow, FlowStep, Mark, Stand, Stop, diff, of_laws, shown};
pub use format::Format;
pub use lines::{label, shape};
pub use others::error;
pub use record::{Counts, Diff, Record, Run, Shown, State};
pub use table::Table;

/// What a report needs to know beside the findings.
pub struct Context<'a> {
    /// The trial's name.
    pub trial: &'a str,
    /// The device it ran on.
    pub device: &'a str,
    /// Points left out, as `12 skipped: no CUDA device`.
    pub skipped: &'a [String],
    /// The snapshot's path, as it is to be shown.
    pub snapshot: Option<&'a Path>,
    /// The locked and the new text, where they differ.
    pub texts: Option<(&'a str, &'a str)>,
    /// The test binary, for the line that reproduces the failure.
    pub binary: &'a str,
}

/// The whole text of a failed trial; it ends with a newline.
pub fn failure(case: &Case, outcome: &Outcome, context: &Context<'_>) -> String {
    let mut text = String::new();
    for (i, finding) in outcome.findings.iter().enumerate() {
        if i > 0 {
            text.push('\n');
        }
        text.push_str(&headline(finding, context));
        text.push('\n');
        text.push_str(&body(case, finding));
    }
    if outcome.findings.is_empty() {
        text.push_str(&without_finding(context));
    }
    text.push_str(&snapshot_lines(context));
    let failed = outcome.findings.iter().any(|f| matches!(f.what, What::Failed(_)));
    // What an error cut off is not unused.
    let whole = outcome.coverage.iter().filter(|_| !failed);
    let blind: String = whole.map(|(_, seen, cuts)| blind(seen, cuts)).collect();
    if !blind.is_empty() {
        text.push_str(&format!("\n{blind}"));
    }
    text.push('\n');
    text.push_str(&reproduce(outcome, context));
    text.push_str(&format!("{}\n", advice(outcome, context)));
    text
}

/// What is said where nothing was found but the snapshot is not what is locked.
fn without_finding(context: &Context<'_>) -> String {
    let (what, then) = match context.texts {
        Some(("", _)) => ("nothing is locked yet", "what is to be locked is below: review it once"),
        _ => ("the locked snapshot differs", "no check found anything; what differs is below"),
    };
    format!("{}: {what}\n  {then}\n", context.trial)
}

fn headline(finding: &Finding, context: &Context<'_>) -> String {
    let variant = match finding.variant.as_str() {
        "plain" => String::new(),
        variant => format!(" in variant {variant}"),
    };
    if matches!(finding.what, What::NotCaught { .. }) {
        return format!("{}: a known fault is not caught as the case says\n", context.trial);
    }
    let tally = &finding.tally;
    let (failed, total) = (tally.failed.len(), tally.total());
    let device = context.device;
    let count = match (failed, total) {
        (0, _) => "no point of the case shows it, but a run with all dims distinct does".to_owned(),
        (1, 1) => format!("the {device} point fails"),
        (f, t) if f == t => format!("all {t} {device} points fail"),
        (1, t) => format!("1 of {t} {device} points fails"),
        (f, t) => format!("{f} of {t} {device} points fail"),
    };
    let mut text = format!("{}: {count}{variant}\n", context.trial);
    if let What::Shape(difference) = &finding.what
        && difference.source != Source::Law
        && let Some((before, after)) = &difference.only_unnamed
    {
        let kept = "every named step, output and gradient kept its shape";
        text = format!(
            "{}: only unnamed steps between `{before}` and `{after}` changed; {kept}{variant}\n",
            context.trial
        );
    }
    text.push_str(&apart(finding));
    for skipped in context.skipped {
        text.push_str(&format!("  {skipped}\n"));
    }
    text
}

/// What tells the points that pass from the others.
fn apart(finding: &Finding) -> String {
    let tally = &finding.tally;
    let passed = tally.passed.len();
    let pass = if passed == 1 { "passes" } else { "pass" };
    let simple = |when: &Condition| when.to_string().contains("==");
    match (&tally.passing, &tally.failing) {
        (Some(when), failing) if failing.is_none() || simple(when) => {
            format!("  {passed} {pass}: {}{}\n", lines::plain(when), others::why_passing(finding))
        }
        (_, Some(when)) => format!("  it fails where {}, {passed} {pass}\n", lines::plain(when)),
        _ => match tally.failing_dtype {
            Some(dtype) => format!("  it fails in {}, {passed} {pass}\n", dtype.name()),
            None => String::new(),
        },
    }
}

fn body(case: &Case, finding: &Finding) -> String {
    match &finding.what {
        What::Shape(difference) => difference::text(case, difference),
        What::Failed(failed) => others::failed(failed),
        What::NotFailed { expected, actual } => others::not_failed(expected, actual.as_deref()),
        What::Unlawful(unlawful, more) => others::unlawful(unlawful, *more),
        What::NoSuchStep { pattern, line, names } => {
            others::no_such_step(case, pattern, *line, names)
        }
        What::Gradient(problem) => others::gradient(problem, finding.tally.failing.as_ref()),
        What::NotFinite { step, place } => others::not_finite(step, place.as_ref()),
        What::Disagree(disagreement) => claims::disagree(disagreement),
        What::Expanded(expansion, steps) => claims::expanded(expansion, steps),
        What::Odd(lint, steps) => lints::odd(lint, steps),
        What::OtherFormat { step, place, expected, actual, steps } => {
            claims::other_format((step, place.as_ref()), (expected.name(), actual), steps)
        }
        What::Inconclusive(why) => claims::inconclusive(why),
        What::NotCaught { expected, actual } => others::not_caught(expected, actual),
        What::TooLarge { bytes } => others::too_large(*bytes, case.budget),
    }
}

/// How many lines of a snapshot's change are shown.
const MOST: usize = 40;

/// The change of the snapshot, line by line.
fn snapshot_lines(context: &Context<'_>) -> String {
    let (Some((old, new)), Some(path)) = (context.texts, context.snapshot) else {
        return String::new();
    };
    let path = path.display();
    if old.is_empty() {
        let lines = new.lines().map(|line| format!("+{line}\n"));
        return format!("\n--- {path}, new\n{}", lines.take(MOST).collect::<String>());
    }
    // insta keeps no newline at the end of a text, which makes no difference of its last line.
    let diff = similar::TextDiff::from_lines(old.trim_end(), new.trim_end());
    let changed = diff.iter_all_changes().filter(|c| c.tag() != similar::ChangeTag::Equal);
    let lines: Vec<String> =
        changed.map(|c| format!("{}{}", c.tag(), c.value().trim_end_matches('\n'))).collect();
    let mut text = format!("\n--- {path}\n");
    for line in lines.iter().take(MOST) {
        text.push_str(line);
        text.push('\n');
    }
    if lines.len() > MOST {
        text.push_str(&format!("… {} more changed lines\n", lines.len() - MOST));
    }
    text
}

fn reproduce(outcome: &Outcome, context: &Context<'_>) -> String {
    let point = outcome.findings.iter().find_map(|f| f.tally.failed.first());
    let point = point.map(|point| format!("SHAPELOCK_POINT={point} ")).unwrap_or_default();
    format!("reproduce  {point}cargo test --test {} -- {} --exact\n", context.binary, context.trial)
}

/// How it goes on: whether accepting the snapshot can make the trial green.
fn advice(outcome: &Outcome, context: &Context<'_>) -> String {
    let source = |finding: &Finding| match &finding.what {
        What::Shape(difference) => Some(difference.source.clone()),
        _ => None,
    };
    let all: Vec<Option<Source>> = outcome.findings.iter().map(source).collect();
    let contract = |s: &Option<Source>| matches!(s, Some(Source::Contract(_)));
    let mends = all.iter().all(|s| *s == Some(Source::Baseline)) && context.snapshot.is_some();
    if mends {
        let commands = match cfg!(feature = "cli") {
            true => {
                format!("cargo test --test {} -- cli review, or cargo insta review", context.binary)
            }
            false => "cargo insta review".to_owned(),
        };
        return format!("accept it, if it is meant: {commands}");
    }
    let nothing = if all.iter().any(contract) {
        "contract broken: accepting the snapshot will not make this green"
    } else if all.contains(&Some(Source::Law)) {
        "not every point obeys one law: accepting the snapshot will not make this green"
    } else {
        "no snapshot decides this: mend the model, or what the case says of it"
    };
    nothing.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_differ_are_shown_whether_a_text_ends_with_a_newline_or_not() {
        let context = Context {
            trial: "a::shapes",
            device: "cpu",
            skipped: &[],
            snapshot: Some(Path::new("a.snap")),
            texts: Some(("states (b)\nA (n)", "states (l)\nA (n)\n")),
            binary: "cases",
        };
        assert_eq!(snapshot_lines(&context), "\n--- a.snap\n-states (b)\n+states (l)\n");
    }
}
