//! What a model reads: filled from a seed, the same on every machine.

use candle_core::{Device, Result, Tensor, Var};
use candle_nn::Init;

use super::Setup;
use crate::harness::subject::{AnySubject, Fill, Input, Inputs};
use crate::trace::params::fill;

/// Fills the subject's inputs; float inputs are variables, so that the graph starts at them.
pub(super) fn inputs(subject: &dyn AnySubject, setup: &Setup<'_>) -> Result<Inputs> {
    let declared = subject.inputs(setup.config).map_err(candle_core::Error::wrap)?;
    let filled = declared.iter().map(|input| Ok((input.name.clone(), filled(input, setup)?)));
    Ok(Inputs(filled.collect::<Result<_>>()?))
}

fn filled(input: &Input, setup: &Setup<'_>) -> Result<Tensor> {
    let axes = input.parsed().map_err(candle_core::Error::wrap)?;
    let shape = axes.eval(setup.dims).map_err(candle_core::Error::wrap)?;
    let uniform = || fill(setup.seed, &input.name, &Init::Uniform { lo: 0., up: 1. }, &shape);
    match &input.fill {
        Fill::Floats => {
            let values =
                fill(setup.seed, &input.name, &Init::Randn { mean: 0., stdev: 1. }, &shape);
            let t = Tensor::from_vec(values, shape, &Device::Cpu)?.to_dtype(setup.dtype)?;
            Ok(Var::from_tensor(&t.to_device(setup.device)?)?.into_inner())
        }
        Fill::Ids(bound) => {
            let missing = || candle_core::Error::Msg(format!("no dim {bound} bounds the ids")).bt();
            let below = setup.dims.get(bound).ok_or_else(missing)? as f64;
            let ids: Vec<u32> = uniform().into_iter().map(|u| (u * below) as u32).collect();
            Tensor::from_vec(ids, shape, setup.device)
        }
        Fill::Mask => {
            let mask: Vec<u8> = uniform().into_iter().map(|u| u8::from(u < 0.25)).collect();
            Tensor::from_vec(mask, shape, setup.device)
        }
    }
}
