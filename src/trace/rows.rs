//! Where the rows of a batch are in each op's result.
//!
//! Extents cannot tell: a batch as large as another dim looks like it. So the axis of the rows is marked where it is known,
//! and the mark is carried through the ops that move, join and multiply axes. What the graph does not show, as the reshape
//! of ids, carries no mark until the next tap that has one.

use super::Trace;
use super::op::{Kind, RawOp};

/// What an axis was made of in memory order: extents, and whether each is the rows'.
type Factors = Vec<(usize, bool)>;

/// For each op, for each axis of its result, whether the rows are in it. `known` gives the axes of the rows at a name, where
/// it knows them.
pub fn rows(trace: &Trace, known: impl Fn(&str) -> Option<Vec<usize>>) -> Vec<Vec<bool>> {
    let mut marked: Vec<Option<Vec<usize>>> = vec![None; trace.ops.len()];
    for name in &trace.names {
        if let (Some(slot), Some(axes)) = (marked.get_mut(name.op), known(&name.name)) {
            *slot = Some(axes);
        }
    }
    let mut all: Vec<Vec<Factors>> = Vec::with_capacity(trace.ops.len());
    for (op, marked) in trace.ops.iter().zip(marked) {
        let axes = match marked {
            Some(axes) => mark(&op.shape, &axes),
            None => carried(op, &all),
        };
        all.push(axes);
    }
    let any = |axis: &Factors| axis.iter().any(|(_, rows)| *rows);
    all.iter().map(|axes| axes.iter().map(any).collect()).collect()
}

fn mark(shape: &[usize], axes: &[usize]) -> Vec<Factors> {
    shape.iter().enumerate().map(|(i, &n)| vec![(n, axes.contains(&i))]).collect()
}

fn carried(op: &RawOp, all: &[Vec<Factors>]) -> Vec<Factors> {
    let of = |i: usize| op.operands.get(i).and_then(|&j| all.get(j));
    let plain = || mark(&op.shape, &[]);
    let Some(from) = of(0) else { return plain() };
    let axes = match &op.kind {
        Kind::Reshape => regrouped(&from.concat(), &op.shape).unwrap_or_else(plain),
        Kind::Permute(order) => order.iter().filter_map(|&i| from.get(i).cloned()).collect(),
        Kind::Broadcast => {
            let missing = op.shape.len().saturating_sub(from.len());
            [mark(&op.shape[..missing], &[]), from.clone()].concat()
        }
        Kind::Matmul => product(from, of(1)),
        Kind::Cat(dim) => {
            let pieces = || op.operands.iter().filter_map(|&j| all.get(j)?.get(*dim));
            let rows = pieces().flatten().any(|(_, rows)| *rows);
            let mut axes = from.clone();
            axes.get_mut(*dim).into_iter().for_each(|axis| *axis = vec![(0, rows)]);
            axes
        }
        Kind::Binary(_) => {
            let has_rows = |axis: &Factors| axis.iter().any(|(_, rows)| *rows);
            let other = of(1).filter(|other| other.len() == from.len()).unwrap_or(from);
            let both = from.iter().zip(other);
            both.map(|(a, b)| if has_rows(b) { b.clone() } else { a.clone() }).collect()
        }
        _ => from.clone(),
    };
    if axes.len() != op.shape.len() {
        return plain();
    }
    // An axis of another extent was cut, joined, repeated or reduced: the rows are still in it where more than one is left.
    let fitting = axes.into_iter().zip(&op.shape).map(|(axis, &n)| {
        let whole = axis.iter().map(|(n, _)| *n).product::<usize>() == n;
        let rows = axis.iter().any(|(_, rows)| *rows);
        if whole { axis } else { vec![(n, rows && n > 1)] }
    });
    fitting.collect()
}

/// The axes of a product: the left's but for the last, which the right's takes the place of.
fn product(left: &[Factors], right: Option<&Vec<Factors>>) -> Vec<Factors> {
    let column = right.and_then(|right| right.last()).cloned();
    let kept = &left[..left.len().saturating_sub(1)];
    kept.iter().cloned().chain(column).collect()
}

/// Factors dealt out to axes of the given extents, one split where it must be; nothing where an extent cuts across two.
fn regrouped(factors: &[(usize, bool)], shape: &[usize]) -> Option<Vec<Factors>> {
    let mut rest: Factors = factors.iter().copied().filter(|(n, _)| *n != 1).rev().collect();
    let mut axes = Vec::new();
    for &extent in shape {
        let (mut axis, mut missing) = (Vec::new(), extent);
        while missing > 1 {
            let (n, rows) = rest.pop().filter(|(n, _)| *n > 0)?;
            let taken = if missing % n == 0 { n } else { missing };
            if n % taken != 0 {
                return None;
            }
            if taken < n {
                rest.push((n / taken, rows));
            }
            missing /= taken;
            axis.push((taken, rows));
        }
        axes.push(if axis.is_empty() { vec![(extent, false)] } else { axis });
    }
    Some(axes)
}

#[cfg(test)]
mod tests {
    use super::regrouped;

    #[test]
    fn a_joined_axis_gives_the_rows_back_where_it_is_split() {
        let joined = regrouped(&[(8, true), (60, false), (16, false)], &[480, 16]).expect("joins");
        assert_eq!(joined, [vec![(8, true), (60, false)], vec![(16, false)]]);
        let apart = regrouped(&joined.concat(), &[8, 1, 60, 4, 4]).expect("splits");
        let rows: Vec<bool> = apart.iter().map(|axis| axis[0].1).collect();
        assert_eq!(rows, [true, false, false, false, false]);
        assert_eq!(regrouped(&[(6, true), (4, false)], &[4, 6]), None);
    }
}
