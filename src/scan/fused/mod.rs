//! The scan, and the whole core of a mixer around it, as one op on the CPU.
//!
//! Candle runs a chain of small ops, most of them on one thread, and keeps what each gives for the backward pass. Here
//! the chain is one op whose two passes are written by hand: it reads zxbcdt once, holds the state in registers, runs
//! batch rows and heads side by side, and keeps nothing but its inputs. What it computes is the sequential scan's.
//!
//! From the ground up: `real` numbers and vectors, `exp`; `recurrence` one head's state in registers, and `head` with
//! the inputs' factors; `convolution`, `steps` and `gate` around it; `forward` and `backward` over all heads; `op` and `port`
//! for candle.
mod backward;
mod convolution;
mod exp;
mod forward;
mod gate;
mod head;
mod op;
mod port;
mod real;
mod recurrence;
mod spec;
mod steps;
mod tasks;

use candle_core::{Result, Tensor};

use super::{Inputs, Output, ScanError, Sizes};
use spec::{Mixer, Spec};

/// Scans in one op. There are no taps.
pub(super) fn scan(inputs: &Inputs, sizes: Sizes) -> Result<Output> {
    let Sizes { b, l, h, p, g, n } = sizes;
    let x = inputs.x.reshape((b, l, h * p))?;
    let (bmat, cmat) = (inputs.bmat.reshape((b, l, g * n))?, inputs.cmat.reshape((b, l, g * n))?);
    let sequence = Tensor::cat(&[&x, &bmat, &cmat, inputs.dt], 2)?; // (b, l, h·p + 2·g·n + h)
    let d = match inputs.d {
        Some(d) => d.clone(),
        None => inputs.a.zeros_like()?,
    }; // (h) or (h, p)
    let spec = Spec {
        sizes,
        d_per_feature: d.rank() == 2,
        reset: inputs.reset.map(marks).transpose()?,
        mixer: None,
    };
    let small = vec![inputs.a.clone(), d];
    let (y, state) = op::apply(spec, &sequence, small, &inputs.start(sizes)?)?;
    Ok(Output { y: y.reshape((b, l, h, p))?, state })
}

/// Where the state is reset (b·l).
fn marks(reset: &Tensor) -> Result<Vec<bool>> {
    let marks = reset.ne(0u32)?.flatten_all()?.to_vec1::<u8>()?;
    Ok(marks.into_iter().map(|mark| mark == 1).collect())
}

/// What the core of a mixer reads: the convolution, SiLU, the step sizes, the scan, the gate and the norm.
pub(crate) struct MixerInputs<'a> {
    pub sizes: Sizes,
    /// z, x, B, C and dt side by side (b, l, 2·h·p + 2·g·n + h).
    pub zxbcdt: &'a Tensor,
    /// (c, 1, k), with c = h·p + 2·g·n channels.
    pub conv_weight: &'a Tensor,
    /// (c).
    pub conv_bias: Option<&'a Tensor>,
    /// (h).
    pub dt_bias: &'a Tensor,
    /// log(−A) (h).
    pub a_log: &'a Tensor,
    /// (h) or (h, p).
    pub d: &'a Tensor,
    /// The norm's weight (h·p) and eps; without it, y is only gated.
    pub norm: Option<(&'a Tensor, f64)>,
    /// The k − 1 columns before the first (b, k − 1, c).
    pub window: &'a Tensor,
    /// The first state (b, h, p, n).
    pub state: &'a Tensor,
    /// 1 where a sequence starts (b, l).
    pub reset: Option<&'a Tensor>,
    /// Tokens of each row, behind which dt is 0.
    pub lengths: Option<&'a [usize]>,
    /// The least and the greatest dt.
    pub dt_limit: Option<(f64, f64)>,
}

/// The core of a mixer in one op: y (b, l, h·p) after the gate and the norm, and the last state (b, h, p, n).
pub(crate) fn mixer(inputs: &MixerInputs<'_>) -> Result<(Tensor, Tensor)> {
    let MixerInputs { sizes, zxbcdt, conv_weight, conv_bias, norm, d, .. } = *inputs;
    if let Some((symbol, _)) =
        [("b", sizes.b), ("l", sizes.l)].into_iter().find(|(_, extent)| *extent == 0)
    {
        let actual = zxbcdt.dims().to_vec();
        let expected = "(b, l, 2·h·p + 2·g·n + h)";
        return Err(ScanError::Empty { argument: "zxbcdt", symbol, expected, actual }.into());
    }
    // In the order of `spec::Small`.
    let mut small = vec![conv_weight.clone()];
    small.extend(conv_bias.cloned());
    small.extend([inputs.dt_bias.clone(), inputs.a_log.clone(), d.clone()]);
    small.extend(norm.map(|(weight, _)| weight.clone()));
    small.extend((inputs.window.elem_count() > 0).then(|| inputs.window.clone()));
    let spec = Spec {
        sizes,
        d_per_feature: d.rank() == 2,
        reset: inputs.reset.map(marks).transpose()?,
        mixer: Some(Mixer {
            k: conv_weight.dim(2)?,
            conv_bias: conv_bias.is_some(),
            dt_limit: inputs.dt_limit,
            norm_eps: norm.map(|(_, eps)| eps),
            lengths: inputs.lengths.map(<[usize]>::to_vec),
        }),
    };
    op::apply(spec, zxbcdt, small, inputs.state)
}
