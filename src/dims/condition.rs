//! Where something holds, as a comparison of expressions.
use std::fmt;
use std::str::FromStr;

use super::parse::{self, ParseError};
use super::{Dims, DimsError, Expr};

/// A condition on dims: comparisons joined by `and` and `or`, of which `and` binds tighter.
///
/// ```
/// use shapelock::dims::{Condition, Dims};
///
/// let condition: Condition = "b > 1 and l == 1".parse()?;
/// assert!(condition.eval(&Dims::new().with("b", 8).with("l", 1))?);
/// assert_eq!(condition.to_string(), "b > 1 and l == 1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Condition(Node);

/// Kept flat: no `All` directly in an `All`, no `Any` directly in an `Any`, at least two parts in each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Node {
    Compare(Expr, Comparison, Expr),
    All(Vec<Condition>),
    Any(Vec<Condition>),
}

/// How two expressions are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

impl Condition {
    /// `left comparison right`.
    pub fn compare(left: Expr, comparison: Comparison, right: Expr) -> Self {
        Self(Node::Compare(left, comparison, right))
    }

    /// Both hold.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let parts = [self, other].into_iter().flat_map(|condition| match condition.0 {
            Node::All(parts) => parts,
            node => vec![Self(node)],
        });
        Self(Node::All(parts.collect()))
    }

    /// At least one holds.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let parts = [self, other].into_iter().flat_map(|condition| match condition.0 {
            Node::Any(parts) => parts,
            node => vec![Self(node)],
        });
        Self(Node::Any(parts.collect()))
    }

    /// Whether it holds at `dims`. Every part is evaluated, so that an unknown symbol is found wherever it stands.
    ///
    /// # Errors
    /// An expression without a value there.
    pub fn eval(&self, dims: &Dims) -> Result<bool, DimsError> {
        match &self.0 {
            Node::Compare(left, comparison, right) => {
                Ok(comparison.holds(left.eval(dims)?, right.eval(dims)?))
            }
            Node::All(parts) => {
                parts.iter().try_fold(true, |all, part| Ok(part.eval(dims)? && all))
            }
            Node::Any(parts) => {
                parts.iter().try_fold(false, |any, part| Ok(part.eval(dims)? || any))
            }
        }
    }

    /// The symbols in it, each once, in the order of their first appearance.
    pub fn symbols(&self) -> Vec<&str> {
        let found = match &self.0 {
            Node::Compare(left, _, right) => [left.symbols(), right.symbols()].concat(),
            Node::All(parts) | Node::Any(parts) => {
                parts.iter().flat_map(Condition::symbols).collect()
            }
        };
        let mut symbols = vec![];
        for symbol in found {
            if !symbols.contains(&symbol) {
                symbols.push(symbol);
            }
        }
        symbols
    }
}

impl Comparison {
    /// All comparisons, those of two characters first, so that `<=` is not read as `<`.
    pub(super) const ALL: [Self; 6] =
        [Self::Equal, Self::NotEqual, Self::AtMost, Self::AtLeast, Self::Less, Self::Greater];

    /// The sign, as in the text of a condition.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Greater => ">",
            Self::AtLeast => ">=",
        }
    }

    fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::Less => left < right,
            Self::AtMost => left <= right,
            Self::Greater => left > right,
            Self::AtLeast => left >= right,
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (parts, word) = match &self.0 {
            Node::Compare(left, comparison, right) => {
                return write!(f, "{left} {} {right}", comparison.sign());
            }
            Node::All(parts) => (parts, "and"),
            Node::Any(parts) => (parts, "or"),
        };
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                write!(f, " {word} ")?;
            }
            match (&self.0, &part.0) {
                (Node::All(_), Node::Any(_)) => write!(f, "({part})")?,
                _ => write!(f, "{part}")?,
            }
        }
        Ok(())
    }
}

impl FromStr for Condition {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse::condition(text)
    }
}
