//! The text of expressions, which [`parse`](super::parse) reads back without loss.
use std::fmt;

use super::Expr;
use super::expr::{Atom, Term};

impl fmt::Display for Expr {
    /// `2·i + 2·g·n + h`, in the order as written. An expression whose arithmetic went wrong is `?`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.error().is_some() {
            return f.write_str("?");
        }
        if self.terms().is_empty() {
            return f.write_str("0");
        }
        for (index, term) in self.terms().iter().enumerate() {
            let sign = match (index, term.coefficient < 0) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            };
            write!(f, "{sign}{term}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Term {
    /// The product without its sign.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.coefficient.unsigned_abs();
        if size != 1 || self.factors.is_empty() {
            write!(f, "{size}")?;
        }
        for (index, factor) in self.factors.iter().enumerate() {
            let dot = if index == 0 && size == 1 { "" } else { "·" };
            write!(f, "{dot}{factor}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Atom::Dim(symbol) => f.write_str(symbol),
            Atom::Bound(bound, left, right) => write!(f, "{}({left}, {right})", bound.word()),
            Atom::Ceil(value, by) => {
                f.write_str("ceil(")?;
                side(f, value, is_product(value))?;
                f.write_str("/")?;
                side(f, by, is_factor(by))?;
                f.write_str(")")
            }
        }
    }
}

/// One side of a division, in parentheses where the slash would bind tighter than what it holds.
fn side(f: &mut fmt::Formatter<'_>, expr: &Expr, bare: bool) -> fmt::Result {
    if bare { write!(f, "{expr}") } else { write!(f, "({expr})") }
}

fn is_product(expr: &Expr) -> bool {
    matches!(expr.terms(), [] | [Term { coefficient: 1.., .. }])
}

fn is_factor(expr: &Expr) -> bool {
    match expr.terms() {
        [] => true,
        [Term { factors, coefficient: 1 }] => factors.len() <= 1,
        [Term { factors, coefficient: 2.. }] => factors.is_empty(),
        _ => false,
    }
}
