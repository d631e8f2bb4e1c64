//! A shape as expressions, one an axis.
use std::fmt;
use std::str::FromStr;

use super::parse::{self, ParseError};
use super::{Dims, DimsError, Expr};

/// The axes of one tensor, outermost first; a scalar has none.
///
/// Two notations: the one shown, `(b, l, h·p)`, which [`FromStr`] reads; and the one of contracts, `b l (h p)`, which
/// [`Axes::parse_contract`] reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Axes(pub Vec<Expr>);

impl Axes {
    /// Reads a contract: axes with white space between them; `(h p)` is the product of what is inside; an axis may be
    /// an expression without spaces (`2*i+h`, `l-1`, `ceil(l/q)`, `1`); `()` is a scalar.
    ///
    /// # Errors
    /// Text of another form, with the column of the first character that does not fit.
    pub fn parse_contract(text: &str) -> Result<Self, ParseError> {
        parse::contract(text).map(Self)
    }

    /// The extents at `dims`.
    ///
    /// # Errors
    /// An axis without a value there, or with one below zero.
    pub fn eval(&self, dims: &Dims) -> Result<Vec<usize>, DimsError> {
        let extents = self.0.iter().map(|axis| {
            let value = axis.eval(dims)?;
            usize::try_from(value).map_err(|_| DimsError::NegativeAxis {
                axis: axis.to_string(),
                value,
                dims: dims.to_string(),
            })
        });
        extents.collect()
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// The symbols in all axes, each once, in the order of their first appearance.
    pub fn symbols(&self) -> Vec<&str> {
        let mut symbols = vec![];
        for symbol in self.0.iter().flat_map(Expr::symbols) {
            if !symbols.contains(&symbol) {
                symbols.push(symbol);
            }
        }
        symbols
    }

    /// The same axes, each in the declared order of `dims` (see [`Expr::ordered_by`]).
    #[must_use]
    pub fn ordered_by(&self, dims: &Dims) -> Self {
        self.0.iter().map(|axis| axis.ordered_by(dims)).collect()
    }
}

impl FromIterator<Expr> for Axes {
    fn from_iter<I: IntoIterator<Item = Expr>>(axes: I) -> Self {
        Self(axes.into_iter().collect())
    }
}

impl fmt::Display for Axes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (index, axis) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{axis}")?;
        }
        f.write_str(")")
    }
}

impl FromStr for Axes {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse::axes(text).map(Self)
    }
}
