//! The causal depthwise convolution over x, B and C.
use candle_core::{Result, Tensor};

/// y_t = bias + Σ_j w_j·x_{t−k+1+j}, channel by channel, where the k − 1 columns before the first come from `window`.
///
/// `extended` (b, k − 1 + l, c) is the window followed by the sequence, `weight` (c, 1, k) as checkpoints keep it.
/// `segments` (b, k − 1 + l) numbers the sequences packed in a row: a tap of the kernel that reaches into another
/// sequence reads zero there. It is a sum of k shifted products and not candle's convolution, which runs each channel on
/// its own.
pub(super) fn causal_conv(
    extended: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    segments: Option<&Tensor>,
) -> Result<Tensor> {
    let (_, _, k) = weight.dims3()?;
    let l = extended.dim(1)? + 1 - k;
    let mut y: Option<Tensor> = None;
    for j in 0..k {
        let w = weight.narrow(2, j, 1)?.flatten_all()?; // (c)
        let mut term = extended.narrow(1, j, l)?.broadcast_mul(&w)?; // (b, l, c)
        if let Some(segments) = segments.filter(|_| j + 1 < k) {
            let same = segments.narrow(1, j, l)?.eq(&segments.narrow(1, k - 1, l)?)?; // (b, l)
            term = term.broadcast_mul(&same.to_dtype(term.dtype())?.unsqueeze(2)?)?;
        }
        y = Some(match y {
            Some(y) => (y + term)?,
            None => term,
        });
    }
    let y = y.ok_or_else(|| candle_core::Error::msg("conv: expected a width k of at least 1"))?;
    match bias {
        Some(bias) => y.broadcast_add(bias),
        None => Ok(y),
    }
}

/// Puts the window before the sequence: (b, k − 1, c) and (b, l, c) → (b, k − 1 + l, c).
pub(super) fn extend(window: &Tensor, sequence: &Tensor) -> Result<Tensor> {
    if window.dim(1)? == 0 {
        return Ok(sequence.clone());
    }
    Tensor::cat(&[window, sequence], 1)
}
