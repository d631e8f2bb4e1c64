//! What comes of a trial.

use super::check::Finding;
use super::snapshot::Snapshot;
use super::study::Cut;
use crate::dims::Dims;
use crate::trace::Coverage;

use std::fmt;

/// How much of a model `shapes` sees, where that is not all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sight {
    /// Tensors that the graph shows.
    pub seen: usize,
    /// Tensors whose origin is cut off: everything before them is unseen.
    pub blind: usize,
    /// Dims beside the case's points at which the model ends with an error, and what it says: no law is held there.
    pub ended: Option<(Dims, String)>,
}

impl fmt::Display for Sight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seen, blind, ended } = self;
        if *blind > 0 {
            let tensors = counted(*seen, "tensor");
            write!(f, "sees {tensors}, and nothing of what made {blind} of them")?;
        }
        let Some((dims, message)) = ended else { return Ok(()) };
        let and = if *blind > 0 { "; it " } else { "" };
        write!(f, "{and}sees no law at {dims}, beside the points, where the model fails: {message}")
    }
}

/// `1 case`, `2 cases`.
pub fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

impl Outcome {
    /// How much of the model was seen, in the variant of which the least was; nothing where that is all.
    pub fn sight(&self) -> Option<Sight> {
        // Constants and what is made beside the graph are no loss: what is cut off is.
        let cut = self.coverage.iter().filter(|(_, _, cuts)| !cuts.is_empty());
        let least = cut.min_by_key(|(_, coverage, _)| coverage.seen);
        let (seen, blind) = least.map_or((0, 0), |(_, c, cuts)| (c.seen, cuts.len()));
        let sight = Sight { seen, blind, ended: self.ended.clone() };
        (sight.blind > 0 || sight.ended.is_some()).then_some(sight)
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
    /// Dims beside the points at which the model ends with an error, and what it says; only of `shapes`.
    pub ended: Option<(Dims, String)>,
}
