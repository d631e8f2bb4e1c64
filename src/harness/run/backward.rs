//! The backward pass, and what is read off values.

use candle_core::backprop::GradStore;
use candle_core::{Device, Result, Tensor, Var};
use candle_nn::Init;

use super::values::list;
use super::{Gradient, Named, Observation, Values};
use crate::harness::subject::Inputs;
use crate::trace::params::fill;
use crate::trace::tap;

/// The gradients of the outputs' product with a seeded random cotangent.
pub(super) fn backward(outputs: &Named, seed: u64) -> Result<GradStore> {
    backward_from(outputs, &cotangents(outputs, seed)?)
}

/// For each float output, a seeded random cotangent.
pub(super) fn cotangents(outputs: &Named, seed: u64) -> Result<Named> {
    // An empty output adds nothing to a loss, and candle cannot sum it.
    let has_values = |(_, t): &&(String, Tensor)| t.dtype().is_float() && t.elem_count() > 0;
    let floats = outputs.iter().filter(has_values);
    let cotangents = floats.map(|(name, output)| {
        let init = Init::Randn { mean: 0., stdev: 1. };
        let cotangent = fill(seed, &format!("cotangent of {name}"), &init, output.dims());
        let cotangent = Tensor::from_vec(cotangent, output.shape(), &Device::Cpu)?;
        let cotangent = cotangent.to_dtype(output.dtype())?.to_device(output.device())?;
        Ok((name.clone(), cotangent))
    });
    cotangents.collect()
}

/// The gradients of the outputs' product with `cotangents`.
pub(super) fn backward_from(outputs: &Named, cotangents: &Named) -> Result<GradStore> {
    let mut loss: Option<Tensor> = None;
    for (name, cotangent) in cotangents {
        let Some((_, output)) = outputs.iter().find(|(own, _)| own == name) else { continue };
        let part = output.mul(cotangent)?.sum_all()?;
        loss = Some(match loss {
            Some(sum) => (&sum + part.to_dtype(sum.dtype())?)?,
            None => part,
        });
    }
    let none = || candle_core::Error::Msg("the model returns no float output".into()).bt();
    loss.ok_or_else(none)?.backward()
}

pub(super) fn gradients(
    seen: &mut Observation,
    values: &mut Values,
    store: GradStore,
    vars: &[(String, Var)],
    inputs: &Inputs,
) {
    for (name, var) in vars {
        let gradient = store.get(var.as_tensor());
        let largest = gradient.and_then(|g| largest(g).ok());
        seen.gradients.push(Gradient {
            name: name.clone(),
            shape: gradient.map(|g| g.dims().to_vec()),
            zero: largest == Some(0.),
            finite: largest.is_none_or(f64::is_finite),
        });
    }
    let vars = vars.iter().map(|(name, var)| (name, var.as_tensor()));
    let inputs = inputs.0.iter().map(|(name, t)| (name, t));
    values.gradients = vars
        .chain(inputs)
        .filter_map(|(name, t)| Some((name.clone(), store.get(t)?.clone())))
        .collect();
}

/// The first tap or output with a value that is not finite.
pub(super) fn first_not_finite(taps: &[tap::Tap], outputs: &[(String, Tensor)]) -> Option<String> {
    let finite = |t: &Tensor| !t.dtype().is_float() || largest(t).is_ok_and(f64::is_finite);
    if outputs.iter().all(|(_, t)| finite(t)) {
        return None;
    }
    let tap = taps.iter().find(|tap| !finite(&tap.tensor)).map(|tap| tap.name.clone());
    tap.or_else(|| outputs.iter().find(|(_, t)| !finite(t)).map(|(name, _)| name.clone()))
}

/// The largest magnitude; NaN where any element is, 0 for an empty tensor.
fn largest(t: &Tensor) -> Result<f64> {
    let values = list(t)?;
    Ok(values.iter().fold(
        0.,
        |m, v| {
            if v.is_nan() || f64::is_nan(m) { f64::NAN } else { v.abs().max(m) }
        },
    ))
}
