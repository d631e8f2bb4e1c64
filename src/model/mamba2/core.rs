//! The core of the mixer: all between the two projections, as one replaceable unit.
use std::fmt::Debug;

use candle_core::{Result, Tensor};

use super::conv::{causal_conv, extend};
use super::norm::gated_norm;
use super::tokens::Layout;
use super::{Config, Dims, LayerState};
use crate::model::{silu, softplus};
use crate::scan::{Inputs, Scan, Scope};

/// The parameters of the core, in the dtype it computes in.
#[derive(Clone, Debug)]
pub struct CoreParams {
    /// The kernel of the convolution (c, 1, k), with c = h·p + 2·g·n channels.
    pub conv_weight: Tensor,
    /// The bias of the convolution (c).
    pub conv_bias: Option<Tensor>,
    /// Added to dt before softplus (h).
    pub dt_bias: Tensor,
    /// log(−A) (h).
    pub a_log: Tensor,
    /// The skip past the state, (h) or (h, p).
    pub d: Tensor,
    /// The weight of the gated norm (h·p); without it, y is only gated.
    pub norm_weight: Option<Tensor>,
}

/// What the core reads.
#[derive(Clone, Copy, Debug)]
pub struct CoreInputs<'a> {
    /// z (h·p), x (h·p), B (g·n), C (g·n) and dt (h) side by side, at least f32 (b, l, 2·h·p + 2·g·n + h).
    pub zxbcdt: &'a Tensor,
    /// The parameters.
    pub params: &'a CoreParams,
    /// What came before.
    pub state: &'a LayerState,
    /// Where sequences start and end.
    pub layout: &'a Layout,
    /// The model's sizes.
    pub dims: Dims,
    /// The norm's eps, the limits of dt and the chunk length.
    pub config: &'a Config,
    /// The scan to run.
    pub scan: Scan,
    /// What taps are named under.
    pub scope: &'a Scope,
}

/// Convolution, SiLU, scan, skip, gate and norm: from zxbcdt to y (b, l, h·p) and the next state.
///
/// [`PlainCore`] is the definition; another implementation must agree with it in values and gradients.
pub trait Core: Debug + Send + Sync {
    /// Runs the core.
    ///
    /// # Errors
    /// Those of candle's; the model has checked the inputs.
    fn run(&self, inputs: &CoreInputs) -> Result<(Tensor, LayerState)>;
}

/// The core as plain, differentiable candle ops.
///
/// Taps: `z`, `x`, `B`, `C`, `dt`, those of the scan, `y`, `norm`.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlainCore;

impl Core for PlainCore {
    fn run(&self, inputs: &CoreInputs) -> Result<(Tensor, LayerState)> {
        let CoreInputs { zxbcdt, params, state, dims, config, scope, .. } = *inputs;
        let Dims { s, h, p, g, n, .. } = dims;
        let (b, l, _) = zxbcdt.dims3()?;
        let z = scope.tap("z", zxbcdt.narrow(2, 0, s)?)?; // (b, l, h·p)
        let xbc = zxbcdt.narrow(2, s, dims.conv())?; // (b, l, c)
        let dt = zxbcdt.narrow(2, s + dims.conv(), h)?; // (b, l, h)

        let (xbc, window) = convolved(inputs, &xbc)?; // (b, l, c), (b, k - 1, c)
        let x = scope.tap("x", xbc.narrow(2, 0, s)?.reshape((b, l, h, p))?)?; // (b, l, h, p)
        let bmat = scope.tap("B", xbc.narrow(2, s, g * n)?.reshape((b, l, g, n))?)?; // (b, l, g, n)
        let cmat = scope.tap("C", xbc.narrow(2, s + g * n, g * n)?.reshape((b, l, g, n))?)?; // (b, l, g, n)
        let dt = scope.tap("dt", step_sizes(inputs, &dt)?)?; // (b, l, h)
        let a = params.a_log.exp()?.neg()?; // (h)

        let scan = Inputs {
            d: Some(&params.d),
            state: Some(&state.ssm),
            reset: inputs.layout.reset.as_ref(),
            scope: Some(scope),
            ..Inputs::new(&x, &dt, &a, &bmat, &cmat)
        };
        let scanned = inputs.scan.run(&scan, config.chunk_size)?;
        let y = scope.tap("y", scanned.y)?.reshape((b, l, s))?; // (b, l, h·p)
        let y = match &params.norm_weight {
            Some(weight) => scope.tap("norm", gated_norm(&y, &z, weight, g, config.norm_eps)?)?,
            None => (y * silu(&z)?)?,
        }; // (b, l, h·p)
        Ok((y, LayerState { window, ssm: scanned.state }))
    }
}

