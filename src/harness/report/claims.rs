//! Two computations that differ, and checks that could not tell.

use super::lines::label;
use crate::harness::check::{Claim, Disagreement, Expansion, First, Inconclusive, Lie};
use crate::harness::run::Likeness;
use crate::trace::locate::Place;

/// What should hold, where it first does not, and by how much.
pub fn disagree(d: &Disagreement) -> String {
    let mut text = d.first.as_ref().map(first).unwrap_or_default();
    text.push_str(&label("rule", &rule(&d.claim)));
    let what = if d.gradient { format!("the gradient of {}", d.name) } else { d.name.clone() };
    text.push_str(&label("differs", &what));
    let error = match &d.claim {
        Claim::Derivative => format!("|slope - g·u| / |g| = {:.2e}", d.error),
        _ if d.error.is_infinite() => "one has another shape than the other".to_owned(),
        _ => format!("max|a-b| / max|b| = {:.2e}", d.error),
    };
    text.push_str(&label("error", &error));
    let allowed = match d.tolerance {
        0. => "0: the values are the same".to_owned(),
        tolerance => format!("{tolerance:.2e}"),
    };
    text.push_str(&label("allowed", &allowed));
    let by_another = matches!(d.claim, Claim::Definition | Claim::Subject(_));
    let like = d.first.as_ref().and_then(|first| Some((&first.step, first.like?)));
    if let Some((step, like)) = like.filter(|_| by_another) {
        text.push_str(&label("cause", &likeness(step, like)));
    }
    text
}

/// What the values of a step have to do with those that they should be.
fn likeness(step: &str, like: Likeness) -> String {
    match like {
        Likeness::OtherOrder => format!("`{step}` has the right values in another order"),
        Likeness::Times(times) => format!("`{step}` is {times:.4} times what it should be"),
        Likeness::Plus(plus) => format!("`{step}` is what it should be and {plus:.4} more"),
    }
}

fn first(first: &First) -> String {
    let place = first.place.as_ref().map(|p| format!(", {p}")).unwrap_or_default();
    let text = label("first", &format!("{}{place}", first.step));
    let after = |(name, place): &(String, _)| label("after", &format!("{name}, {place}: agrees"));
    text + &first.after.as_ref().map(after).unwrap_or_default()
}

/// The claim as a sentence.
pub fn rule(claim: &Claim) -> String {
    match claim {
        Claim::Definition => "the model computes what its definition does".into(),
        Claim::Subject(name) => format!("the model computes what `{name}` does"),
        Claim::Unwatched => "a run that is watched gives what an unwatched one does".into(),
        Claim::RowIsolated { changed, rows } => format!(
            "the other rows stay as they are where only row {changed} of {rows} of the inputs changes"
        ),
        Claim::RowAlone { row, rows } => {
            format!("row {row} of {rows} gives by itself what it gives within the batch")
        }
        Claim::RowsReordered => "rows in another order give the same rows in that order".into(),
        Claim::RowsAdd { rows } => format!(
            "the gradients of row 0 and of the other {} add up to those of the batch",
            rows.saturating_sub(1)
        ),
        Claim::Past { from, l } => format!(
            "nothing before place {from} of {l} changes where the inputs change from there on"
        ),
        Claim::PastGradient { from, l } => format!(
            "what comes before place {from} of {l} has no gradient at the inputs from there on"
        ),
        Claim::Pieces { lengths } => {
            format!("{} gives what the whole gives", pieces(lengths))
        }
        Claim::PiecesState { lengths } => {
            format!("{} leaves the state that the whole leaves", pieces(lengths))
        }
        Claim::StridedInputs(lie) => {
            format!("inputs that {} give what contiguous ones give", lies(*lie, true))
        }
        Claim::StridedTap { tap, lie } => {
            format!("`{tap}` gives the same where its tensor {}", lies(*lie, false))
        }
        Claim::OnTheCpu => "the device computes what the CPU does".into(),
        Claim::Derivative => {
            "a gradient is the derivative that finite differences show, in f64".into()
        }
        Claim::InF64 => "the model computes in this number format what it computes in f64".into(),
        Claim::Anew => "a model built anew from the same seed gives the same values".into(),
        Claim::Again => "a second run of the same model gives the same values".into(),
    }
}

