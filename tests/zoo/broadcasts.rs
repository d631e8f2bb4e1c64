//! Operands that broadcast where they should have had one shape.

use candle_core::{Device, Tensor};
use candle_nn::ops::softmax;
use shapelock::tap;

use super::kit::{BATCH, Small, small};

const KEYS: &[(&str, &str)] = &[("key.weight", "(g n) d")];
const STATE: &[(&str, &str)] = &[("B", "n d")];
const PREDICTION: &[(&str, &str)] = &[("head.weight", "1 d")];
const WITH_TARGET: &[(&str, &str)] = &[("input", "b l d"), ("target", "b")];
/// Tokens that an attention has seen before.
const CACHED: usize = 5;

/// Four faults, each after its right twin.
pub fn subjects() -> Vec<Small> {
    vec![
        small("skip_of_last_token", BATCH, STATE, |parts| {
            let (u, last) = last_token(parts)?;
            let skip = u.narrow(1, 0, 1)?.squeeze(1)?; // (b, n)
            tap("skip", last.broadcast_add(&skip)?) // (b, n)
        }),
        small("skip_with_time_axis", BATCH, STATE, |parts| {
            let (u, last) = last_token(parts)?;
            let skip = u.narrow(1, 0, 1)?; // (b, 1, n)
            tap("skip", last.broadcast_add(&skip)?) // ~fault
        }),
        small("error_of_targets", WITH_TARGET, PREDICTION, |parts| {
            let target = parts.get("target")?.unsqueeze(1)?; // (b, 1)
            tap("error", predicted(parts)?.broadcast_sub(&target)?) // (b, 1)
        }),
        small("error_against_all_targets", WITH_TARGET, PREDICTION, |parts| {
            let target = parts.get("target")?; // (b)
            tap("error", predicted(parts)?.broadcast_sub(&target)?) // ~fault
        }),
        small("keys_repeated_for_heads", BATCH, KEYS, |parts| {
            tap("repeated", keys(parts)?.repeat((1, 2, 1, 1))?) // (b, 2·g, l, n)
        }),
        small("keys_repeated_in_time", BATCH, KEYS, |parts| {
            tap("repeated", keys(parts)?.repeat((1, 1, 2, 1))?) // ~fault
        }),
        small("mask_over_cache", BATCH, STATE, |parts| {
            let scores = scores(parts)?; // (b, l, l + 5)
            let (_, l, all) = scores.dims3()?;
            softmax(&tap("masked", scores.broadcast_add(&causal(l, all)?)?)?, 2) // (b, l, l + 5)
        }),
        small("square_mask_over_cache", BATCH, STATE, |parts| {
            let scores = scores(parts)?; // (b, l, l + 5)
            let (_, l, _) = scores.dims3()?;
            softmax(&tap("masked", scores.broadcast_add(&causal(l, l)?)?)?, 2) // ~fault
        }),
    ]
}

type Result<T> = candle_core::Result<T>;
type Parts<'a> = super::kit::Parts<'a>;

/// Every token (b, l, n), and the last (b, n).
fn last_token(parts: &Parts<'_>) -> Result<(Tensor, Tensor)> {
    let u = parts.get("input")?.broadcast_matmul(&parts.get("B")?.t()?)?;
    let u = tap("scan_input", u)?; // (b, l, n)
    let last = u.narrow(1, u.dim(1)? - 1, 1)?.squeeze(1)?;
    Ok((u, tap("last", last)?)) // (b, n)
}

/// Keys of each group: (b, g, l, n).
fn keys(parts: &Parts<'_>) -> Result<Tensor> {
    let k = parts.get("input")?.broadcast_matmul(&parts.get("key.weight")?.t()?)?;
    let (b, l, _) = k.dims3()?;
    let k = k.reshape((b, l, parts.dim("g"), parts.dim("n")))?;
    tap("keys", k.transpose(1, 2)?)
}

/// One number a sample: (b, 1).
fn predicted(parts: &Parts<'_>) -> Result<Tensor> {
    let pooled = parts.get("input")?.mean(1)?; // (b, d)
    tap("predicted", pooled.matmul(&parts.get("head.weight")?.t()?)?)
}

/// Each token against itself, all others and those seen before: (b, l, l + 5).
fn scores(parts: &Parts<'_>) -> Result<Tensor> {
    let q = parts.get("input")?.broadcast_matmul(&parts.get("B")?.t()?)?; // (b, l, n)
    let (b, _, n) = q.dims3()?;
    let cache = Tensor::ones((b, CACHED, n), q.dtype(), q.device())?;
    let k = Tensor::cat(&[&cache, &q], 1)?; // (b, l + 5, n)
    tap("scores", q.matmul(&k.transpose(1, 2)?.contiguous()?)?)
}

/// −∞ above the diagonal that ends in the last column.
fn causal(l: usize, all: usize) -> Result<Tensor> {
    let hidden = |i: usize, j: usize| if j > i + all - l { f32::NEG_INFINITY } else { 0. };
    let mask: Vec<f32> = (0..l * all).map(|at| hidden(at / all, at % all)).collect();
    Tensor::from_vec(mask, (l, all), &Device::Cpu)
}
