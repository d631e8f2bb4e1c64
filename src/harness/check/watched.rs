//! Watching a model changes nothing: a run that nobody watches gives the same outputs.

use super::tally::Tally;
use super::{Claim, Disagreement, Finding, What};
use crate::harness::study::Study;

/// An output that is another where nobody watches.
pub(super) fn watched(study: &Study) -> Option<Finding> {
    let (name, error) = study.watched.clone()?;
    let claim = Claim::Unwatched;
    let what = Disagreement { name, gradient: false, claim, first: None, error, tolerance: 0. };
    Some(found(study, What::Disagree(Box::new(what))))
}

/// A finding about the variant as a whole.
pub(super) fn found(study: &Study, what: What) -> Finding {
    let points = study.seen.iter().map(|seen| (&seen.point, true));
    Finding::of_shapes(study, Tally::new(points), what)
}
