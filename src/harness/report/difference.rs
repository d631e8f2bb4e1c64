//! The first step that is not as expected.

use super::causes;
use super::lines::{label, shape};
use super::table::Table;
use crate::harness::case::Case;
use crate::harness::check::cause::Change;
use crate::harness::check::{Difference, Source};
use crate::trace::locate::Place;

pub fn text(case: &Case, difference: &Difference) -> String {
    let mut text = label("first", &first(difference));
    let source = source(case, &difference.source);
    let expected = difference.expected.as_ref().map_or("no such step".into(), shape);
    text.push_str(&label("expected", &format!("{expected:<30}  {source}")));
    let actual = difference.actual.as_ref().map_or("missing".into(), shape);
    let mixed = difference.cause.as_ref().is_some_and(|c| matches!(c.change, Change::Mixed { .. }));
    let mixed = if mixed { ", its elements in another order" } else { "" };
    text.push_str(&label("actual", &format!("{actual}{mixed}")));
    if let Some(cause) = difference.cause.as_ref().and_then(causes::text) {
        text.push_str(&label("cause", &cause));
    }
    if let Some(error) = &difference.error {
        let place = error.places.first().map(|p| format!("{p}: ")).unwrap_or_default();
        let message = error.message.lines().next().unwrap_or_default();
        let what = if error.panicked { "panics" } else { "fails" };
        text.push_str(&label("then", &format!("{what} at {place}{message}")));
    }
    text.push('\n');
    text.push_str(&Table::new(&difference.rows).text());
    text
}

/// The step and its line, or the two places around it.
fn first(difference: &Difference) -> String {
    let name = if difference.named {
        difference.step.clone()
    } else {
        format!("unnamed step `{}`", difference.step)
    };
    let at = |(tap, place): &(String, Place)| format!("`{tap}` ({place})");
    match (&difference.place, &difference.between) {
        (Some(place), _) => format!("{name}, {place}"),
        (None, (Some(before), Some(after))) => {
            format!("{name}, between {} and {}", at(before), at(after))
        }
        (None, (Some(before), None)) => format!("{name}, after {}", at(before)),
        (None, (None, Some(after))) => format!("{name}, before {}", at(after)),
        (None, (None, None)) => format!("{name}; no tap is near, so no line is known"),
    }
}

fn source(case: &Case, source: &Source) -> String {
    match source {
        Source::Contract(line) => {
            format!("contract, {}.yaml:{line}", case.path.parts().join("/"))
        }
        Source::Twin(name) => format!("twin {name}"),
        Source::Law => "law of the other points".into(),
        Source::Baseline => "locked snapshot".into(),
    }
}
