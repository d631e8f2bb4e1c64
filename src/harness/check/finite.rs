//! `finite`: the first step whose values are not all finite.

use super::tally::Tally;
use super::{Check, Finding, What};
use crate::harness::study::Study;

/// The first step with a NaN or an infinity, at the first point that has one.
pub fn finite(study: &Study) -> Vec<Finding> {
    let first = study.seen.iter().find_map(|seen| Some((seen, seen.run.not_finite.clone()?)));
    let Some((seen, step)) = first else { return Vec::new() };
    let points = study.seen.iter().map(|s| (&s.point, s.run.not_finite.is_some()));
    let place = seen.run.steps.iter().find(|s| s.name == step).and_then(|s| s.place.clone());
    vec![Finding {
        check: Check::Finite,
        variant: study.variant.clone(),
        tally: Tally::new(points),
        at: seen.point.dims.clone(),
        what: What::NotFinite { step, place },
    }]
}
