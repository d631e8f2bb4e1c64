//! Matching extents with expressions.
//!
//! An axis has one extent in each witness run. The dims of the runs are known too, so an expression is right where it
//! gives the axis's extent in every run. Since each dim that can be varied was, by itself, few expressions survive; of
//! these the simplest is taken: a dim, a product, a ceil division, a sum of few, a constant last where a dim would do.

mod bounds;
mod forms;
mod sums;

use std::cell::RefCell;
use std::collections::HashMap;

use crate::dims::{Dims, Expr};
use bounds::Bounds;
use forms::{by_constants, ceilings, products};
use sums::small;

type Extents = Vec<i64>;

/// The expressions that witness runs can tell apart.
pub struct Fit {
    /// Dims that no run varies.
    still: Vec<(Expr, Extents)>,
    /// Products of up to three dims, simplest first.
    products: Vec<(Expr, Extents)>,
    /// Products with a ceil division of a size, or with an exact quotient: only where nothing simpler fits.
    quotients: Vec<(Expr, Extents)>,
    /// The same by constants of the model, which fit by chance most easily and so come last.
    fixed: Vec<(Expr, Extents)>,
    /// Forms that hold over the short runs too.
    bounds: Bounds,
    /// The first product for its extents, for looking up what is left of a sum.
    by_extents: HashMap<Extents, usize>,
    known: RefCell<HashMap<Extents, Option<Expr>>>,
    order: Dims,
}

impl Fit {
    /// Over runs with these dims, the base first. `sizes` are the symbols that a case's matrix varies: these alone are
    /// divided with rounding, as a sequence into chunks. The runs after the first `long` ones are short, and only tell
    /// whether a window is longer than the sequence.
    pub fn new<'a>(runs: impl IntoIterator<Item = &'a Dims>, long: usize, sizes: &[&str]) -> Self {
        let all: Vec<&Dims> = runs.into_iter().collect();
        let runs = &all[..long.min(all.len())];
        let order = runs.first().map(|d| (*d).clone()).unwrap_or_default();
        let over = |e: &Expr| -> Option<Extents> { runs.iter().map(|d| e.eval(d).ok()).collect() };
        let named = order.iter().map(|(symbol, _)| Expr::dim(symbol));
        let symbols: Vec<(Expr, Extents)> =
            named.filter_map(|e| Some((e.clone(), over(&e)?))).collect();
        // A dim that is the same in every run would fit anything that is not told apart by it, so it stands for itself
        // alone and is no part of an expression.
        let (symbols, still): (Vec<_>, Vec<_>) =
            symbols.into_iter().partition(|(_, extents)| constant(extents).is_none());
        let still = still.into_iter().filter(|(_, x)| x.first() != Some(&1)).collect();
        let products = products(&symbols);
        let ceilings = ceilings(&symbols, sizes, &over);
        let up_to_two: Vec<_> = products.iter().filter(|(e, _)| degree(e) <= 2).collect();
        let times_product = |(e, x): &(Expr, Extents)| -> Vec<(Expr, Extents)> {
            up_to_two.iter().map(|(f, y)| (e.clone() * f.clone(), times(x, y))).collect()
        };
        let by_dims = ceilings.iter().cloned().chain(ceilings.iter().flat_map(times_product));
        let fixed = by_constants(&symbols, sizes, &over);
        let padded = fixed.iter().map(|(e, x, by)| {
            (Expr::constant(*by) * e.clone(), x.iter().map(|n| n * by).collect::<Extents>())
        });
        let fixed: Vec<_> =
            fixed.iter().map(|(e, x, _)| (e.clone(), x.clone())).chain(padded).collect();
        let more = fixed.iter().flat_map(|(e, x)| {
            symbols.iter().map(|(s, y)| (s.clone() * e.clone(), times(x, y))).collect::<Vec<_>>()
        });
        let by_dims: Vec<_> = by_dims.collect();
        let fixed = fixed.iter().cloned().chain(more).collect();
        let bounds = Bounds::new(&all, long, &symbols, sizes);
        let mut by_extents = HashMap::new();
        for (i, (_, extents)) in products.iter().enumerate() {
            by_extents.entry(extents.clone()).or_insert(i);
        }
        Self {
            still,
            products,
            quotients: by_dims,
            fixed,
            bounds,
            by_extents,
            known: RefCell::default(),
            order,
        }
    }

    /// The simplest expression with these extents, one a run; `None` where none is known.
    pub fn expression(&self, extents: &[usize]) -> Option<Expr> {
        let extents: Extents = extents.iter().map(|&n| n as i64).collect();
        if let Some(known) = self.known.borrow().get(&extents) {
            return known.clone();
        }
        let long = extents.iter().take(self.bounds.long).copied().collect();
        let plain = self.search(&long);
        // What the short runs do not obey is bounded, or else is no law of theirs.
        let found = match plain {
            Some(plain) if self.bounds.obey(&plain, &extents) => Some(plain),
            plain => self.bounds.search(&extents).or(plain),
        };
        let found = found.map(|e| e.ordered_by(&self.order));
        self.known.borrow_mut().insert(extents, found.clone());
        found
    }

    fn search(&self, extents: &Extents) -> Option<Expr> {
        let quotient = || self.quotients.iter().find(|(_, x)| x == extents).map(|(e, _)| e.clone());
        let still = || self.still.iter().find(|(_, x)| x == extents).map(|(e, _)| e.clone());
        self.product(extents)
            .or_else(still)
            .or_else(|| constant(extents))
            .or_else(|| self.multiple(extents))
            .or_else(|| self.two_terms(extents))
            .or_else(|| self.multiple_and_rest(extents))
            .or_else(quotient)
            .or_else(|| self.three_terms(extents))
            .or_else(|| self.quotient_and_constant(extents))
            .or_else(|| self.fixed.iter().find(|(_, x)| x == extents).map(|(e, _)| e.clone()))
    }

    fn product(&self, extents: &Extents) -> Option<Expr> {
        self.by_extents.get(extents).and_then(|&i| self.products.get(i)).map(|(e, _)| e.clone())
    }

    /// A constant times a product.
    fn multiple(&self, extents: &Extents) -> Option<Expr> {
        self.products.iter().find_map(|(e, x)| {
            let factor = ratio(extents, x).filter(|&f| f > 1)?;
            Some(Expr::constant(factor) * e.clone())
        })
    }

    fn quotient_and_constant(&self, extents: &Extents) -> Option<Expr> {
        self.quotients.iter().filter(|(e, _)| degree(e) <= 2).find_map(|(e, x)| {
            let rest = constant(&minus(extents, x)).filter(|_| small(&minus(extents, x)))?;
            Some(e.clone() + rest)
        })
    }
}

