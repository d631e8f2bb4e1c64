//! The forms that an expression may take, each with its extents in every run.

use super::{Extents, times};
use crate::dims::Expr;

/// Products of up to three dims, shorter ones first.
pub(super) fn products(symbols: &[(Expr, Extents)]) -> Vec<(Expr, Extents)> {
    let mut all: Vec<(Expr, Extents)> = symbols.to_vec();
    let grow = |shorter: &[(usize, Expr, Extents)]| -> Vec<(usize, Expr, Extents)> {
        let longer = shorter.iter().flat_map(|(last, e, x)| {
            symbols
                .iter()
                .enumerate()
                .skip(*last)
                .map(|(i, (s, y))| (i, e.clone() * s.clone(), times(x, y)))
        });
        longer.collect()
    };
    let ones: Vec<_> =
        symbols.iter().enumerate().map(|(i, (e, x))| (i, e.clone(), x.clone())).collect();
    let pairs = grow(&ones);
    let triples = grow(&pairs);
    all.extend(pairs.into_iter().chain(triples).map(|(_, e, x)| (e, x)));
    all
}

/// Quotients that vary over the runs: of a size with rounding, of other dims only where they divide exactly.
pub(super) fn ceilings(
    symbols: &[(Expr, Extents)],
    sizes: &[&str],
    over: &dyn Fn(&Expr) -> Option<Extents>,
) -> Vec<(Expr, Extents)> {
    let is_size = |e: &Expr| e.as_dim().is_some_and(|symbol| sizes.contains(&symbol));
    let exact = |x: &Extents, y: &Extents| x.iter().zip(y).all(|(x, y)| *y > 1 && x % y == 0);
    let pairs = symbols.iter().flat_map(|a| symbols.iter().map(move |b| (a, b)));
    let rounded =
        pairs.clone().filter(|((a, x), (b, y))| is_size(a) && !is_size(b) && x.first() > y.first());
    let exact = pairs.filter(|((a, x), (b, y))| a != b && !is_size(a) && exact(x, y));
    rounded
        .chain(exact)
        .map(|((a, _), (b, _))| a.ceil_div(b))
        .filter_map(|e| Some((e.clone(), over(&e)?)))
        .filter(|(_, x)| x.iter().any(|n| *n != x[0]))
        .collect()
}

/// Quotients by a constant of the model, each with the constant: of a size, windows and strides, `ceil((l - 1)/2)`, and
/// padding to a multiple, without an offset; of another dim, its half, third or quarter, rounded up or down.
pub(super) fn by_constants(
    symbols: &[(Expr, Extents)],
    sizes: &[&str],
    over: &dyn Fn(&Expr) -> Option<Extents>,
) -> Vec<(Expr, Extents, i64)> {
    let is_size = |e: &Expr| e.as_dim().is_some_and(|symbol| sizes.contains(&symbol));
    let (sized, others): (Vec<&Expr>, Vec<&Expr>) =
        symbols.iter().map(|(e, _)| e).partition(|e| is_size(e));
    let offsets = std::iter::once(0).chain((1..=8).flat_map(|n| [-n, n]));
    let forms = offsets.flat_map(|offset| {
        let most = if offset == 0 { 32 } else { 8 };
        (2..=most).map(move |by| (offset, by))
    });
    let all = forms.flat_map(|(offset, by)| sized.iter().map(move |e| (*e, offset, by)));
    let parts = (2..=4).flat_map(|by| [(0, by), (1 - by, by)]);
    let parts = parts.flat_map(|(offset, by)| others.iter().map(move |e| (*e, offset, by)));
    all.chain(parts)
        .filter_map(|(e, offset, by)| {
            let whole = if offset == 0 { e.clone() } else { e.clone() + Expr::constant(offset) };
            let quotient = whole.ceil_div(&Expr::constant(by));
            let extents = over(&quotient)?;
            extents.iter().any(|n| *n != extents[0]).then_some((quotient, extents, by))
        })
        .collect()
}
