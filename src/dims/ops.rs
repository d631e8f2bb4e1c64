//! Arithmetic and equality of expressions.
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::ops::{Add, Mul, Neg, Sub};

use super::DimsError;
use super::expr::{Expr, MAX_TERMS, Term};

impl From<i64> for Expr {
    fn from(value: i64) -> Self {
        Self::constant(value)
    }
}

impl From<&Expr> for Expr {
    fn from(expr: &Expr) -> Self {
        expr.clone()
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $function:ident) => {
        impl<R: Into<Expr>> $trait<R> for Expr {
            type Output = Expr;
            fn $method(self, right: R) -> Expr {
                $function(self, right.into())
            }
        }

        impl<R: Into<Expr>> $trait<R> for &Expr {
            type Output = Expr;
            fn $method(self, right: R) -> Expr {
                $function(self.clone(), right.into())
            }
        }
    };
}

operator!(Add, add, sum);
operator!(Sub, sub, difference);
operator!(Mul, mul, product);

impl Neg for Expr {
    type Output = Expr;
    fn neg(self) -> Expr {
        product(self, Expr::constant(-1))
    }
}

fn sum(left: Expr, right: Expr) -> Expr {
    match (left.0, right.0) {
        (Ok(mut terms), Ok(more)) => {
            terms.extend(more);
            Expr::sum(terms)
        }
        (Err(error), _) | (_, Err(error)) => Expr(Err(error)),
    }
}

fn difference(left: Expr, right: Expr) -> Expr {
    sum(left, -right)
}

fn product(left: Expr, right: Expr) -> Expr {
    let (left, right) = match (left.0, right.0) {
        (Ok(left), Ok(right)) => (left, right),
        (Err(error), _) | (_, Err(error)) => return Expr(Err(error)),
    };
    let mut terms = Vec::with_capacity((left.len() * right.len()).min(MAX_TERMS));
    for a in &left {
        for b in &right {
            let Some(coefficient) = a.coefficient.checked_mul(b.coefficient) else {
                return Expr(Err(DimsError::Overflow));
            };
            terms.push(Term { factors: [&a.factors[..], &b.factors[..]].concat(), coefficient });
        }
    }
    Expr::sum(terms)
}

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        self.canonical() == other.canonical()
    }
}

impl Eq for Expr {}

impl Hash for Expr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.canonical().hash(state);
    }
}

impl PartialOrd for Expr {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Expr {
    fn cmp(&self, other: &Self) -> Ordering {
        self.canonical().cmp(&other.canonical())
    }
}
