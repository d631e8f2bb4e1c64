//! Checks: what a study shows that should not be, as data.
//!
//! A check looks at one point, at a pair of points, or runs the model again; what it finds is a [`Finding`], which knows
//! nothing of text. [`crate::harness::report`] says it.

pub mod align;
pub mod along;
pub mod batch;
pub mod broadcast;
pub mod causal;
pub mod cause;
pub mod continuation;
pub mod determinism;
pub mod device;
mod disagreement;
pub mod dtype;
pub mod failed;
mod finding;
pub mod finite;
pub mod gradcheck;
pub mod gradients;
pub mod layout;
pub mod lints;
pub mod pairs;
pub mod scans;
pub mod shapes;
mod skipped;
pub mod tally;
mod watched;

pub use disagreement::*;
pub use finding::*;

use super::case::Case;
use super::subject::AnySubject;

/// The checks there are, in the order in which a case's trials are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    /// Contract, then law over all points, then baseline.
    Shapes,
    /// Every parameter has a gradient of its own shape, finite, and not zero everywhere.
    Gradients,
    /// No value is NaN or infinite.
    Finite,
    /// Rows of a batch have nothing to do with one another.
    Batch,
    /// Nothing depends on later places of the sequence.
    Causal,
    /// A sequence read in pieces is the sequence read as a whole.
    Continuation,
    /// The model and its definition agree, values and gradients.
    Scans,
    /// The model and another subject agree, values and gradients.
    Reference,
    /// Strided tensors give what contiguous ones give.
    Layout,
    /// Gradients are what finite differences show.
    Gradcheck,
    /// The number format goes through the whole model.
    Dtype,
    /// Two runs give the same bits.
    Determinism,
    /// A device gives what the CPU does.
    Device,
    /// An axis of 1 that is repeated is meant.
    Broadcast,
    /// The op graph shows nothing that is seldom meant.
    Lints,
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
    pub const ALL: [Self; 15] = [
        Self::Shapes,
        Self::Gradients,
        Self::Finite,
        Self::Batch,
        Self::Causal,
        Self::Continuation,
        Self::Scans,
        Self::Reference,
        Self::Layout,
        Self::Gradcheck,
        Self::Dtype,
        Self::Determinism,
        Self::Device,
        Self::Broadcast,
        Self::Lints,
    ];

    /// The name that cases and trials use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Shapes => "shapes",
            Self::Gradients => "gradients",
            Self::Finite => "finite",
            Self::Batch => "batch",
            Self::Causal => "causal",
            Self::Continuation => "continuation",
            Self::Scans => "scans",
            Self::Reference => "reference",
            Self::Layout => "layout",
            Self::Gradcheck => "gradcheck",
            Self::Dtype => "dtype",
            Self::Determinism => "determinism",
            Self::Device => "device",
            Self::Broadcast => "broadcast",
            Self::Lints => "lints",
            Self::Caught => "caught",
        }
    }

    /// The check of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|check| check.name() == name)
    }

    /// Whether it is made only where a case names it.
    pub fn is_opt_in(self) -> bool {
        use Check::{Broadcast, Determinism, Device, Dtype, Gradcheck, Layout, Lints};
        matches!(self, Layout | Gradcheck | Dtype | Determinism | Device | Broadcast | Lints)
    }

    /// What of the case or its subject it needs and does not find; nothing where it can be made.
    pub fn lacks(self, case: &Case, subject: &dyn AnySubject) -> Option<String> {
        let name = subject.name();
        let has_size = |size: &str| subject.sizes().iter().any(|(own, _)| *own == size);
        let seq = case.matrix.sizes.iter().find(|(own, _)| own.value == "seq");
        let is_long = seq.is_none_or(|(_, values)| values.iter().any(|l| *l > 1));
        if matches!(self, Self::Causal | Self::Continuation) && has_size("seq") && !is_long {
            let check = self.name();
            return Some(format!("`{check}` needs a `seq` of at least 2, and the matrix has none"));
        }
        let (has, what) = match self {
            Self::Batch => (
                has_size("batch") && subject.has_independent_rows(),
                format!("`batch` needs a size `batch` and independent rows, which `{name}` does not have"),
            ),
            Self::Causal => (
                has_size("seq") && subject.is_causal(),
                format!("`causal` needs a size `seq` and a causal model, and `{name}` says `is_causal` of none"),
            ),
            Self::Continuation => (
                has_size("seq") && subject.has_state(),
                format!("`continuation` reads on from a state, and `{name}` has none"),
            ),
            Self::Scans => (
                subject.has_reference(),
                format!("`scans` compares with a reference, and `{name}` has none"),
            ),
            Self::Reference => (
                case.reference().is_some(),
                "`reference` compares with another subject, and the case names none: add `reference: NAME`".into(),
            ),
            _ => return None,
        };
        (!has).then_some(what)
    }

    /// How it sees the points.
    pub fn arity(self) -> Arity {
        match self {
            Self::Shapes | Self::Caught => Arity::Rerun,
            Self::Gradients | Self::Finite => Arity::Point,
            _ => Arity::Pair,
        }
    }
}
