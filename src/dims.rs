//! Named dims (`b`, `l`, `d`, …), expressions over them, and the notation of shapes.
//!
//! | type | text | meaning |
//! |---|---|---|
//! | [`Dims`] | `b=8 l=60 d=256` | what each symbol is at one point |
//! | [`Expr`] | `2·i + 2·g·n + h` | one axis |
//! | [`Axes`] | `(b, l, n)`, as a contract `b l n` | one shape |
//! | [`Condition`] | `b > 1 and l == 1` | where something holds |
//!
//! Each text is lossless: parsing what was displayed gives back an equal value. Nothing here knows of tensors, and no
//! input makes it panic: arithmetic that leaves `i64` is a [`DimsError`].
//!
//! ```
//! use shapelock::dims::{Axes, Dims};
//!
//! let dims = Dims::new().with("b", 8).with("l", 60).with("h", 4).with("p", 64);
//! let axes = Axes::parse_contract("b l (h p)")?;
//! assert_eq!(axes.to_string(), "(b, l, h·p)");
//! assert_eq!(axes.eval(&dims)?, [8, 60, 256]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod axes;
mod bound;
mod condition;
mod cursor;
mod expr;
mod lex;
mod ops;
mod order;
mod parse;
mod render;

use std::fmt;

pub use axes::Axes;
pub use condition::{Comparison, Condition};
pub use expr::Expr;
pub use parse::{ParseError, is_symbol};

/// What each symbol is at one point, in the order in which the dims were declared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Dims(Vec<(String, usize)>);

impl Dims {
    /// No dims.
    pub fn new() -> Self {
        Self::default()
    }

    /// Binds `symbol` to `value`. A symbol that is bound already keeps its place and takes the new value.
    #[must_use]
    pub fn with(mut self, symbol: impl Into<String>, value: usize) -> Self {
        let symbol = symbol.into();
        match self.0.iter_mut().find(|(known, _)| *known == symbol) {
            Some(bound) => bound.1 = value,
            None => self.0.push((symbol, value)),
        }
        self
    }

    /// The value of `symbol`, if it is bound.
    pub fn get(&self, symbol: &str) -> Option<usize> {
        self.iter().find(|(known, _)| *known == symbol).map(|(_, value)| value)
    }

    /// The place of `symbol` in the declared order.
    pub fn position(&self, symbol: &str) -> Option<usize> {
        self.0.iter().position(|(known, _)| known == symbol)
    }

    /// Symbols and values in the declared order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, usize)> + Clone {
        self.0.iter().map(|(symbol, value)| (symbol.as_str(), *value))
    }

    /// How many symbols are bound.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no symbol is bound.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<S: Into<String>> FromIterator<(S, usize)> for Dims {
    fn from_iter<I: IntoIterator<Item = (S, usize)>>(pairs: I) -> Self {
        pairs.into_iter().fold(Self::new(), |dims, (symbol, value)| dims.with(symbol, value))
    }
}

impl fmt::Display for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (symbol, value)) in self.iter().enumerate() {
            let gap = if index == 0 { "" } else { " " };
            write!(f, "{gap}{symbol}={value}")?;
        }
        Ok(())
    }
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
pub enum DimsError {
    /// A symbol that the dims do not bind.
    #[error("`{symbol}` is not a dim; dims bound: {dims}")]
    Unknown {
        /// The symbol as written.
        symbol: String,
        /// The dims that are bound, as text.
        dims: String,
    },
    /// A number, or an expression, beyond what is kept.
    #[error(
        "expression too large: more than {} terms, or a number beyond 64 bits",
        expr::MAX_TERMS
    )]
    Overflow,
    /// A ceiling division by zero or by a negative number.
    #[error("division by {divisor} = {value}, expected at least 1; dims bound: {dims}")]
    Divisor {
        /// The divisor as an expression.
        divisor: String,
        /// Its value.
        value: i64,
        /// The dims that are bound, as text.
        dims: String,
    },
    /// An axis that comes out negative.
    #[error("axis {axis} = {value}, expected at least 0; dims bound: {dims}")]
    NegativeAxis {
        /// The axis as an expression.
        axis: String,
        /// Its value.
        value: i64,
        /// The dims that are bound, as text.
        dims: String,
    },
    /// A symbol that the notation cannot write.
    #[error(
        "`{0}` cannot be a dim: a letter or `_`, then letters, digits or `_`, and not a word of the notation"
    )]
    Symbol(String),
}
