//! `scans` and `reference`: two computations of the same thing agree, values and the gradients of every parameter and
//! float input.
//!
//! `scans` holds the model against its own definition, `reference` against another subject with the same parameters.

use super::Finding;
use super::disagreement::Claim;
use super::pairs::{Held, Pairs, Verdict, first_apart};
use crate::harness::plan::Point;
use crate::harness::run::{Failure, Rig, Setup};
use crate::harness::study::StudyError;
use crate::harness::subject::AnySubject;

/// Where the model and its definition differ.
///
/// # Errors
/// A device that cannot be opened.
pub fn scans(of: &Pairs<'_>) -> Result<Vec<Finding>, StudyError> {
    let reference = |setup: &Setup<'_>| Rig::of_reference(of.subject, setup);
    agree(of, &Claim::Definition, reference)
}

/// Where the model and another subject differ.
///
/// # Errors
/// A device that cannot be opened.
pub fn reference(of: &Pairs<'_>, other: &dyn AnySubject) -> Result<Vec<Finding>, StudyError> {
    let claim = Claim::Subject(other.name().to_owned());
    agree(of, &claim, |setup| Some(Rig::new(other, setup)))
}

fn agree(
    of: &Pairs<'_>,
    claim: &Claim,
    other: impl Fn(&Setup<'_>) -> Option<Result<Rig, Box<Failure>>>,
) -> Result<Vec<Finding>, StudyError> {
    of.findings(Point::clone, |point, setup| {
        let Some(other) = other(setup) else { return Ok(()) };
        let (rig, other) = (Rig::new(of.subject, setup)?, other?);
        let held = Held { claim: claim.clone(), tolerance: of.tolerance(point.dtype) };
        compared(&rig, &other, &held)
    })
}

fn compared(rig: &Rig, other: &Rig, held: &Held) -> Verdict {
    let (own, expected) = (rig.forward(rig.inputs())?, other.forward(other.inputs())?);
    held.outputs(&own.outputs, &expected.outputs, || {
        first_apart(&own, &expected, held.tolerance, |_, a, b| Some((a.clone(), b.clone())))
    })?;
    let cotangents = other.cotangents(&expected.outputs)?;
    if cotangents.is_empty() {
        return Ok(());
    }
    let gradients = |rig: &Rig, outputs| rig.gradients(outputs, &cotangents, rig.inputs());
    let (own, expected) = (gradients(rig, &own.outputs)?, gradients(other, &expected.outputs)?);
    held.gradients(&own, &expected)
}
