//! Sums of few terms.

use std::collections::BTreeSet;

use super::{Extents, Fit, constant, degree, minus, ratio};
use crate::dims::Expr;

impl Fit {
    pub(super) fn two_terms(&self, extents: &Extents) -> Option<Expr> {
        self.terms().find_map(|(e, x)| Some(e + self.term(&minus(extents, &x))?))
    }

    /// A constant times a product, and another term or a constant of any size: `16·s + 2`.
    ///
    /// Two unknown numbers fit whatever takes two values, so the product has to take three at least.
    pub(super) fn multiple_and_rest(&self, extents: &Extents) -> Option<Expr> {
        let short: Vec<_> = self.products.iter().filter(|(e, _)| degree(e) <= 2).collect();
        let with_constant = short.iter().filter(|(_, x)| values(x) > 2).find_map(|(e, x)| {
            let factor = slope(extents, x)?;
            let rest = constant(&minus(extents, &scaled(x, factor)))?;
            Some(Expr::constant(factor) * e.clone() + rest)
        });
        let with_term = || {
            short.iter().find_map(|(rest, y)| {
                let left = minus(extents, y);
                let (e, factor) = short.iter().find_map(|(e, x)| Some((e, ratio(&left, x)?)))?;
                Some(Expr::constant(factor) * e.clone() + rest.clone())
            })
        };
        with_constant.or_else(with_term)
    }

    pub(super) fn three_terms(&self, extents: &Extents) -> Option<Expr> {
        let short: Vec<_> = self.terms().collect();
        short.iter().enumerate().find_map(|(i, (e, x))| {
            let rest = minus(extents, x);
            short[i..].iter().find_map(|(f, y)| {
                let last = self.term(&minus(&rest, y))?;
                Some(e.clone() + f.clone() + last)
            })
        })
    }

    /// What a sum may begin with: products of up to two dims, once or twice; single dims first.
    fn terms(&self) -> impl Iterator<Item = (Expr, Extents)> {
        let short = || self.products.iter().filter(|(e, _)| degree(e) <= 2).cloned();
        let twice =
            short().map(|(e, x)| (Expr::constant(2) * e, x.iter().map(|n| 2 * n).collect()));
        short().chain(twice)
    }

    /// What a sum may end with.
    fn term(&self, rest: &Extents) -> Option<Expr> {
        let product = || self.product(rest);
        let small = || constant(rest).filter(|_| small(rest));
        let negated = || {
            let positive: Extents = rest.iter().map(|n| -n).collect();
            self.product(&positive).map(|e| Expr::constant(-1) * e)
        };
        let doubled = || {
            let even = rest.iter().all(|n| n % 2 == 0);
            let half: Extents = rest.iter().map(|n| n / 2).collect();
            self.product(&half).filter(|_| even).map(|e| Expr::constant(2) * e)
        };
        small().or_else(product).or_else(doubled).or_else(negated)
    }
}

/// Offsets such as those of a window or a padding.
pub(super) fn small(extents: &Extents) -> bool {
    extents.iter().all(|n| (1..=8).contains(&n.abs()))
}

/// How many different numbers there are.
fn values(extents: &Extents) -> usize {
    extents.iter().collect::<BTreeSet<_>>().len()
}

/// How much the extents grow for each one that `x` does, by the first runs in which `x` differs.
fn slope(extents: &Extents, x: &Extents) -> Option<i64> {
    let (n, m) = (*extents.first()?, *x.first()?);
    let (other_n, other_m) = extents.iter().zip(x).find(|(_, other)| **other != m)?;
    let (rise, run) = (other_n - n, other_m - m);
    (rise % run == 0 && rise != 0).then_some(rise / run)
}

fn scaled(x: &Extents, by: i64) -> Extents {
    x.iter().map(|n| n.saturating_mul(by)).collect()
}
