//! Rows, places and calls that depend on one another although every shape is right.

use std::cell::Cell;

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::ops::softmax;
use shapelock::tap;

use super::kit::{BATCH, Small, small};

const GAIN: &[(&str, &str)] = &[("gain", "d")];
const QUERY: &[(&str, &str)] = &[("query.weight", "d d"), ("key.weight", "d d")];

/// Right twins and faults.
pub fn subjects() -> Vec<Small> {
    vec![
        scaled("normed_by_feature", |x| {
            tap("centred", x.broadcast_sub(&x.mean_keepdim(2)?)?) // (b, l, d)
        }),
        scaled("normed_by_row", |x| {
            tap("centred", x.broadcast_sub(&x.mean_keepdim(0)?)?) // ~fault
        }),
        scaled("normed_by_time", |x| {
            tap("centred", x.broadcast_sub(&x.mean_keepdim(1)?)?) // ~fault
        }),
        scaled("shifted_forward", |x| {
            tap("beside", (x + x.narrow(1, 0, x.dim(1)? - 1)?.pad_with_zeros(1, 1, 0)?)?) // (b, l, d)
        }),
        scaled("shifted_back", |x| {
            tap("beside", (x + x.narrow(1, 1, x.dim(1)? - 1)?.pad_with_zeros(1, 0, 1)?)?) // ~fault
        }),
        scaled("rows_rolled", |x| {
            let b = x.dim(0)?;
            let rolled = Tensor::cat(&[x.narrow(0, b - 1, 1)?, x.narrow(0, 0, b - 1)?], 0)?;
            tap("rolled", rolled) // ~fault
        }),
        scaled("rows_kept", |x| tap("rolled", x.clone())),
        scaled("divided_by_rows", |x| {
            tap("rolled", (x / x.dim(0)? as f64)?) // ~fault
        }),
        scaled("every_other_row_negated", |x| {
            let signs = (0..x.dim(0)?).map(|i| if i % 2 == 0 { 1. } else { -1f64 }).collect();
            let signs = Tensor::from_vec(signs, (x.dim(0)?, 1, 1), x.device())?; // (b, 1, 1)
            tap("rolled", x.broadcast_mul(&signs.to_dtype(x.dtype())?)?) // ~fault
        }),
        scaled("future_in_the_gradient", |x| {
            let mean = x.mean_keepdim(1)?; // (b, 1, d)
            let nothing = (&mean - mean.detach())?.broadcast_as(x.shape())?; // (b, l, d)
            tap("rolled", (x + nothing)?) // ~fault
        }),
        scaled("counted_by_token", |x| tap("offset", (x + 1.)?)),
        scaled("counted_by_call", |x| {
            tap("offset", (x + calls())?) // ~fault
        }),
        attention("attention_causal", |scores| {
            let seen = Tensor::tril2(scores.dim(1)?, DType::U8, &Device::Cpu)?; // (l, l)
            tap("weights", softmax(&masked(scores, &seen)?, 2)?) // (b, l, l)
        }),
        attention("attention_of_padding_alone", |scores| {
            let seen = Tensor::ones((scores.dim(1)?, scores.dim(1)?), DType::U8, &Device::Cpu)?;
            tap("weights", softmax(&masked(scores, &seen)?, 2)?) // ~fault
        }),
        attention("attention_of_the_future", |scores| {
            let seen = Tensor::tril2(scores.dim(1)?, DType::U8, &Device::Cpu)?; // (l, l)
            let later = (1. - seen.to_dtype(scores.dtype())?)?.to_dtype(DType::U8)?; // (l, l)
            tap("weights", softmax(&masked(scores, &later)?, 2)?) // ~fault
        }),
        attention("attention_masked_after_softmax", |scores| {
            let seen = Tensor::tril2(scores.dim(1)?, scores.dtype(), &Device::Cpu)?; // (l, l)
            tap("weights", softmax(scores, 2)?.broadcast_mul(&seen)?) // ~fault
        }),
        attention("attention_over_queries", |scores| {
            let seen = Tensor::tril2(scores.dim(1)?, DType::U8, &Device::Cpu)?; // (l, l)
            tap("weights", softmax(&masked(scores, &seen)?, 1)?) // ~fault
        }),
    ]
}

/// What is made of gain · x: (b, l, d) → (b, l, d).
fn scaled(name: &'static str, make: fn(&Tensor) -> Result<Tensor>) -> Small {
    let small = small(name, BATCH, GAIN, move |parts| {
        make(&parts.get("input")?.broadcast_mul(&parts.get("gain")?)?)
    });
    small.causal()
}

/// One head of attention, whose scores (b, l, l) become weights by `weigh`: (b, l, d) → (b, l, d).
fn attention(name: &'static str, weigh: fn(&Tensor) -> Result<Tensor>) -> Small {
    let small = small(name, BATCH, QUERY, move |parts| {
        let x = parts.get("input")?; // (b, l, d)
        let by = |name: &str| x.broadcast_matmul(&parts.get(name)?.t()?);
        let scores = by("query.weight")?.matmul(&by("key.weight")?.t()?)?; // (b, l, l)
        weigh(&tap("scores", scores)?)?.matmul(&x) // (b, l, d)
    });
    small.causal()
}

/// Scores (b, l, l), and next to nothing where `seen` (l, l) is 0.
fn masked(scores: &Tensor, seen: &Tensor) -> Result<Tensor> {
    let hidden = (scores.zeros_like()? - 1e9)?;
    seen.broadcast_as(scores.shape())?.where_cond(scores, &hidden)
}

/// How often the model was asked before, which is nothing to a prompt.
fn calls() -> f64 {
    thread_local! {
        static CALLS: Cell<f64> = const { Cell::new(0.) };
    }
    CALLS.replace(CALLS.get() + 1.)
}
