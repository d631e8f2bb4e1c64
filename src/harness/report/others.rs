//! Every finding that is not a difference of shape.

use super::blind::folded;
use super::causes;
use super::lines::label;
use super::table::Table;
use crate::dims::Condition;
use crate::harness::case::{Case, nearest};
use crate::harness::check::cause::Change;
use crate::harness::check::{Failed, Finding, GradientProblem, What, WrongGradient};
use crate::harness::law::{Unlawful, starred};
use crate::trace::locate::Place;

/// Why some points pass, where the cause tells: with one piece, joining is the identity.
pub fn why_passing(finding: &Finding) -> &'static str {
    let What::Shape(difference) = &finding.what else { return "" };
    let Some(cause) = difference.cause.as_ref() else { return "" };
    let when = finding.tally.passing.as_ref().map(ToString::to_string).unwrap_or_default();
    let one = when.strip_suffix(" == 1");
    let pieces = cause.op.as_ref().map(|op| op.pieces);
    match &cause.change {
        _ if one.is_some_and(|dim| finding.at.get(dim) == pieces) => ", nothing to concatenate",
        Change::Folded(_) if one.is_some() => ", nothing to fold",
        Change::Transposed { .. } => ", the exchange cannot be seen",
        Change::Mixed { .. } => ", nothing to mix",
        Change::Broadcast(_) if one.is_some() => ", nothing to broadcast",
        _ => "",
    }
}

pub fn failed(failed: &Failed) -> String {
    // What compares passes with one another keeps no steps.
    let pass = match failed.rows.as_slice() {
        [] => String::new(),
        rows => format!("\nthe pass up to there\n{}", Table::new(rows).flow()),
    };
    error(failed) + &pass
}

/// What went wrong in a model: op, line, message, operands by name, cause, callers.
pub fn error(failed: &Failed) -> String {
    let failure = &failed.failure;
    let what = match (&failure.op, failure.panicked) {
        (_, true) => "panic".to_owned(),
        (Some(op), _) => op.clone(),
        (None, _) => "error".to_owned(),
    };
    let place = failure.places.first().map(|p| format!(", {p}")).unwrap_or_default();
    let mut text = label("failed", &format!("{what}{place}"));
    text.push_str(&label("error", failure.message.lines().next().unwrap_or_default()));
    let sides = match (failed.operands.len(), failure.op.as_deref()) {
        (1, _) => ["shape", ""],
        (_, Some("cat")) => ["first", "other"],
        _ => ["left", "right"],
    };
    for (side, (shape, owner)) in sides.iter().zip(&failed.operands) {
        let owner = owner.as_ref().map(|o| format!(", as {o}")).unwrap_or_default();
        text.push_str(&label(side, &format!("{shape:?}{owner}")));
    }
    if let Some(cause) = failed.cause.as_ref().and_then(causes::text) {
        text.push_str(&label("cause", &cause));
    }
    for place in failure.places.iter().skip(1).take(2) {
        text.push_str(&label("called at", &place.to_string()));
    }
    text
}

pub fn not_failed(expected: &str, actual: Option<&str>) -> String {
    let mut text = label("expected", &format!("an error that says `{expected}`"));
    text.push_str(&label("actual", actual.map_or("no error", |a| a.lines().next().unwrap_or(a))));
    text
}

pub fn unlawful(unlawful: &Unlawful, more: usize) -> String {
    let mut text = match unlawful {
        Unlawful::Axis { step, axis, extents } => {
            let mut text = label("step", &format!("{step}, axis {axis}"));
            text.push_str("no expression of the named dims gives its extents:\n");
            for (dims, extent) in extents {
                text.push_str(&format!("  {extent:<8}at {dims}\n"));
            }
            text.push_str("name the missing dim in the subject's `dims`\n");
            text
        }
        Unlawful::Structure { base, other, dims } => {
            let name = |step: &Option<String>| step.clone().unwrap_or_else(|| "the end".into());
            let mut text = label("structure", "the model takes other steps at other sizes");
            text.push_str(&format!("  {:<24}at {}\n", name(base), dims.0));
            text.push_str(&format!("  {:<24}at {}\n", name(other), dims.1));
            text
        }
    };
    if more > 0 {
        text.push_str(&format!("and {more} more axes or steps, which may follow from this one\n"));
    }
    text
}

