//! Why a shape is not what it should be.
//!
//! The answer is read off the two shapes in symbols, and off the ops that were folded into the step: a `cat` or `stack`
//! whose result on another axis would have been right is named with both axes.

mod change;
mod culprit;

use crate::dims::{Axes, Expr};
use crate::trace::op::RawOp;

use super::Shape;
use crate::harness::run::Failure;
use change::change;
use culprit::{culprit, joined_before, widening};

/// Why a shape is not what it should be.
#[derive(Debug, Clone, PartialEq)]
pub struct Cause {
    /// The op that did it, where it can be told.
    pub op: Option<Culprit>,
    /// What became of the axes.
    pub change: Change,
}

/// An op that joined pieces, as far as it explains a shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Culprit {
    /// `joined` for a cat, `stacked` for pieces that got a new axis first, `reduced` for a sum or mean, `pooled` for a
    /// pool.
    pub verb: &'static str,
    /// How many pieces.
    pub pieces: usize,
    /// The shape of each; of the first where they differ.
    pub piece: Vec<usize>,
    /// Whether the pieces differ on the axis.
    pub ragged: bool,
    /// The axis it used.
    pub axis: usize,
    /// What would have been right: the verb, the shape of each piece and the axis.
    pub right: Option<(&'static str, Vec<usize>, usize)>,
}

/// What became of the axes.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Axes of the expected shape became one.
    Folded(Vec<Expr>),
    /// An axis that is the product of some became these.
    Split(Vec<Expr>),
    /// Axes of the expected shape, and what stands in their place.
    Became {
        /// What is gone.
        gone: Vec<Expr>,
        /// What is new.
        new: Vec<Expr>,
    },
    /// The same axes in another order.
    Transposed {
        /// The axes as they should be.
        expected: Vec<Expr>,
        /// Position `i` holds axis `order[i]` of them.
        order: Vec<usize>,
    },
    /// An axis is gone.
    Lost(Expr),
    /// An axis is one too many.
    Extra {
        /// Its position.
        axis: usize,
        /// Its extent.
        extent: Expr,
    },
    /// An op of two operands made axes of both.
    Broadcast(Vec<Vec<usize>>),
    /// An axis is a multiple of what it should be.
    Repeated {
        /// Its position.
        axis: usize,
        /// How many times.
        times: usize,
    },
    /// An axis has another extent.
    Replaced {
        /// Its position.
        axis: usize,
        /// What it should be.
        expected: Expr,
        /// What it is.
        actual: Expr,
    },
    /// The shape is right, but a reshape read the elements of one axis as another's.
    Mixed {
        /// The shape that was reshaped.
        from: Vec<usize>,
        /// The extents it was given.
        to: Vec<usize>,
    },
    /// A step that should be there is not.
    Missing,
    /// A step is there that should not be.
    Unexpected,
    /// A product whose right side would fit transposed.
    Untransposed {
        /// The right side.
        right: Vec<usize>,
        /// The ranks of both sides.
        ranks: (usize, usize),
    },
    /// Pieces to be joined that differ on these axes, more than the one they are joined on.
    Ragged(Vec<usize>),
    /// An axis that pieces of this rank do not have.
    NoAxis(usize),
    /// A shape that takes so many values, and was given others.
    Values(usize),
    /// Operands that do not broadcast.
    Apart {
        /// The axis, counted from the end, from 1.
        from_end: usize,
        /// Its extent on the left.
        left: usize,
        /// Its extent on the right.
        right: usize,
    },
    /// Operands of unlike element types.
    DTypes(&'static str, &'static str),
    /// A product of tensors of different rank.
    Ranks(usize, usize),
    /// Something else.
    Other,
}

