//! The smaller or larger of two expressions: windows, and lengths that are padded up to a least one.
use super::expr::{Atom, Expr, MAX_LEVELS};
use super::{Dims, DimsError};

/// Which of two values is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Bound {
    Min,
    Max,
}

impl Expr {
    /// `min(self, other)`, simplified where both are numbers or the same.
    #[must_use]
    pub fn min_with(&self, other: &Self) -> Self {
        bounded(Bound::Min, self, other)
    }

    /// `max(self, other)`, simplified where both are numbers or the same.
    #[must_use]
    pub fn max_with(&self, other: &Self) -> Self {
        bounded(Bound::Max, self, other)
    }
}

impl Bound {
    pub(super) const ALL: [Self; 2] = [Self::Min, Self::Max];

    /// The word of the notation.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Min => "min",
            Self::Max => "max",
        }
    }

    pub(super) fn of(self, left: &Expr, right: &Expr) -> Expr {
        bounded(self, left, right)
    }

    pub(super) fn eval(self, left: &Expr, right: &Expr, dims: &Dims) -> Result<i64, DimsError> {
        let (left, right) = (left.eval(dims)?, right.eval(dims)?);
        Ok(self.taken(left, right))
    }

    fn taken(self, left: i64, right: i64) -> i64 {
        match self {
            Self::Min => left.min(right),
            Self::Max => left.max(right),
        }
    }
}

/// Both sides stand in one order, a number last, so that equal expressions are the same.
fn bounded(bound: Bound, left: &Expr, right: &Expr) -> Expr {
    for side in [left, right] {
        if let Err(error) = &side.0 {
            return Expr(Err(error.clone()));
        }
    }
    if let (Some(left), Some(right)) = (left.as_constant(), right.as_constant()) {
        return Expr::constant(bound.taken(left, right));
    }
    if left == right {
        return left.clone();
    }
    if left.levels().max(right.levels()) >= MAX_LEVELS {
        return Expr(Err(DimsError::Overflow));
    }
    let key = |side: &Expr| side.as_constant().is_some();
    let swapped = (key(left), left) > (key(right), right);
    let (first, second) = if swapped { (right, left) } else { (left, right) };
    Expr::atom(Atom::Bound(bound, Box::new(first.clone()), Box::new(second.clone())))
}