/// The number of factors of a product.
fn degree(product: &Expr) -> usize {
    product.to_string().matches('·').count() + 1
}

fn constant(extents: &Extents) -> Option<Expr> {
    let first = *extents.first()?;
    extents.iter().all(|&n| n == first).then(|| Expr::constant(first))
}

fn ratio(extents: &Extents, x: &Extents) -> Option<i64> {
    let factor = extents.first()?.checked_div(*x.first()?)?;
    extents.iter().zip(x).all(|(n, m)| *n == factor * m).then_some(factor)
}

fn times(x: &Extents, y: &Extents) -> Extents {
    x.iter().zip(y).map(|(a, b)| a.saturating_mul(*b)).collect()
}

fn minus(x: &Extents, y: &Extents) -> Extents {
    x.iter().zip(y).map(|(a, b)| a - b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(expression: &str) -> String {
        let base = [
            ("b", 3),
            ("l", 17),
            ("d", 10),
            ("i", 20),
            ("h", 4),
            ("n", 6),
            ("g", 2),
            ("k", 5),
            ("q", 7),
        ];
        let dims = |(bumped, by): (usize, usize)| {
            base.iter().enumerate().fold(Dims::new(), |dims, (i, (symbol, n))| {
                dims.with(*symbol, if i == bumped { n + by } else { *n })
            })
        };
        let bumps = [11, 16].into_iter().flat_map(|by| (0..=base.len()).map(move |i| (i, by)));
        let runs: Vec<Dims> = bumps.rev().map(dims).collect();
        let wanted: Expr = expression.parse().unwrap();
        let extents: Vec<usize> = runs.iter().map(|d| wanted.eval(d).unwrap() as usize).collect();
        Fit::new(&runs, runs.len(), &["b", "l"])
            .expression(&extents)
            .map(|e| e.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn the_expression_behind_the_extents_is_found() {
        for wanted in [
            "b",
            "l",
            "4",
            "b·l",
            "b·h·n",
            "2·n",
            "l - 1",
            "l + k - 1",
            "ceil(l/q)",
            "q·ceil(l/q)",
            "i + 2·g·n",
            "2·i + 2·g·n + h",
            "b·ceil(l/q)",
            "ceil(l/q) - 1",
            "4·ceil(l/4)",
            "ceil((l - 1)/2)",
            "b·ceil(l/4)",
            "d·ceil((l - 2)/3)",
            "l + 1",
            "ceil(n/2)",
            "ceil((n - 1)/2)",
            "b·ceil((d - 2)/3)",
            "16·n + 2",
            "3·n - 5",
            "5·i + h",
        ] {
            let (wanted, found): (Expr, String) = (wanted.parse().unwrap(), fitted(wanted));
            assert_eq!(found.parse::<Expr>().as_ref(), Ok(&wanted), "found {found}");
        }
    }

    /// Every length that a window bounds is what it is in a short run.
    #[test]
    fn a_bounded_length_is_found_by_short_runs() {
        let dims = |(b, l, k, d)| Dims::new().with("b", b).with("l", l).with("k", k).with("d", d);
        let long = [(3, 41, 4, 10), (5, 41, 4, 10), (3, 67, 4, 10), (3, 41, 6, 10), (3, 54, 5, 12)];
        let short = [2, 3, 5].map(|l| (3, l, 4, 10));
        let runs: Vec<Dims> = long.into_iter().chain(short).map(dims).collect();
        let fit = Fit::new(&runs, long.len(), &["b", "l"]);
        for wanted in
            ["l", "min(l, 6)", "min(l, k - 1)", "b·min(l, k)", "max(l - 3, 1)", "min(l, 48)", "k"]
        {
            let wanted: Expr = wanted.parse().unwrap();
            let extents: Vec<usize> =
                runs.iter().map(|d| wanted.eval(d).unwrap() as usize).collect();
            assert_eq!(fit.expression(&extents), Some(wanted));
        }
    }

    #[test]
    fn what_no_expression_explains_is_not_explained() {
        let runs = [Dims::new().with("b", 3), Dims::new().with("b", 5)];
        assert_eq!(Fit::new(&runs, 2, &["b"]).expression(&[7, 911]), None);
    }
}