/// SiLU(conv(xBC)) (b, l, c) and the window that the next token needs (b, k − 1, c).
fn convolved(inputs: &CoreInputs, xbc: &Tensor) -> Result<(Tensor, Tensor)> {
    let CoreInputs { params, state, layout, dims, .. } = *inputs;
    let segments = layout.segments(dims.k - 1)?; // (b, k - 1 + l)
    let extended = extend(&state.window, xbc)?; // (b, k - 1 + l, c)
    let bias = params.conv_bias.as_ref();
    let y = silu(&causal_conv(&extended, &params.conv_weight, bias, segments.as_ref())?)?; // (b, l, c)
    Ok((y, next_window(inputs, &extended, segments)?))
}

/// The last k − 1 columns of each row (b, k − 1, c), from a window and the sequence after it, and their segments.
pub(super) fn next_window(
    inputs: &CoreInputs,
    extended: &Tensor,
    segments: Option<Tensor>,
) -> Result<Tensor> {
    let (lengths, count) = (inputs.layout.lengths.as_deref(), inputs.dims.k - 1);
    let window = last_columns(extended, lengths, count)?;
    let Some(segments) = segments.filter(|_| count > 0) else {
        return Ok(window);
    };
    // What lies before the last start is of another sequence and must not reach the next token.
    let segments = segments.unsqueeze(2)?; // (b, k - 1 + l, 1)
    let current = segments.narrow(1, segments.dim(1)? - 1, 1)?; // (b, 1, 1)
    let tail = last_columns(&segments, lengths, count)?;
    window.broadcast_mul(&tail.broadcast_eq(&current)?.to_dtype(window.dtype())?)
}

/// The last `count` columns of each row, padding aside: (b, count + l, ..) → (b, count, ..).
fn last_columns(extended: &Tensor, lengths: Option<&[usize]>, count: usize) -> Result<Tensor> {
    let (b, total, c) = extended.dims3()?;
    if count == 0 {
        // Candle panics where it copies an empty view that begins behind the last element.
        return Tensor::zeros((b, 0, c), extended.dtype(), extended.device());
    }
    let Some(lengths) = lengths else {
        // A view would keep the whole sequence in memory for as long as the state lives.
        return extended.narrow(1, total - count, count)?.contiguous();
    };
    let rows = lengths.iter().enumerate();
    let columns = rows.flat_map(|(row, length)| (0..count).map(move |j| row * total + length + j));
    let columns: Vec<_> = columns.map(|column| column as u32).collect();
    let columns = Tensor::from_vec(columns, b * count, extended.device())?;
    extended.reshape((b * total, c))?.index_select(&columns, 0)?.reshape((b, count, c))
}

/// dt = clamp(softplus(dt + bias)), and 0 for padding, which then neither changes nor enters the state (b, l, h).
fn step_sizes(inputs: &CoreInputs, dt: &Tensor) -> Result<Tensor> {
    let dt = softplus(&dt.broadcast_add(&inputs.params.dt_bias)?)?;
    let limit = inputs.config.dt_limit;
    let dt = if limit.binds() { dt.clamp(limit.min, limit.max)? } else { dt };
    match inputs.layout.real(dt.dim(1)?, dt.dtype(), dt.device())? {
        Some(real) => dt.broadcast_mul(&real),
        None => Ok(dt),
    }
}
