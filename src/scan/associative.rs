//! The Mamba-2 scan as a parallel prefix (Blelloch 1990; the form of Hillis and Steele).
//!
//! A token maps S to a·S + u. Two maps in a row are one, (a₁, u₁) then (a₂, u₂) = (a₂·a₁, a₂·u₁ + u₂), and that
//! composition is associative: after ⌈log₂ l⌉ passes with doubling offsets, each token holds the map of all before it.
//! It keeps every state, so it is for breadth, and not for speed.
use candle_core::{D, Result, Tensor};

use super::{Inputs, Output, Sizes};

/// Scans by a parallel prefix. Taps: `scan.h`, all states.
pub(super) fn scan(inputs: &Inputs, sizes: Sizes) -> Result<Output> {
    let bmat = sizes.to_heads(inputs.bmat)?; // (b, l, h, n)
    let cmat = sizes.to_heads(inputs.cmat)?; // (b, l, h, n)
    let dx = inputs.x.broadcast_mul(&inputs.dt.unsqueeze(3)?)?; // (b, l, h, p)
    let update = dx.unsqueeze(4)?.broadcast_mul(&bmat.unsqueeze(3)?)?; // (b, l, h, p, n)
    let decay = inputs.decay()?.unsqueeze(3)?.unsqueeze(4)?; // (b, l, h, 1, 1)

    let update = start_from(inputs, sizes, &decay, update)?; // (b, l, h, p, n)
    let h = inputs.tap("scan.h", prefix(decay, update, sizes.l)?)?; // (b, l, h, p, n)
    let y = h.broadcast_mul(&cmat.unsqueeze(3)?)?.sum(D::Minus1)?; // (b, l, h, p)
    let state = h.narrow(1, sizes.l - 1, 1)?.squeeze(1)?.contiguous()?; // (b, h, p, n)
    Ok(Output { y: inputs.skip(y)?, state })
}

/// Lets the first token carry what it leaves of the initial state.
fn start_from(inputs: &Inputs, sizes: Sizes, decay: &Tensor, update: Tensor) -> Result<Tensor> {
    let Some(state) = inputs.state else {
        return Ok(update);
    };
    let carried = state.unsqueeze(1)?.broadcast_mul(&decay.narrow(1, 0, 1)?)?; // (b, 1, h, p, n)
    update + carried.pad_with_zeros(1, 0, sizes.l - 1)? // (b, l, h, p, n)
}

/// Composes each token's map with all before it; the naive definition is the loop of the sequential scan.
fn prefix(mut decay: Tensor, mut update: Tensor, l: usize) -> Result<Tensor> {
    let mut offset = 1;
    while offset < l {
        let later = decay.narrow(1, offset, l - offset)?; // (b, l - offset, h, 1, 1)
        let carried = update.narrow(1, 0, l - offset)?.broadcast_mul(&later)?;
        update = (update + carried.pad_with_zeros(1, offset, 0)?)?;
        let composed = (decay.narrow(1, 0, l - offset)? * later)?;
        decay = Tensor::cat(&[&decay.narrow(1, 0, offset)?, &composed], 1)?;
        offset *= 2;
    }
    Ok(update)
}
