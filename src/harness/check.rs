//! Checks: what a study shows that should not be, as data.
//!
//! A check looks at one point, at a pair of points, or runs the model again; what it finds is a [`Finding`], which knows
//! nothing of text. [`crate::harness::report`] says it.

pub mod align;
pub mod cause;
pub mod failed;
mod finding;
pub mod finite;
pub mod gradients;
pub mod scans;
pub mod shapes;
pub mod tally;

pub use finding::*;

/// The checks there are, in the order in which a case's trials are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    /// Contract, then law over all points, then baseline.
    Shapes,
    /// Every parameter has a gradient of its own shape, finite, and not zero everywhere.
    Gradients,
    /// No value is NaN or infinite.
    Finite,
    /// The model and its reference agree, values and gradients.
    Scans,
    /// A subject with a known fault: the checks that the case names find it, and the right twin is clean.
    Caught,
}

/// How a check sees the points of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arity {
    /// Each by itself.
    Point,
    /// Two runs of the same point against each other.
    Pair,
    /// The points, and runs of its own beside them.
    Rerun,
}

impl Check {
    /// Those that a case can name.
    pub const ALL: [Self; 4] = [Self::Shapes, Self::Gradients, Self::Finite, Self::Scans];

    /// The name that cases and trials use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Shapes => "shapes",
            Self::Gradients => "gradients",
            Self::Finite => "finite",
            Self::Scans => "scans",
            Self::Caught => "caught",
        }
    }

    /// The check of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|check| check.name() == name)
    }

    /// How it sees the points.
    pub fn arity(self) -> Arity {
        match self {
            Self::Shapes | Self::Caught => Arity::Rerun,
            Self::Gradients | Self::Finite => Arity::Point,
            Self::Scans => Arity::Pair,
        }
    }
}
