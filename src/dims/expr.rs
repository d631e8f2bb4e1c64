//! One axis as a sum of products of dims.

use super::bound::Bound;
use super::{Dims, DimsError, is_symbol};

/// Terms that an expression may have. Axes are short; the limit keeps products of sums from growing without bound.
pub(super) const MAX_TERMS: usize = 32;
/// Factors that one product may have.
const MAX_FACTORS: usize = 32;
/// Levels of `ceil`, `min` and `max` inside one another.
pub(super) const MAX_LEVELS: usize = 8;

/// An axis: a sum of coefficient × product of dims, ceiling divisions and bounds, such as `2·i + 2·g·n + h`, `ceil(l/q)·q`
/// or `min(l, 6)`.
///
/// Sums and products are kept in normal form: like terms are merged, zero terms are gone. Two expressions are equal if
/// their normal forms are, in whatever order they were written; text keeps the order as written, and
/// [`Expr::ordered_by`] puts it into the declared order of dims.
///
/// Arithmetic does not panic and does not wrap: an expression that grows too large, or a symbol that cannot be written,
/// makes the result one whose [`eval`](Expr::eval) is the error.
///
/// ```
/// use shapelock::dims::{Dims, Expr};
///
/// let padded = Expr::dim("l").ceil_div(&Expr::dim("q")) * Expr::dim("q");
/// assert_eq!(padded.to_string(), "ceil(l/q)·q");
/// assert_eq!(padded.eval(&Dims::new().with("l", 60).with("q", 16)), Ok(64));
/// assert_eq!("q·ceil(l/q)".parse(), Ok(padded));
/// ```
#[derive(Clone, Debug)]
pub struct Expr(pub(super) Result<Vec<Term>, DimsError>);

/// A coefficient, never zero, times factors in the order as written.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Term {
    pub(super) factors: Vec<Atom>,
    pub(super) coefficient: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Atom {
    Dim(String),
    Ceil(Box<Expr>, Box<Expr>),
    /// The smaller or larger of two.
    Bound(Bound, Box<Expr>, Box<Expr>),
}

impl Expr {
    /// A fixed number. [`i64::MIN`] has no counterpart above zero and is too large.
    pub fn constant(value: i64) -> Self {
        Self::sum(vec![Term { factors: vec![], coefficient: value }])
    }

    /// A dim by its symbol.
    pub fn dim(symbol: &str) -> Self {
        if !is_symbol(symbol) {
            return Self(Err(DimsError::Symbol(symbol.to_owned())));
        }
        Self::atom(Atom::Dim(symbol.to_owned()))
    }

    /// `ceil(self/divisor)`, simplified where the division is exact.
    #[must_use]
    pub fn ceil_div(&self, divisor: &Self) -> Self {
        for side in [self, divisor] {
            if let Err(error) = &side.0 {
                return Self(Err(error.clone()));
            }
        }
        if let (Some(value), Some(by @ 1..)) = (self.as_constant(), divisor.as_constant()) {
            return Self::constant(ceil_div(value, by));
        }
        if let Some(quotient) = self.exact_quotient(divisor) {
            return quotient;
        }
        if self.levels().max(divisor.levels()) >= MAX_LEVELS {
            return Self(Err(DimsError::Overflow));
        }
        Self::atom(Atom::Ceil(Box::new(self.clone()), Box::new(divisor.clone())))
    }

    /// The value at `dims`.
    ///
    /// # Errors
    /// A symbol that is not bound, a divisor below 1, or a number beyond `i64`.
    pub fn eval(&self, dims: &Dims) -> Result<i64, DimsError> {
        let mut sum = 0i64;
        for term in self.0.as_ref().map_err(Clone::clone)? {
            let mut product = term.coefficient;
            for factor in &term.factors {
                product = product.checked_mul(factor.eval(dims)?).ok_or(DimsError::Overflow)?;
            }
            sum = sum.checked_add(product).ok_or(DimsError::Overflow)?;
        }
        Ok(sum)
    }

    /// The symbols in it, each once, in the order of their first appearance.
    pub fn symbols(&self) -> Vec<&str> {
        let mut symbols = vec![];
        for factor in self.terms().iter().flat_map(|term| &term.factors) {
            for symbol in factor.symbols() {
                if !symbols.contains(&symbol) {
                    symbols.push(symbol);
                }
            }
        }
        symbols
    }

    /// Its number, if it has no dim in it.
    pub fn as_constant(&self) -> Option<i64> {
        match self.0.as_deref() {
            Ok([]) => Some(0),
            Ok([Term { factors, coefficient }]) if factors.is_empty() => Some(*coefficient),
            _ => None,
        }
    }

