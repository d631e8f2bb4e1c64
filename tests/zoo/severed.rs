//! Gradients that stop without an error.

use candle_core::{D, Tensor};
use candle_nn::{Module, RmsNorm, ops};
use shapelock::tap;

use super::kit::{BATCH, Parts, Small, small};

const NORM: &[(&str, &str)] = &[("projection.weight", "n d"), ("norm.weight", "n")];
const ONLY_PROJECTION: &[(&str, &str)] = &[("projection.weight", "n d")];

/// Three faults, each after its right twin.
pub fn subjects() -> Vec<Small> {
    vec![
        small("norm_slow", BATCH, NORM, |parts| {
            let x = projected(parts)?; // (b, l, n)
            tap("normed", ops::rms_norm_slow(&x, &parts.get("norm.weight")?, 1e-5)?) // (b, l, n)
        }),
        small("norm_fused", BATCH, NORM, |parts| {
            let x = projected(parts)?; // (b, l, n)
            let norm = RmsNorm::new(parts.get("norm.weight")?, 1e-5);
            tap("normed", norm.forward(&x)?) // ~fault
        }),
        small("softmax_slow", BATCH, ONLY_PROJECTION, |parts| {
            tap("weights", ops::softmax(&projected(parts)?, D::Minus1)?) // (b, l, n)
        }),
        small("softmax_fused", BATCH, ONLY_PROJECTION, |parts| {
            tap("weights", ops::softmax_last_dim(&projected(parts)?)?) // ~fault
        }),
        small("state_kept", BATCH, ONLY_PROJECTION, |parts| {
            let state = projected(parts)?.sum(1)?; // (b, n)
            tap("state", state) // (b, n)
        }),
        small("state_detached", BATCH, ONLY_PROJECTION, |parts| {
            let state = projected(parts)?.sum(1)?; // (b, n)
            tap("state", state.detach()) // ~fault
        }),
    ]
}

fn projected(parts: &Parts<'_>) -> candle_core::Result<Tensor> {
    let w = parts.get("projection.weight")?; // (n, d)
    tap("projected", parts.get("input")?.broadcast_matmul(&w.t()?)?) // (b, l, n)
}
