//! Constants of another dtype than the model.

use candle_core::{DType, Result, Tensor};
use shapelock::tap;

use super::kit::{BATCH, Parts, Small, small};

const GAIN: &[(&str, &str)] = &[("gain", "d")];

/// Each fault after its right twin.
pub fn subjects() -> Vec<Small> {
    vec![
        small("half_as_affine", BATCH, GAIN, |parts| {
            let x = parts.get("input")?.broadcast_mul(&parts.get("gain")?)?;
            tap("scaled", (x * 0.5)?) // (b, l, d)
        }),
        small("half_as_f64", BATCH, GAIN, |parts| {
            let x = parts.get("input")?.broadcast_mul(&parts.get("gain")?)?;
            tap("scaled", x.broadcast_mul(&Tensor::new(0.5, x.device())?)?) // ~fault
        }),
        small("mask_in_own_dtype", BATCH, GAIN, |parts| {
            let x = parts.get("input")?.broadcast_mul(&parts.get("gain")?)?;
            let mask = Tensor::ones(x.dim(1)?, x.dtype(), x.device())?.unsqueeze(1)?; // (l, 1)
            tap("masked", x.broadcast_mul(&mask)?) // (b, l, d)
        }),
        small("mask_in_f32", BATCH, GAIN, |parts| {
            let x = parts.get("input")?.broadcast_mul(&parts.get("gain")?)?;
            let mask = Tensor::ones(x.dim(1)?, DType::F32, x.device())?.unsqueeze(1)?; // (l, 1)
            tap("masked", x.broadcast_mul(&mask)?) // ~fault
        }),
        small("norm_cast_back", BATCH, GAIN, |parts| {
            let x = parts.get("input")?; // (b, l, d)
            let normed = tap("normed", normed(&x)?.to_dtype(x.dtype())?)?; // (b, l, d)
            tap("scaled", normed.broadcast_mul(&parts.get("gain")?)?) // (b, l, d)
        }),
        small("norm_left_in_f32", BATCH, GAIN, |parts| {
            let (x, gain) = (parts.get("input")?, parts.get("gain")?.to_dtype(DType::F32)?);
            let normed = tap("normed", normed(&x)?)?; // (b, l, d) ~fault
            tap("scaled", normed.broadcast_mul(&gain)?.to_dtype(x.dtype())?) // (b, l, d)
        }),
        small("angles_in_own_dtype", BATCH, GAIN, |parts| {
            let x = parts.get("input")?; // (b, l, d)
            turned(parts, &tap("angles", angles(&x)?.to_dtype(x.dtype())?)?) // (b, l, d)
        }),
        small("angles_in_f32", BATCH, GAIN, |parts| {
            let x = parts.get("input")?; // (b, l, d)
            turned(parts, &tap("angles", angles(&x)?)?) // ~fault
        }),
    ]
}

/// x over the root of its mean square, in f32: (b, l, d).
fn normed(x: &Tensor) -> Result<Tensor> {
    let x = x.to_dtype(DType::F32)?;
    let square = (x.sqr()?.mean_keepdim(2)? + 1e-5)?; // (b, l, 1)
    x.broadcast_div(&square.sqrt()?)
}

/// The angle of each place, in f32: (l, 1).
fn angles(x: &Tensor) -> Result<Tensor> {
    let l = x.dim(1)?;
    Tensor::arange(0f32, l as f32, x.device())?.reshape((l, 1))? * 0.1
}

/// gain · x times the cosine of each place: (b, l, d).
fn turned(parts: &Parts<'_>, angles: &Tensor) -> Result<Tensor> {
    let x = parts.get("input")?.broadcast_mul(&parts.get("gain")?)?; // (b, l, d)
    tap("turned", x.broadcast_mul(&angles.cos()?.to_dtype(x.dtype())?)?)
}
