//! Constants of another dtype than the model.

use candle_core::{DType, Tensor};
use shapelock::tap;

use super::kit::{BATCH, Small, small};

const GAIN: &[(&str, &str)] = &[("gain", "d")];

/// Two faults, each after its right twin.
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
    ]
}
