//! What became of the axes of a shape, in symbols.

use super::Change;
use crate::dims::Expr;

/// The simplest change that makes the one shape the other.
pub(super) fn change(want: &[Expr], have: &[Expr]) -> Option<Change> {
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
    let moved = order.iter().enumerate().any(|(i, at)| i != *at);
    (want.len() == have.len() && moved)
        .then(|| Change::Transposed { expected: want.to_vec(), order })
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
