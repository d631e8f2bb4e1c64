//! Whether a reshape regroups axes or mixes them.
//!
//! Extents alone cannot tell `(l b) n → b l n` from `(b l) n → b l n`. So each axis carries its *factors*, the extents
//! it was made of in memory order, and a reshape may only join neighbouring factors or split one of them. One that cuts
//! across them reads rows of one axis as rows of another: the right shape with the wrong values.

use super::op::{Kind, RawOp};

/// The factors of each axis of one op's result.
type Factors = Vec<Vec<usize>>;

/// For each op, whether it is a reshape that mixes axes.
pub fn mixing(ops: &[RawOp]) -> Vec<bool> {
    let mut all: Vec<Factors> = Vec::with_capacity(ops.len());
    let mut mixes = Vec::with_capacity(ops.len());
    for op in ops {
        let (factors, mixed) = follow(op, &all, ops);
        all.push(factors);
        mixes.push(mixed);
    }
    mixes
}

/// Whether a shape becomes the other by joining neighbouring axes alone.
pub fn joins(from: &[usize], to: &[usize]) -> bool {
    let mut rest = from.iter().copied().filter(|&n| n != 1);
    to.iter().all(|&extent| {
        let mut product = 1;
        while product < extent {
            match rest.next() {
                Some(n) => product *= n,
                None => return false,
            }
        }
        product == extent
    })
}

fn follow(op: &RawOp, all: &[Factors], ops: &[RawOp]) -> (Factors, bool) {
    let plain = || op.shape.iter().map(|&n| vec![n]).collect::<Factors>();
    let first = op.operands.first().and_then(|&i| all.get(i));
    let same_shape = |&&i: &&usize| ops.get(i).is_some_and(|o| o.shape == op.shape);
    match (&op.kind, first) {
        (Kind::Reshape, Some(from)) => match regroup(&from.concat(), &op.shape) {
            Some(factors) => (factors, false),
            None => (plain(), true),
        },
        (Kind::Permute(order), Some(from)) => {
            (order.iter().map(|&i| from.get(i).cloned().unwrap_or_default()).collect(), false)
        }
        (Kind::Narrow { dim, len, .. }, Some(from)) => (with_axis(from, *dim, vec![*len]), false),
        (Kind::Cat(dim), Some(from)) => {
            let extents: Vec<usize> =
                op.operands.iter().filter_map(|&i| ops.get(i)?.shape.get(*dim).copied()).collect();
            (with_axis(from, *dim, joined(&extents, from.get(*dim))), false)
        }
        (Kind::Matmul, Some(from)) => {
            let columns = op.operands.get(1).and_then(|&i| all.get(i)).and_then(|r| r.last());
            let columns = columns.cloned().unwrap_or_default();
            (with_axis(from, op.shape.len().saturating_sub(1), columns), false)
        }
        _ => {
            let like = op.operands.iter().find(same_shape).and_then(|&i| all.get(i));
            (like.cloned().unwrap_or_else(plain), false)
        }
    }
}

/// The factors of an axis made of pieces: their number outside, what each was made of inside.
fn joined(extents: &[usize], piece: Option<&Vec<usize>>) -> Vec<usize> {
    let all_equal = extents.windows(2).all(|w| w.first() == w.last());
    match extents {
        [1, ..] if all_equal => vec![extents.len()],
        [_, ..] if all_equal => {
            std::iter::once(extents.len()).chain(piece.into_iter().flatten().copied()).collect()
        }
        _ => vec![extents.iter().sum()],
    }
}

fn with_axis(from: &Factors, dim: usize, axis: Vec<usize>) -> Factors {
    let replaced = |(i, f): (usize, &Vec<usize>)| if i == dim { axis.clone() } else { f.clone() };
    from.iter().enumerate().map(replaced).collect()
}

/// Deals `factors` out to axes of the given extents, splitting one where it must; `None` where an extent cuts across
/// two factors. Factors that only change places are never dealt out, though 60·3 could be split into 3·(20·3): where one
/// extent divides another it would hide an exchange.
fn regroup(factors: &[usize], shape: &[usize]) -> Option<Factors> {
    if exchanged(factors, shape) {
        return None;
    }
    let mut rest: Vec<usize> = factors.iter().copied().filter(|&f| f != 1).rev().collect();
    let mut axes = Factors::new();
    for &extent in shape {
        let mut axis = Vec::new();
        let mut missing = extent;
        while missing > 1 {
            let factor = rest.pop()?;
            if factor == 0 {
                return Some(shape.iter().map(|&n| vec![n]).collect());
            }
            if missing % factor == 0 {
                missing /= factor;
                axis.push(factor);
            } else if factor % missing == 0 {
                rest.push(factor / missing);
                axis.push(missing);
                missing = 1;
            } else {
                return None;
            }
        }
        axes.push(if axis.is_empty() { vec![extent] } else { axis });
    }
    Some(axes)
}

/// Whether the extents are the factors in another order.
fn exchanged(factors: &[usize], shape: &[usize]) -> bool {
    let real = |extents: &[usize]| extents.iter().copied().filter(|n| *n != 1).collect::<Vec<_>>();
    let (mut from, mut to) = (real(factors), real(shape));
    let moved = from != to;
    from.sort_unstable();
    to.sort_unstable();
    moved && from == to
}

#[cfg(test)]
mod tests {
    use super::{joins, regroup};

    #[test]
    fn neighbours_join_and_split_but_never_cross() {
        assert_eq!(regroup(&[60, 8, 16], &[480, 16]), Some(vec![vec![60, 8], vec![16]]));
        assert_eq!(regroup(&[1024], &[16, 64]), Some(vec![vec![16], vec![64]]));
        assert_eq!(regroup(&[8, 60], &[8, 4, 15]), Some(vec![vec![8], vec![4], vec![15]]));
        assert_eq!(regroup(&[1, 7], &[7, 1]), Some(vec![vec![7], vec![1]]));
        assert_eq!(regroup(&[60, 8, 16], &[8, 60, 16]), None);
        assert_eq!(regroup(&[6, 4], &[4, 6]), None);
        assert_eq!(regroup(&[60, 3, 16], &[3, 60, 16]), None);
    }
    #[test]
    fn an_axis_of_one_is_in_nobodys_way() {
        assert!(joins(&[8, 1, 4, 6], &[32, 1, 6]));
        assert!(!joins(&[8, 12, 4, 6], &[32, 12, 6]));
    }
}
