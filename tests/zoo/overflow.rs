//! Formulas that are right on paper and overflow at large inputs.

use candle_core::Tensor;
use shapelock::tap;

use super::kit::{BATCH, Parts, Small, small};

const RATE: &[(&str, &str)] = &[("rate", "1 d")];
const GATE: &[(&str, &str)] = &[("gate.weight", "n d")];

/// Faults and right twins.
pub fn subjects() -> Vec<Small> {
    vec![
        small("segments_masked_first", BATCH, RATE, |parts| {
            let (segments, mask) = segments(parts)?; // (b, l, l), (b, l, l)
            let never = Tensor::full(f32::NEG_INFINITY, segments.shape(), segments.device())?;
            tap("decay", mask.where_cond(&segments, &never)?.exp()?) // (b, l, l)
        }),
        small("segments_masked_by_product", BATCH, RATE, |parts| {
            let (segments, mask) = segments(parts)?; // (b, l, l), (b, l, l)
            tap("decay", segments.exp()?.mul(&mask.to_dtype(segments.dtype())?)?) // ~fault
        }),
        small("segments_masked_after_exp", BATCH, RATE, |parts| {
            let (segments, mask) = segments(parts)?; // (b, l, l), (b, l, l)
            tap("decay", mask.where_cond(&segments.exp()?, &segments.zeros_like()?)?) // ~fault
        }),
        small("softplus_stable", BATCH, GATE, |parts| {
            let x = gate(parts)?; // (b, l, n)
            let log = (x.abs()?.neg()?.exp()? + 1.)?.log()?;
            tap("dt", (x.relu()? + log)?) // (b, l, n)
        }),
        small("softplus_by_definition", BATCH, GATE, |parts| {
            let x = gate(parts)?; // (b, l, n)
            tap("dt", (x.exp()? + 1.)?.log()?) // ~fault
        }),
        small("silu_of_candle", BATCH, GATE, |parts| {
            tap("gated", gate(parts)?.silu()?) // (b, l, n)
        }),
        small("silu_by_definition", BATCH, GATE, |parts| {
            let x = gate(parts)?; // (b, l, n)
            tap("gated", x.div(&(x.neg()?.exp()? + 1.)?)?) // ~fault
        }),
        small("elu_of_candle", BATCH, GATE, |parts| {
            tap("bent", gate(parts)?.elu(1.)?) // (b, l, n)
        }),
        small("elu_by_definition", BATCH, GATE, |parts| {
            let x = gate(parts)?; // (b, l, n)
            let below = (x.exp()? - 1.)?; // (b, l, n)
            tap("bent", x.gt(0.)?.where_cond(&x, &below)?) // ~fault
        }),
        small("sigmoid_of_tanh", BATCH, GATE, |parts| {
            tap("opened", (((gate(parts)? * 0.5)?.tanh()? + 1.)? * 0.5)?) // (b, l, n)
        }),
        small("sigmoid_by_definition", BATCH, GATE, |parts| {
            let x = gate(parts)?; // (b, l, n)
            tap("opened", (x.neg()?.exp()? + 1.)?.recip()?) // ~fault
        }),
    ]
}

/// What decays between tokens j and i, and whether j ≤ i: (b, l, l), (b, l, l).
fn segments(parts: &Parts<'_>) -> candle_core::Result<(Tensor, Tensor)> {
    let x = parts.get("input")?.sqr()?; // (b, l, d)
    let rate = parts.get("rate")?.sqr()?.t()?; // (d, 1)
    let sums = x.broadcast_matmul(&rate)?.cumsum(1)?; // (b, l, 1)
    let segments = tap("segments", (sums.t()?.broadcast_sub(&sums)? * 64.)?)?; // (b, l, l)
    let (_, l, _) = segments.dims3()?;
    let lower = Tensor::tril2(l, candle_core::DType::U8, segments.device())?;
    Ok((segments.clone(), lower.broadcast_as(segments.shape())?))
}

/// A gate whose values go beyond ±100.
fn gate(parts: &Parts<'_>) -> candle_core::Result<Tensor> {
    let w = parts.get("gate.weight")?; // (n, d)
    tap("gate", (parts.get("input")?.broadcast_matmul(&w.t()?)? * 1000.)?) // (b, l, n)
}
