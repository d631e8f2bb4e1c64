//! Lengths that a window bounds: `min(l, 6)`, `b·min(l, k)`, `max(l - 3, 1)`.
//!
//! A window is full at every length from its own on, so runs at lengths that repeat loops do not show it. It takes short
//! runs, which a law may fail to hold for and still be one: only where they do not obey it is a bound looked for.

use super::{Extents, degree};
use crate::dims::{Dims, Expr};

/// The parts of bounded expressions, each with its extents in all runs.
#[derive(Default)]
pub(super) struct Bounds {
    /// How many of the runs are long.
    pub(super) long: usize,
    dims: Vec<Dims>,
    /// Nothing, and single dims, by which a bounded length may be multiplied.
    factors: Vec<(Expr, Extents)>,
    /// Lengths, with offsets such as those of a window.
    lengths: Vec<(Expr, Extents)>,
    /// What may bound them, besides a constant.
    limits: Vec<(Expr, Extents)>,
}

impl Bounds {
    /// Over all runs, of which the first `long` ones are not short.
    pub(super) fn new(
        runs: &[&Dims],
        long: usize,
        symbols: &[(Expr, Extents)],
        sizes: &[&str],
    ) -> Self {
        let over = |e: Expr| -> Option<(Expr, Extents)> {
            let extents: Option<Extents> = runs.iter().map(|d| e.eval(d).ok()).collect();
            Some((e, extents?))
        };
        let offset = |e: &Expr, n: i64| if n == 0 { e.clone() } else { e.clone() + n };
        let offsets = || std::iter::once(0).chain((1..=8).flat_map(|n| [-n, n]));
        let is_length = |symbol: &&str| *symbol != "b" && sizes.contains(symbol);
        let all: Vec<&str> = symbols.iter().filter_map(|(e, _)| e.as_dim()).collect();
        let lengths = all.iter().copied().filter(is_length).map(Expr::dim);
        let lengths = lengths.flat_map(|l| offsets().map(move |n| offset(&l, n)));
        let others: Vec<Expr> =
            all.iter().copied().filter(|s| !is_length(s)).map(Expr::dim).collect();
        let limits = others.iter().flat_map(|e| offsets().map(move |n| offset(e, n)));
        let factors = std::iter::once(Expr::constant(1)).chain(others.iter().cloned());
        Self {
            long,
            dims: runs.iter().map(|d| (*d).clone()).collect(),
            factors: factors.filter_map(over).collect(),
            lengths: lengths.filter_map(over).collect(),
            limits: limits.filter_map(over).collect(),
        }
    }

    /// Whether the short runs have the extents that an expression gives.
    pub(super) fn obey(&self, expression: &Expr, extents: &Extents) -> bool {
        let short = self.dims.iter().zip(extents).skip(self.long);
        short.into_iter().all(|(dims, n)| expression.eval(dims).as_ref() == Ok(n))
    }

    /// The first bounded length, or product of one and a dim, with these extents.
    pub(super) fn search(&self, extents: &Extents) -> Option<Expr> {
        self.factors.iter().find_map(|(factor, y)| {
            let exact = extents.iter().zip(y).all(|(n, m)| *m > 0 && n % m == 0);
            let rest: Extents = extents.iter().zip(y).map(|(n, m)| n / (*m).max(1)).collect();
            let bounded = || self.lengths.iter().find_map(|(l, x)| self.bounded((l, x), &rest));
            exact.then(bounded).flatten().map(|e| factor.clone() * e)
        })
    }

    /// The bound that gives these extents, where the length is what it is in some runs and is bounded in others.
    fn bounded(&self, (length, x): (&Expr, &Extents), extents: &Extents) -> Option<Expr> {
        let below = extents.iter().zip(x).all(|(n, l)| n <= l);
        let above = extents.iter().zip(x).all(|(n, l)| n >= l);
        let free = extents.iter().zip(x).filter(|(n, l)| n == l).count();
        if !(below || above) || free == 0 || free == extents.len() {
            return None;
        }
        let taken = |limit: i64, l: i64| if below { limit.min(l) } else { limit.max(l) };
        let fits = |y: &Extents| {
            extents.iter().zip(y.iter().zip(x)).all(|(n, (y, l))| *n == taken(*y, *l))
        };
        // A constant is where the length is not; what one number explains, no dim has to.
        let held = extents.iter().zip(x).find(|(n, l)| n != l).map(|(n, _)| *n)?;
        let number = (Expr::constant(held), vec![held; extents.len()]);
        let mut limits = std::iter::once(&number).chain(&self.limits);
        let (limit, _) = limits.find(|(e, y)| degree(e) == 1 && fits(y))?;
        Some(if below { length.min_with(limit) } else { length.max_with(limit) })
    }
}