/// How tensors lie in memory, of several or of one.
fn lies(lie: Lie, several: bool) -> &'static str {
    match (lie, several) {
        (Lie::Transposed, true) => "lie transposed in memory",
        (Lie::Transposed, false) => "lies transposed in memory",
        (Lie::Behind, true) => "begin behind others in memory",
        (Lie::Behind, false) => "begins behind another in memory",
        (Lie::Window, true) => "are windows of wider ones",
        (Lie::Window, false) => "is a window of a wider one",
    }
}

fn pieces(lengths: &[usize]) -> String {
    match lengths {
        [l] => format!("a sequence of {l} read from an empty state"),
        all if all.len() > 3 => format!("a sequence read in {} single places", all.len()),
        all => {
            let all: Vec<String> = all.iter().map(usize::to_string).collect();
            format!("a sequence read in pieces of {}", all.join(" + "))
        }
    }
}

/// An axis of 1 that is repeated, and what to write where it and the others are meant.
pub fn expanded(expansion: &Expansion, steps: &[String]) -> String {
    let Expansion { step, place, from, to } = expansion;
    let place = place.as_ref().map(|p| format!(", {p}")).unwrap_or_default();
    let text = label("before", &format!("{step}{place}"));
    let text = text + &label("expanded", &format!("{from:?} to {to:?}, dims all distinct"));
    let all = steps.join(", ");
    text + &label("remedy", &format!("where it is meant, the case says `broadcast: [{all}]`"))
}

/// A tap or output that is not in the number format of its pass, and what to write where it and the others are meant.
pub fn other_format(
    (step, place): (&str, Option<&Place>),
    (expected, actual): (&str, &str),
    steps: &[String],
) -> String {
    let place = place.map(|p| format!(", {p}")).unwrap_or_default();
    let remedy = match (expected, actual) {
        ("f16" | "bf16", "f32" | "f64") => {
            let all = steps.join(", ");
            format!(
                "cast to {expected} before it; where f32 is meant, the case says `keeps_f32: [{all}]`"
            )
        }
        _ => "take the format of the inputs, and name none in the model".to_owned(),
    };
    label("first", &format!("{step}{place}"))
        + &label("expected", &format!("{expected}, the format of its pass"))
        + &label("actual", actual)
        + &label("remedy", &remedy)
}

/// Why nothing could be told, and what would change that.
pub fn inconclusive(why: &Inconclusive) -> String {
    let (what, remedy) = match why {
        Inconclusive::NoAxis { symbol, outputs } => {
            let shape = |(name, shape): &(String, Vec<usize>)| format!("{name} {shape:?}");
            let outputs: Vec<String> = outputs.iter().map(shape).collect();
            (
                format!("no output has an axis that is `{symbol}`: {}", outputs.join(", ")),
                "return one that has, or take the check out of the case".to_owned(),
            )
        }
        Inconclusive::NoInput { symbol } => (
            format!("no input has an axis that is `{symbol}`"),
            "name it in the subject's `inputs`, or take the check out of the case".into(),
        ),
        Inconclusive::ReachesNothing { input } => (
            format!("other values of the input `{input}` change no output"),
            "the model does not read it: use it, or take it out of the subject's `inputs`".into(),
        ),
        Inconclusive::TooShort { symbol, least } => (
            format!("no point has {symbol} of at least {least}"),
            "add one to the case's matrix".into(),
        ),
        Inconclusive::NoDerivative => (
            "no gradient reaches a parameter or an input from a float output".into(),
            "return a float that depends on one, or take the check out of the case".into(),
        ),
        Inconclusive::NoStrided { refused } => (
            match refused {
                Some(message) => {
                    format!("no pass with a strided tensor reaches its end: {message}")
                }
                None => "the model has no float input and no tap that can lie otherwise".into(),
            },
            "tap what takes strided tensors, or take the check out of the case".into(),
        ),
        Inconclusive::NoState => (
            "the subject says `has_state`, and `resume` gives none".into(),
            "write `Model::resume`, or let `has_state` be false".into(),
        ),
    };
    label("untold", &what) + &label("remedy", &remedy)
}
