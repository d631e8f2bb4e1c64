//! The core of the mixer as one op.
use candle_core::{Result, Tensor};

use super::LayerState;
use super::conv::extend;
use super::core::{Core, CoreInputs, next_window};
use crate::scan::Sizes;
use crate::scan::fused::{MixerInputs, mixer};

/// The core in one differentiable op on the CPU; [`PlainCore`](super::PlainCore) is its definition.
///
/// It runs its own scan, whatever scan is asked for, and has no taps.
#[derive(Clone, Copy, Debug, Default)]
pub struct FusedCore;

impl Core for FusedCore {
    fn run(&self, inputs: &CoreInputs) -> Result<(Tensor, LayerState)> {
        let CoreInputs { zxbcdt, params, state, layout, dims, config, .. } = *inputs;
        let (b, l, _) = zxbcdt.dims3()?;
        let limit = config.dt_limit;
        let (y, ssm) = mixer(&MixerInputs {
            sizes: Sizes { b, l, h: dims.h, p: dims.p, g: dims.g, n: dims.n },
            zxbcdt,
            conv_weight: &params.conv_weight,
            conv_bias: params.conv_bias.as_ref(),
            dt_bias: &params.dt_bias,
            a_log: &params.a_log,
            d: &params.d,
            norm: params.norm_weight.as_ref().map(|weight| (weight, config.norm_eps)),
            window: &state.window,
            state: &state.ssm,
            reset: layout.reset.as_ref(),
            lengths: layout.lengths.as_deref(),
            dt_limit: limit.binds().then_some((limit.min, limit.max)),
        })?; // (b, l, h·p), (b, h, p, n)
        let xbc = zxbcdt.narrow(2, dims.s, dims.conv())?; // (b, l, c)
        Ok((y, LayerState { window: window(inputs, &xbc)?, ssm }))
    }
}

/// The window that the next token needs (b, k − 1, c), without joining the last one and the sequence where nothing of it
/// is left.
fn window(inputs: &CoreInputs, xbc: &Tensor) -> Result<Tensor> {
    let (layout, count) = (inputs.layout, inputs.dims.k - 1);
    if layout.lengths.is_none() && layout.reset.is_none() && xbc.dim(1)? >= count {
        return next_window(inputs, xbc, None);
    }
    let extended = extend(&inputs.state.window, xbc)?; // (b, k - 1 + l, c)
    next_window(inputs, &extended, layout.segments(count)?)
}
