//! What comes of a trial.

use super::check::Finding;
use super::snapshot::Snapshot;
use super::study::Cut;
use crate::trace::Coverage;

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
