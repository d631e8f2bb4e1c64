//! What comes of a trial.

use super::check::Finding;
use super::snapshot::Snapshot;
use super::study::Cut;
use crate::trace::Coverage;

use std::fmt;

/// How much of a model the trace shows, where that is not all: `sees 8 tensors, and nothing of what made 3 of them`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sight {
    /// Tensors that the graph shows.
    pub seen: usize,
    /// Tensors whose origin is cut off: everything before them is unseen.
    pub blind: usize,
}

impl fmt::Display for Sight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seen, blind } = self;
        write!(f, "sees {seen} tensors, and nothing of what made {blind} of them")
    }
}

impl Outcome {
    /// How much of the model was seen, in the variant of which the least was; nothing where that is all.
    pub fn sight(&self) -> Option<Sight> {
        let partial = self
            .coverage
            .iter()
            .map(|(_, coverage, cuts)| Sight { seen: coverage.seen, blind: cuts.len() });
        // Constants and what is made beside the graph are no loss: what is cut off is.
        let partial = partial.filter(|sight| sight.blind > 0);
        partial.min_by_key(|sight| sight.seen)
    }
}

/// What came of a trial.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What should not be.
    pub findings: Vec<Finding>,
    /// The law of each variant, as it is to be locked; only of `shapes`.
    pub snapshot: Option<Snapshot>,
    /// The text to be locked, of a subject with a known fault.
    pub text: Option<String>,
    /// The names of the points that ran.
    pub points: Vec<String>,
    /// How much of each variant's witness run the graph showed, and where it is blind; only of `shapes`.
    pub coverage: Vec<(String, Coverage, Vec<Cut>)>,
}
