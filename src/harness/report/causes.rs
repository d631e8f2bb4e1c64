//! Causes in words.

use crate::dims::Expr;
use crate::harness::check::cause::{Cause, Change, Culprit};

/// What a symbol of the glossary stands for; the symbol itself where it is none.
pub fn word(symbol: &str) -> &str {
    match symbol {
        "b" => "batch",
        "l" => "time",
        "d" => "features",
        "i" => "inner features",
        "h" => "heads",
        "p" => "head features",
        "g" => "groups",
        "n" => "state",
        "q" => "chunk",
        "c" => "chunks",
        "v" => "vocabulary",
        other => other,
    }
}

/// A cause as one line.
pub fn text(cause: &Cause) -> Option<String> {
    let change = change(&cause.change);
    match (&cause.op, change) {
        (Some(op), Some(change)) => Some(format!("{}: {change}", culprit(op))),
        (Some(op), None) => Some(culprit(op)),
        (None, change) => change,
    }
}

fn culprit(op: &Culprit) -> String {
    let done = format!("{} × {:?} {} on axis {}", op.pieces, op.piece, op.verb, op.axis);
    match op.right {
        Some((verb, axis)) if verb == op.verb => format!("{done}, was {axis}"),
        Some((verb, axis)) => format!("{done}, was {verb} on axis {axis}"),
        None => done,
    }
}

fn change(change: &Change) -> Option<String> {
    Some(match change {
        Change::Folded(axes) => {
            let words: Vec<String> = axes.iter().map(named).collect();
            format!("{} folded", words.join(" and "))
        }
        Change::Transposed(axes) => {
            let words: Vec<String> = axes.iter().map(named).collect();
            match words.as_slice() {
                [one, other] => format!("{one} and {other} exchanged"),
                _ => format!("axes moved: {} in this order", words.join(", ")),
            }
        }
        Change::Lost(axis) => format!("the axis {} is lost", named(axis)),
        Change::Extra { axis, extent } => format!("an axis of {extent} added at {axis}"),
        Change::Broadcast(shapes) => {
            let shapes: Vec<String> = shapes.iter().map(|s| format!("{s:?}")).collect();
            format!("{} broadcast against each other", shapes.join(" and "))
        }
        Change::Repeated { axis, times } => format!("axis {axis} is {times} times as long"),
        Change::Replaced { axis, expected, actual } => {
            format!("axis {axis} is {actual}, was {expected}")
        }
        Change::Mixed { from, to } => {
            format!(
                "{from:?} reshaped to {to:?} across its axes: the shape is right, the values are mixed"
            )
        }
        Change::Missing => "the step is missing".into(),
        Change::Unexpected => "the step is one too many".into(),
        Change::Untransposed(shape) => {
            format!("the right side {shape:?} would fit transposed: it lacks a .t()")
        }
        Change::Ranks(left, right) => {
            format!("ranks {left} and {right}: matmul wants them equal, broadcast_matmul does not")
        }
        Change::Other => return None,
    })
}

fn named(axis: &Expr) -> String {
    axis.as_dim().map_or_else(|| axis.to_string(), |symbol| word(symbol).to_owned())
}