pub fn no_such_step(case: &Case, pattern: &str, line: usize, names: &[String]) -> String {
    let file = case.file.display();
    let mut text = label("contract", &format!("`{pattern}` names no step, {file}:{line}"));
    let near = nearest(pattern, names.iter().map(String::as_str));
    text.push_str(&near.map(|name| label("near", &format!("`{name}`"))).unwrap_or_default());
    text.push_str(&label("steps", &names.join(", ")));
    text
}

pub fn gradient(problem: &GradientProblem, failing: Option<&Condition>) -> String {
    let GradientProblem { parameter, shape, wrong, severed, parameters } = problem;
    let mut text = label("parameter", &format!("{parameter} {shape:?}"));
    text.push_str(&label("gradient", &wrong_gradient(problem, failing)));
    if parameters.len() > 1 {
        text.push_str(&label("also", &also(&parameters[1..])));
    }
    let finite = !matches!(wrong, WrongGradient::NotFinite);
    let (name, has_none, has_one) = match finite {
        true => ("severed", "which has none", "has one"),
        false => ("arises", "where it is not finite", "is finite"),
    };
    let between = match severed.as_ref() {
        Some((Some(before), Some(after))) => {
            Some(format!("between `{before}`, {has_none}, and `{after}`"))
        }
        Some((Some(before), None)) => Some(format!("after `{before}`, the last tap, {has_none}")),
        Some((None, Some(after))) => {
            Some(format!("before `{after}`, the first tap that {has_one}"))
        }
        _ => None,
    };
    text.push_str(&between.map(|between| label(name, &between)).unwrap_or_default());
    text
}

/// Further parameters: one by one while they are few, else what repeats over layers told once.
fn also(parameters: &[String]) -> String {
    const FEW: usize = 6;
    match parameters.len() {
        ..=FEW => parameters.join(", "),
        many => format!("{many} more: {}", folded(parameters.iter().map(|name| starred(name)))),
    }
}

/// What is wrong with a gradient, as a clause.
pub fn wrong_gradient(problem: &GradientProblem, failing: Option<&Condition>) -> String {
    let GradientProblem { parameter, wrong, .. } = problem;
    match wrong {
        WrongGradient::Missing => "no gradient reaches it".to_owned(),
        WrongGradient::Unused => {
            "no op reads it: it is left over, or another is used in its place".to_owned()
        }
        WrongGradient::Shape(actual) => format!("its gradient has shape {actual:?}"),
        WrongGradient::NotFinite => "its gradient is not finite".to_owned(),
        WrongGradient::ZeroEverywhere => "its gradient is zero at every point".to_owned(),
        WrongGradient::Zero => {
            let when = failing.map_or_else(|| "a condition".to_owned(), ToString::to_string);
            format!(
                "its gradient is zero here; where that is right, the case says \
                 `zero_gradient: {{{parameter}: {when}}}`"
            )
        }
        WrongGradient::NotZero(when) => format!("its gradient is not zero although {when}"),
    }
}

pub fn not_finite(step: &str, place: Option<&Place>) -> String {
    let place = place.map(|p| format!(", {p}")).unwrap_or_default();
    label("first", &format!("{step}{place}: NaN or infinite"))
}

pub fn not_caught(expected: &str, actual: &str) -> String {
    let mut text = label("expected", expected);
    text.push_str("actual\n");
    for line in actual.lines() {
        text.push_str(&format!("  | {line}\n"));
    }
    text
}

pub fn too_large(bytes: u64, budget: u64) -> String {
    let mib = |bytes: u64| format!("{} MiB", bytes.div_ceil(1 << 20));
    let mut text = label("refused", &format!("the point would take about {}", mib(bytes)));
    text.push_str(&label("allowed", &format!("{}; nothing was allocated", mib(budget))));
    text.push_str("raise `budget:` in the case, or make the sizes smaller\n");
    text
}
