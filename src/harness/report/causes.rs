//! Causes in words.

use crate::dims::{Axes, Expr};
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
    if let verb @ ("reduced" | "pooled") = op.verb {
        let right = op.right.as_ref().map(|(_, _, axis)| format!(", was {axis}"));
        let right = right.unwrap_or_default();
        return format!("{:?} {verb} over axis {}{right}", op.piece, op.axis);
    }
    let unlike = if op.ragged { " and unlike ones" } else { "" };
    let done = format!("{} × {:?}{unlike} {} on axis {}", op.pieces, op.piece, op.verb, op.axis);
    match &op.right {
        Some((verb, piece, axis)) if *piece != op.piece => {
            format!("{done}, was {piece:?} {verb} on axis {axis}")
        }
        Some((verb, _, axis)) if *verb == op.verb => format!("{done}, was {axis}"),
        Some((verb, _, axis)) => format!("{done}, was {verb} on axis {axis}"),
        None => done,
    }
}

fn change(change: &Change) -> Option<String> {
    Some(match change {
        Change::Folded(axes) => {
            format!("{} folded", list(axes))
        }
        Change::Split(axes) => {
            let product = axes.iter().cloned().reduce(|p, e| p * e)?;
            format!("{product} split into {}", list(axes))
        }
        Change::Became { gone, new } => format!("{} became {}", list(gone), list(new)),
        Change::Transposed { expected, order } => transposed(expected, order),
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
        Change::Untransposed { right, ranks } => {
            let fits = format!("the right side {right:?} would fit transposed: it lacks a .t()");
            match ranks {
                (l, r) if l != r => format!("{fits}, and ranks {l} and {r} want broadcast_matmul"),
                _ => fits,
            }
        }
        Change::Ragged(axes) => {
            let axes: Vec<String> = axes.iter().map(ToString::to_string).collect();
            format!("the pieces differ on axis {}: pad them to one length", axes.join(" and "))
        }
        Change::Values(n) => format!("the shape takes {n} values"),
        Change::Apart { from_end, left, right } => {
            format!("axis -{from_end}: {left} against {right}, and neither is 1")
        }
        Change::DTypes(left, right) => {
            let float =
                if [*left, *right].contains(&"f64") { " (a Rust float becomes f64)" } else { "" };
            format!("{left} meets {right}: make constants in the model's dtype{float}")
        }
        Change::NoAxis(rank) => {
            format!("no such axis: the pieces have {rank}; a single piece is never looked at")
        }
        Change::Ranks(left, right) => {
            format!("ranks {left} and {right}: matmul wants them equal, broadcast_matmul does not")
        }
        Change::Other => return None,
    })
}

/// Two axes that changed places, or all of them in their new order.
fn transposed(expected: &[Expr], order: &[usize]) -> String {
    let moved: Vec<&Expr> = (0..order.len())
        .filter(|&i| order.get(i) != Some(&i))
        .filter_map(|i| expected.get(i))
        .collect();
    if let &[a, b] = moved.as_slice() {
        return format!("{} and {} exchanged", named(a), named(b));
    }
    let list = |axes: Vec<&Expr>| Axes(axes.into_iter().cloned().collect()).to_string();
    let now = order.iter().filter_map(|&i| expected.get(i)).collect();
    format!("axes in the order {}, was {}", list(now), list(expected.iter().collect()))
}

fn list(axes: &[Expr]) -> String {
    axes.iter().map(named).collect::<Vec<_>>().join(" and ")
}

fn named(axis: &Expr) -> String {
    axis.as_dim().map_or_else(|| axis.to_string(), |symbol| word(symbol).to_owned())
}
