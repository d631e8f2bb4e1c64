//! Why a shape is not what it should be.
//!
//! The answer is read off the two shapes in symbols, and off the ops that were folded into the step: a `cat` or `stack`
//! whose result on another axis would have been right is named with both axes.

use crate::dims::{Axes, Expr};
use crate::trace::op::{Kind, RawOp};

use super::Shape;

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
    /// `joined` for a cat, `stacked` for pieces that got a new axis first, `reduced` for a sum or mean.
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
    /// The same axes in another order: those that moved, as they stand now.
    Transposed(Vec<Expr>),
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
pub fn cause_of_error(op: &str, operands: &[Vec<usize>]) -> Option<Cause> {
    let change = match (op, operands) {
        ("matmul", [left, right]) => product(left, right)?,
        ("cat", [one, other]) if one.len() == other.len() => {
            let differ = (0..one.len()).filter(|&i| one.get(i) != other.get(i)).collect();
            Change::Ragged(differ)
        }
        ("cat", [piece]) => Change::NoAxis(piece.len()),
        _ => return None,
    };
    Some(Cause { op: None, change })
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

fn change(want: &[Expr], have: &[Expr]) -> Option<Change> {
    transposed(want, have)
        .or_else(|| folded(want, have))
        .or_else(|| folded(have, want).map(split))
        .or_else(|| lost(want, have))
        .or_else(|| extra(want, have))
        .or_else(|| replaced(want, have))
        .or_else(|| became(want, have))
}

fn transposed(want: &[Expr], have: &[Expr]) -> Option<Change> {
    let mut taken = vec![false; want.len()];
    let mut order = Vec::new();
    for axis in have {
        let free = |&i: &usize| !taken[i] && want[i] == *axis;
        let at = (0..want.len()).find(free)?;
        taken[at] = true;
        order.push(at);
    }
    let moved = order.iter().enumerate().filter(|(i, at)| i != *at).map(|(i, _)| have[i].clone());
    let moved: Vec<Expr> = moved.collect();
    (want.len() == have.len() && !moved.is_empty()).then_some(Change::Transposed(moved))
}

/// An axis that is the product of two or three expected axes that are not there by themselves.
fn folded(want: &[Expr], have: &[Expr]) -> Option<Change> {
    let one = Expr::constant(1);
    let gone: Vec<&Expr> =
        want.iter().filter(|axis| !have.contains(axis) && **axis != one).collect();
    let product = |axes: &[&Expr]| axes.iter().fold(one.clone(), |p, e| p * (*e).clone());
    let new = |product: &Expr| have.contains(product) && !want.contains(product);
    let pairs = (0..gone.len()).flat_map(|i| (i + 1..gone.len()).map(move |j| (i, j)));
    let pairs = pairs.map(|(i, j)| vec![gone[i], gone[j]]);
    let found = pairs.chain([gone.clone()]).find(|axes| axes.len() > 1 && new(&product(axes)));
    found.map(|axes| Change::Folded(axes.into_iter().cloned().collect()))
}

/// What was folded in the other direction.
fn split(folded: Change) -> Change {
    match folded {
        Change::Folded(axes) => Change::Split(axes),
        other => other,
    }
}

/// The axes that only one of the shapes has, where both have some.
fn became(want: &[Expr], have: &[Expr]) -> Option<Change> {
    let one = Expr::constant(1);
    let without = |axes: &[Expr], others: &[Expr]| -> Vec<Expr> {
        axes.iter().filter(|axis| **axis != one && !others.contains(axis)).cloned().collect()
    };
    let (gone, new) = (without(want, have), without(have, want));
    (!gone.is_empty() && !new.is_empty()).then_some(Change::Became { gone, new })
}

fn lost(want: &[Expr], have: &[Expr]) -> Option<Change> {
    let without = |i: usize| want.iter().enumerate().filter(move |(j, _)| *j != i).map(|(_, e)| e);
    let shorter = want.len() == have.len() + 1;
    let at = (0..want.len()).find(|&i| shorter && without(i).eq(have))?;
    Some(Change::Lost(want[at].clone()))
}

fn extra(want: &[Expr], have: &[Expr]) -> Option<Change> {
    let without = |i: usize| have.iter().enumerate().filter(move |(j, _)| *j != i).map(|(_, e)| e);
    let longer = have.len() == want.len() + 1;
    let axis = (0..have.len()).find(|&i| longer && without(i).eq(want))?;
    Some(Change::Extra { axis, extent: have[axis].clone() })
}

fn replaced(want: &[Expr], have: &[Expr]) -> Option<Change> {
    let differ: Vec<usize> =
        (0..want.len().min(have.len())).filter(|&i| want[i] != have[i]).collect();
    let &[axis] = differ.as_slice() else { return None };
    if want.len() != have.len() {
        return None;
    }
    let (expected, actual) = (want[axis].clone(), have[axis].clone());
    let times = (2..=64).find(|&n| Expr::constant(n) * expected.clone() == actual);
    Some(match times {
        Some(times) => Change::Repeated { axis, times: usize::try_from(times).unwrap_or(0) },
        None => Change::Replaced { axis, expected, actual },
    })
}

/// A cat of equal pieces, with what would have given the expected extents.
fn culprit(op: &RawOp, expected: Option<&Shape>, all: &[RawOp]) -> Option<Culprit> {
    let expected = expected?.extents.as_slice();
    if let Kind::Reduce(_) = op.kind {
        return reduced(op, expected, all);
    }
    let mut found = joined(op, all)?;
    // Pieces that got an axis of one first may have got it at the wrong place: they are tried without it too.
    let bare = bare(op, all).map(|(piece, _)| piece);
    let pieces = std::iter::once(&found.piece).chain(bare.as_ref());
    let tries = pieces.flat_map(|piece| {
        let axes = 0..=piece.len();
        let verbs = ["joined", "stacked"];
        verbs.into_iter().flat_map(move |verb| axes.clone().map(move |axis| (verb, piece, axis)))
    });
    let used = |(verb, piece, axis): &(&str, &Vec<usize>, usize)| {
        (*verb, *piece, *axis) == (found.verb, &found.piece, found.axis)
    };
    let right = tries.filter(|try_| !used(try_)).find(|(verb, piece, axis)| {
        made(verb, piece, found.pieces, *axis).as_deref() == Some(expected)
    });
    found.right = right.map(|(verb, piece, axis)| (verb, piece.clone(), axis));
    Some(found)
}

/// A sum or mean over an axis, where another one would have given the expected extents.
fn reduced(op: &RawOp, expected: &[usize], all: &[RawOp]) -> Option<Culprit> {
    let from = &all.get(*op.operands.first()?)?.shape;
    let differs = |&i: &usize| from.get(i) != op.shape.get(i);
    let axis = (0..from.len()).find(differs)?;
    let over = |axis: usize, kept: usize| {
        let mut shape = from.clone();
        shape.splice(axis..=axis, std::iter::repeat_n(1, kept));
        shape
    };
    let right = (0..from.len()).filter(|&i| i != axis);
    let right = right.into_iter().find(|&i| over(i, 0) == expected || over(i, 1) == expected)?;
    let right = Some(("reduced", from.clone(), right));
    Some(Culprit { verb: "reduced", pieces: 1, piece: from.clone(), ragged: false, axis, right })
}

/// The shape of so many pieces, joined on an axis or stacked on a new one.
fn made(verb: &str, piece: &[usize], pieces: usize, axis: usize) -> Option<Vec<usize>> {
    let mut shape = piece.to_vec();
    match verb {
        "joined" => *shape.get_mut(axis)? *= pieces,
        _ => shape.insert(axis, pieces),
    }
    Some(shape)
}

/// The cat that a chain of reshapes and moves before an op reads.
fn joined_before(op: &RawOp, expected: Option<&Shape>, all: &[RawOp]) -> Option<Culprit> {
    let mut at = op;
    for _ in 0..4 {
        at = all.get(*at.operands.first()?)?;
        if let Some(found) = culprit(at, expected, all).or_else(|| joined(at, all)) {
            return Some(found);
        }
    }
    None
}

/// A cat of equal pieces. Where each piece was just given an axis of one, on which they join, it is a stack.
fn joined(op: &RawOp, all: &[RawOp]) -> Option<Culprit> {
    let Kind::Cat(axis) = op.kind else { return None };
    let pieces: Vec<&RawOp> = op.operands.iter().filter_map(|&i| all.get(i)).collect();
    let first = pieces.first()?;
    if pieces.len() < 2 {
        return None;
    }
    let ragged = pieces.iter().any(|piece| piece.shape != first.shape);
    let (verb, piece) = match bare(op, all) {
        Some((piece, added)) if added == axis => ("stacked", piece),
        _ => ("joined", first.shape.clone()),
    };
    Some(Culprit { verb, pieces: pieces.len(), piece, ragged, axis, right: None })
}

/// What the pieces of a cat were before each got an axis of one, and where it got it.
fn bare(op: &RawOp, all: &[RawOp]) -> Option<(Vec<usize>, usize)> {
    let piece = all.get(*op.operands.first()?)?;
    let before = all.get(*piece.operands.first()?)?;
    let Kind::Cat(axis) = op.kind else { return None };
    let without = |at: usize| {
        let rest = piece.shape.iter().enumerate().filter(move |(i, _)| *i != at);
        rest.map(|(_, n)| *n).collect::<Vec<_>>()
    };
    let added = |at: &usize| piece.shape.get(*at) == Some(&1) && without(*at) == before.shape;
    let tries = std::iter::once(axis).chain(0..piece.shape.len());
    let at = tries.into_iter().find(added).filter(|_| piece.kind == Kind::Reshape)?;
    Some((before.shape.clone(), at))
}

/// The operands of a binary op whose result is larger than either.
fn widening(i: usize, all: &[RawOp]) -> Option<Vec<Vec<usize>>> {
    let op = all.get(i)?;
    if !matches!(op.kind, Kind::Binary(_)) {
        return None;
    }
    let source = |&j: &usize| {
        let operand = all.get(j)?;
        match (&operand.kind, operand.operands.first()) {
            (Kind::Broadcast, Some(&from)) => Some(all.get(from)?.shape.clone()),
            _ => Some(operand.shape.clone()),
        }
    };
    let shapes: Vec<Vec<usize>> = op.operands.iter().filter_map(source).collect();
    shapes.iter().all(|shape| *shape != op.shape).then_some(shapes)
}
