//! The op that explains a shape.

use super::Culprit;
use crate::harness::check::Shape;
use crate::trace::op::{Kind, RawOp};

/// A cat of equal pieces, with what would have given the expected extents.
pub(super) fn culprit(op: &RawOp, expected: Option<&Shape>, all: &[RawOp]) -> Option<Culprit> {
    let expected = expected?.extents.as_slice();
    if let Kind::Reduce(_) = op.kind {
        return reduced(op, expected, all);
    }
    if let Kind::Other("avg_pool2d" | "max_pool2d") = op.kind {
        return pooled(op, expected, all);
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

/// A pool over one axis, where the expected extents are those of a pool over another. Candle's pools take four axes, and
/// one or two of 1 are there for them alone.
fn pooled(op: &RawOp, expected: &[usize], all: &[RawOp]) -> Option<Culprit> {
    let from = &all.get(*op.operands.first()?)?.shape;
    // The one axis that differs; of a shape that lacks an axis of 1, for some such axis.
    let smaller = |shape: &[usize]| {
        let unlike = |without: usize| {
            let own: Vec<usize> = (0..from.len()).filter(|&i| i != without).collect();
            let mut unlike = own.iter().zip(shape).filter(|(i, n)| from.get(**i) != Some(*n));
            let axis = unlike.next().filter(|_| own.len() == shape.len())?;
            unlike.next().is_none().then_some(*axis.0)
        };
        let ones = (0..from.len()).filter(|&i| from.get(i) == Some(&1));
        std::iter::once(from.len()).chain(ones).find_map(unlike)
    };
    let (axis, right) = (smaller(&op.shape)?, smaller(expected)?);
    let right = (axis != right).then(|| ("pooled", from.clone(), right))?;
    let piece = from.clone();
    Some(Culprit { verb: "pooled", pieces: 1, piece, ragged: false, axis, right: Some(right) })
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
pub(super) fn joined_before(
    op: &RawOp,
    expected: Option<&Shape>,
    all: &[RawOp],
) -> Option<Culprit> {
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
pub(super) fn widening(i: usize, all: &[RawOp]) -> Option<Vec<Vec<usize>>> {
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