    /// Its symbol, if it is one dim and nothing else.
    pub fn as_dim(&self) -> Option<&str> {
        match self.0.as_deref() {
            Ok([Term { factors, coefficient: 1 }]) => match factors.as_slice() {
                [Atom::Dim(symbol)] => Some(symbol),
                _ => None,
            },
            _ => None,
        }
    }

    /// Why it has no value at any dims, if arithmetic on it went wrong.
    pub fn error(&self) -> Option<&DimsError> {
        self.0.as_ref().err()
    }

    pub(super) fn atom(atom: Atom) -> Self {
        Self(Ok(vec![Term { factors: vec![atom], coefficient: 1 }]))
    }

    /// Merges like terms, in the order of their first appearance.
    pub(super) fn sum(terms: Vec<Term>) -> Self {
        let mut merged: Vec<(Vec<Atom>, Term)> = vec![];
        for term in terms {
            let mut like = term.factors.clone();
            like.sort();
            let Some((_, known)) = merged.iter_mut().find(|(key, _)| *key == like) else {
                merged.push((like, term));
                continue;
            };
            match known.coefficient.checked_add(term.coefficient) {
                Some(sum) => known.coefficient = sum,
                None => return Self(Err(DimsError::Overflow)),
            }
        }
        let terms = merged.into_iter().map(|(_, term)| term).filter(|term| term.coefficient != 0);
        let terms: Vec<Term> = terms.collect();
        let too_large =
            |term: &Term| term.factors.len() > MAX_FACTORS || term.coefficient == i64::MIN;
        if terms.len() > MAX_TERMS || terms.iter().any(too_large) {
            return Self(Err(DimsError::Overflow));
        }
        Self(Ok(terms))
    }

    /// `self / divisor` where the divisor is one product that every term holds.
    fn exact_quotient(&self, divisor: &Self) -> Option<Self> {
        let [by] = divisor.terms() else { return None };
        if by.coefficient < 1 {
            return None;
        }
        let quotients = self.terms().iter().map(|term| {
            let mut factors = term.factors.clone();
            for factor in &by.factors {
                let place = factors.iter().position(|known| known == factor)?;
                factors.remove(place);
            }
            let exact = term.coefficient % by.coefficient == 0;
            exact.then(|| Term { factors, coefficient: term.coefficient / by.coefficient })
        });
        quotients.collect::<Option<Vec<_>>>().map(Self::sum)
    }

    pub(super) fn levels(&self) -> usize {
        let factors = self.terms().iter().flat_map(|term| &term.factors);
        let levels = factors.map(|factor| match factor {
            Atom::Dim(_) => 0,
            Atom::Ceil(left, right) | Atom::Bound(_, left, right) => {
                1 + left.levels().max(right.levels())
            }
        });
        levels.max().unwrap_or(0)
    }

    pub(super) fn terms(&self) -> &[Term] {
        self.0.as_deref().unwrap_or(&[])
    }

    /// The normal form, in which equal expressions are the same.
    pub(super) fn canonical(&self) -> Result<Vec<Term>, &DimsError> {
        let mut terms = self.0.as_ref()?.clone();
        terms.iter_mut().for_each(|term| term.factors.sort());
        terms.sort();
        Ok(terms)
    }
}

impl Atom {
    fn eval(&self, dims: &Dims) -> Result<i64, DimsError> {
        match self {
            Atom::Dim(symbol) => {
                let unknown =
                    || DimsError::Unknown { symbol: symbol.clone(), dims: dims.to_string() };
                let value = dims.get(symbol).ok_or_else(unknown)?;
                i64::try_from(value).map_err(|_| DimsError::Overflow)
            }
            Atom::Bound(bound, left, right) => bound.eval(left, right, dims),
            Atom::Ceil(value, by) => match by.eval(dims)? {
                divisor @ 1.. => Ok(ceil_div(value.eval(dims)?, divisor)),
                value => {
                    let divisor = by.to_string();
                    Err(DimsError::Divisor { divisor, value, dims: dims.to_string() })
                }
            },
        }
    }

    pub(super) fn symbols(&self) -> Vec<&str> {
        match self {
            Atom::Dim(symbol) => vec![symbol],
            Atom::Ceil(left, right) | Atom::Bound(_, left, right) => {
                [left.symbols(), right.symbols()].concat()
            }
        }
    }
}

/// Rounds towards positive infinity; `by` is at least 1, so neither step can overflow.
fn ceil_div(value: i64, by: i64) -> i64 {
    value.div_euclid(by) + i64::from(value.rem_euclid(by) != 0)
}
