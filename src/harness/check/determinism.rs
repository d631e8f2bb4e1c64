//! `determinism`: the same model on the same inputs gives the same bits, whatever was run before, and so does a model built
//! anew from the same seed.

use super::Finding;
use super::disagreement::Claim;
use super::pairs::{Held, Pairs, Verdict, first_apart};
use crate::harness::plan::Point;
use crate::harness::run::{Named, Pass, Rig};
use crate::harness::study::StudyError;

/// Where two runs differ.
///
/// # Errors
/// A device that cannot be opened.
pub fn determinism(of: &Pairs<'_>) -> Result<Vec<Finding>, StudyError> {
    of.findings(Point::clone, |_, setup| {
        let rig = Rig::new(of.subject, setup)?;
        let first = rig.forward(rig.inputs())?;
        same(&rig.forward(rig.inputs())?, &first, Claim::Again)?;
        let anew = Rig::new(of.subject, setup)?;
        let again = anew.forward(anew.inputs())?;
        same(&again, &first, Claim::Anew)?;
        let (own, other) = (gradients(&rig, &first)?, gradients(&anew, &again)?);
        Held { claim: Claim::Anew, tolerance: 0. }.gradients(&other, &own)
    })
}

fn same(pass: &Pass, first: &Pass, claim: Claim) -> Verdict {
    let held = Held { claim, tolerance: 0. };
    held.outputs(&pass.outputs, &first.outputs, || {
        first_apart(pass, first, 0., |_, a, b| Some((a.clone(), b.clone())))
    })
}

fn gradients(rig: &Rig, pass: &Pass) -> Result<Named, super::pairs::Stop> {
    let cotangents = rig.cotangents(&pass.outputs)?;
    match cotangents.is_empty() {
        true => Ok(Named::new()),
        false => Ok(rig.gradients(&pass.outputs, &cotangents, rig.inputs())?),
    }
}
