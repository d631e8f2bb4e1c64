//! `causal`: nothing at a place in the sequence depends on later places.
//!
//! Other inputs from a place on leave everything before it as it is, bit by bit, and no gradient of what comes before
//! reaches the inputs from there on. That the changed places do change something is the control.

use candle_core::{Result, Tensor};

use super::Finding;
use super::along::{Along, findings};
use super::disagreement::Claim;
use super::pairs::{Held, Pairs, Verdict};
use crate::harness::run::Named;
use crate::harness::study::StudyError;

/// Where the past depends on the future.
///
/// # Errors
/// A device that cannot be opened.
pub fn causal(of: &Pairs<'_>) -> std::result::Result<Vec<Finding>, StudyError> {
    findings(of, |along, _| {
        along.reach((0, along.n))?;
        for from in places(along.n) {
            past_stays(&along, from)?;
            no_gradient_from_the_future(&along, from)?;
        }
        Ok(())
    })
}

/// Where the future begins: early, in the middle and at the last place.
fn places(l: usize) -> Vec<usize> {
    let mut places = vec![1, l / 2, l - 1];
    places.retain(|from| (1..l).contains(from));
    places.dedup();
    places
}

fn past_stays(along: &Along, from: usize) -> Verdict {
    let l = along.n;
    let pass = along.rig.forward(&along.altered((from, l - from), None)?)?;
    let past = |t: &Tensor, axis: usize| t.narrow(axis, 0, from);
    let held = Held { claim: Claim::Past { from, l }, tolerance: 0. };
    let first = || along.first((&pass, &along.whole), 0., past, past);
    held.outputs(&along.cut(&pass, past)?, &along.cut(&along.whole, past)?, first)
}

fn no_gradient_from_the_future(along: &Along, from: usize) -> Verdict {
    let l = along.n;
    let zero_from = |t: &Tensor, axis: usize| {
        let past = t.narrow(axis, 0, from)?;
        Tensor::cat(&[past, t.narrow(axis, from, l - from)?.zeros_like()?], axis)
    };
    let with_axis = along.cut(&along.whole, |t, _| Ok(t.clone()))?;
    let cotangents = along.grown.of_outputs(&along.rig.cotangents(&with_axis)?, zero_from)?;
    if cotangents.is_empty() {
        return Ok(());
    }
    let inputs = along.rig.inputs();
    let gradients = along.rig.gradients(&along.whole.outputs, &cotangents, inputs)?;
    let future = along.axes.iter().filter_map(|(input, axis)| {
        let (_, gradient) = gradients.iter().find(|(name, _)| *name == input.name)?;
        let future = gradient.narrow((*axis)?, from, l - from);
        Some(future.map(|future| (input.name.clone(), future)))
    });
    let future: Named = future.collect::<Result<_>>()?;
    let zeros = future.iter().map(|(name, t)| Ok((name.clone(), t.zeros_like()?)));
    let held = Held { claim: Claim::PastGradient { from, l }, tolerance: 0. };
    held.gradients(&future, &zeros.collect::<Result<Named>>()?)
}
