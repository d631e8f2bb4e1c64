//! The definition of the Mamba-2 scan.
//!
//! S_t = exp(dt_t·A)·S_{t−1} + dt_t·x_t ⊗ B_t, y_t = S_t·C_t + D·x_t, one token after another. One token of it is the
//! step of generation.
use candle_core::{Result, Tensor};

use super::{Inputs, Output, Sizes};

/// Scans token by token. Taps: `scan.h` each step.
pub(super) fn scan(inputs: &Inputs, sizes: Sizes) -> Result<Output> {
    let decay = inputs.decay()?; // (b, l, h)
    let dx = inputs.x.broadcast_mul(&inputs.dt.unsqueeze(3)?)?; // (b, l, h, p)
    let bmat = sizes.to_heads(inputs.bmat)?; // (b, l, h, n)
    let cmat = sizes.to_heads(inputs.cmat)?; // (b, l, h, n)

    let mut h = inputs.start(sizes)?; // (b, h, p, n)
    let mut ys = Vec::with_capacity(sizes.l);
    for t in 0..sizes.l {
        let decay = at(&decay, t)?.unsqueeze(2)?.unsqueeze(3)?; // (b, h, 1, 1)
        let update = at(&dx, t)?.unsqueeze(3)?.broadcast_mul(&at(&bmat, t)?.unsqueeze(2)?)?; // (b, h, p, n)
        h = inputs.tap("scan.h", (h.broadcast_mul(&decay)? + update)?)?; // (b, h, p, n)
        let c = at(&cmat, t)?.contiguous()?.unsqueeze(3)?; // (b, h, n, 1)
        ys.push(h.matmul(&c)?.squeeze(3)?); // (b, h, p)
    }
    let y = inputs.skip(Tensor::stack(&ys, 1)?)?; // (b, l, h, p)
    Ok(Output { y, state: h })
}

/// Token t of a sequence on axis 1.
fn at(sequence: &Tensor, t: usize) -> Result<Tensor> {
    sequence.narrow(1, t, 1)?.squeeze(1)
}