/// The cause of a difference between two shapes of a step made by `ops`, the last of which is its own.
pub fn cause(expected: &Shape, actual: &Shape, all: &[RawOp], ops: &[usize]) -> Cause {
    if expected.extents == actual.extents {
        return mixed(Some(expected), all, ops)
            .unwrap_or(Cause { op: None, change: Change::Other });
    }
    let (want, have) = symbols(expected, actual);
    let op = ops.iter().rev().find_map(|&i| culprit(all.get(i)?, Some(expected), all));
    let change = change(&want, &have).unwrap_or(Change::Other);
    let widened = || ops.iter().rev().find_map(|&i| widening(i, all));
    let change = match change {
        Change::Extra { .. } | Change::Other | Change::Replaced { .. } => {
            widened().map_or(change, Change::Broadcast)
        }
        change => change,
    };
    // Candle joins by itself too, as where it pads: a cat that no other axis would have made right is named only where
    // the shape says that pieces were joined.
    let tells = matches!(change, Change::Folded(_) | Change::Repeated { .. });
    let op = op.filter(|op| op.right.is_some() || tells);
    Cause { op, change }
}

/// The cause of a step that is one too many, or missing.
pub fn cause_of_unpaired(missing: bool, mixing: bool, all: &[RawOp], ops: &[usize]) -> Cause {
    let change = if missing { Change::Missing } else { Change::Unexpected };
    let mixed = || mixed(None, all, ops).filter(|_| mixing);
    mixed().unwrap_or(Cause { op: None, change })
}

/// A reshape across axes, and the cat before it that it was to repair.
fn mixed(expected: Option<&Shape>, all: &[RawOp], ops: &[usize]) -> Option<Cause> {
    let own = all.get(*ops.last()?)?;
    let from = all.get(*own.operands.first()?)?;
    let change = Change::Mixed { from: from.shape.clone(), to: own.shape.clone() };
    Some(Cause { op: joined_before(own, expected, all), change })
}

/// The cause of an op that candle refused.
pub fn cause_of_error(failure: &Failure) -> Option<Cause> {
    if let Some([left, right]) = failure.dtypes.as_deref().copied() {
        return Some(Cause { op: None, change: Change::DTypes(left, right) });
    }
    let change = match (failure.op.as_deref()?, failure.operands.as_slice()) {
        ("matmul", [left, right]) => product(left, right)?,
        ("cat", [one, other]) if one.len() == other.len() => {
            let differ = (0..one.len()).filter(|&i| one.get(i) != other.get(i)).collect();
            Change::Ragged(differ)
        }
        ("cat", [piece]) => Change::NoAxis(piece.len()),
        ("from_vec", [shape]) => Change::Values(shape.iter().product()),
        (op, [left, right]) if op.starts_with("broadcast_") => apart(left, right)?,
        _ => return None,
    };
    Some(Cause { op: None, change })
}

/// The last axis, counted from the end, on which two shapes do not broadcast.
fn apart(left: &[usize], right: &[usize]) -> Option<Change> {
    let pairs = left.iter().rev().zip(right.iter().rev()).enumerate();
    let mut unequal = pairs.filter(|(_, (l, r))| l != r && **l != 1 && **r != 1);
    let (from_end, (&left, &right)) = unequal.next()?;
    Some(Change::Apart { from_end: from_end + 1, left, right })
}

fn product(left: &[usize], right: &[usize]) -> Option<Change> {
    match (left, right) {
        ([.., _, k], [.., n, m]) if k == m && k != n => {
            Some(Change::Untransposed { right: right.to_vec(), ranks: (left.len(), right.len()) })
        }
        _ if left.len() != right.len() => Some(Change::Ranks(left.len(), right.len())),
        _ => None,
    }
}

/// Both shapes in symbols. Where the actual ones are not known, an extent takes the symbol of the expected axis that has
/// it, in order, and stays a number where none does.
fn symbols(expected: &Shape, actual: &Shape) -> (Vec<Expr>, Vec<Expr>) {
    let number = |n: &usize| Expr::constant(i64::try_from(*n).unwrap_or(i64::MAX));
    let numbers = |shape: &Shape| shape.extents.iter().map(number).collect::<Vec<_>>();
    match (&expected.axes, &actual.axes) {
        (Some(Axes(want)), Some(Axes(have))) => (want.clone(), have.clone()),
        (Some(Axes(want)), None) => {
            let mut free: Vec<(usize, &Expr)> =
                expected.extents.iter().copied().zip(want).collect();
            let symbol = |n: &usize| match free.iter().position(|(extent, _)| extent == n) {
                Some(at) => free.remove(at).1.clone(),
                None => number(n),
            };
            (want.clone(), actual.extents.iter().map(symbol).collect())
        }
        _ => (numbers(expected), numbers(actual)),
    }
}
