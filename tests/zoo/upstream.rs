//! Faults that candle itself has, on its own layers and ops: each case says in which version they are alive.

use candle_core::{Result, Tensor};
use candle_nn::{LayerNorm, Linear, Module, ops, rotary_emb};
use shapelock::tap;

use super::kit::{BATCH, Parts, Small, small};

const LINEAR: &[(&str, &str)] = &[("linear.weight", "n d")];
const CONV: &[(&str, &str)] = &[("conv.weight", "n d k")];
const GAIN: &[(&str, &str)] = &[("gain", "d")];
const NORM: &[(&str, &str)] =
    &[("projection.weight", "d d"), ("norm.weight", "d"), ("norm.bias", "d")];
const HEADS: &[(&str, &str)] = &[("input", "b h l d"), ("other", "h b d l")];

/// Each right twin, and the fault after it.
pub fn subjects() -> Vec<Small> {
    vec![
        small("linear_on_contiguous", BATCH, LINEAR, |parts| {
            let linear = Linear::new(parts.get("linear.weight")?, None);
            tap("projected", linear.forward(&turned(parts)?.contiguous()?)?) // (b, l, n)
        }),
        small("linear_on_transposed", BATCH, LINEAR, |parts| {
            let linear = Linear::new(parts.get("linear.weight")?, None);
            tap("projected", linear.forward(&turned(parts)?)?) // ~fault
        }),
        small("linear_by_broadcast_matmul", BATCH, LINEAR, |parts| {
            let (x, w) = (parts.get("input")?, parts.get("linear.weight")?); // (b, l, d), (n, d)
            tap("projected", x.broadcast_matmul(&w.t()?)?) // (b, l, n)
        }),
        small("linear_on_any_layout", BATCH, LINEAR, |parts| {
            let linear = Linear::new(parts.get("linear.weight")?, None);
            tap("projected", linear.forward(&parts.get("input")?)?) // ~fault
        }),
        small("conv_by_products", BATCH, CONV, |parts| {
            let (x, w) = (parts.get("input")?, parts.get("conv.weight")?); // (b, l, d), (n, d, k)
            let (l, k) = (x.dim(1)?, w.dim(2)?);
            let x = x.pad_with_zeros(1, k - 1, 0)?; // (b, l + k - 1, d)
            let term =
                |j| x.narrow(1, j, l)?.broadcast_matmul(&w.narrow(2, j, 1)?.squeeze(2)?.t()?);
            tap("conv", (1..k).try_fold(term(0)?, |sum, j| sum + term(j)?)?) // (b, l, n)
        }),
        small("conv_dense", BATCH, CONV, |parts| {
            let (x, w) = (parts.get("input")?, parts.get("conv.weight")?); // (b, l, d), (n, d, k)
            let x = x.pad_with_zeros(1, w.dim(2)? - 1, 0)?.transpose(1, 2)?.contiguous()?;
            tap("conv", x.conv1d(&w, 0, 1, 1, 1)?.transpose(1, 2)?) // ~fault
        }),
        small("norm_of_ops", BATCH, NORM, |parts| {
            let (x, w, bias) =
                (projected(parts)?, parts.get("norm.weight")?, parts.get("norm.bias")?);
            tap("normed", ops::layer_norm_slow(&x, &w, &bias, 1e-5)?) // (b, l, d)
        }),
        small("norm_of_layer", BATCH, NORM, |parts| {
            let norm = LayerNorm::new(parts.get("norm.weight")?, parts.get("norm.bias")?, 1e-5);
            tap("normed", norm.forward(&projected(parts)?)?) // ~fault
        }),
        small("rope_of_ops", BATCH, GAIN, |parts| {
            let (x, cos, sin) = rotation(parts)?; // (b, 1, l, d), (l, d / 2), (l, d / 2)
            tap("rotated", rotary_emb::rope_slow(&x, &cos, &sin)?.squeeze(1)?) // (b, l, d)
        }),
        small("rope_fused", BATCH, GAIN, |parts| {
            let (x, cos, sin) = rotation(parts)?; // (b, 1, l, d), (l, d / 2), (l, d / 2)
            tap("rotated", rotary_emb::rope(&x, &cos, &sin)?.squeeze(1)?) // ~fault
        }),
        small("heads_in_order", HEADS, GAIN, |parts| {
            let x = parts.get("input")?.broadcast_mul(&parts.get("gain")?)?; // (b, h, l, d)
            let other = parts.get("other")?.transpose(0, 1)?.contiguous()?; // (b, h, d, l)
            tap("scores", x.matmul(&other)?) // (b, h, l, l)
        }),
        small("heads_out_of_order", HEADS, GAIN, |parts| {
            let x = parts.get("input")?.broadcast_mul(&parts.get("gain")?)?; // (b, h, l, d)
            tap("scores", x.matmul(&parts.get("other")?)?) // ~fault
        }),
        small("conv_padded_at_both_ends", BATCH, CONV, |parts| {
            let (x, w) = (parts.get("input")?, parts.get("conv.weight")?); // (b, l, d), (n, d, k)
            let (l, k) = (x.dim(1)?, w.dim(2)?);
            let y = x.transpose(1, 2)?.contiguous()?.conv1d(&w, k - 1, 1, 1, 1)?; // (b, n, l + k - 1)
            tap("conv", y.narrow(2, 0, l)?.transpose(1, 2)?) // ~fault
        }),
    ]
}

/// The input, (b, l, d), as it comes out of a layer that works on features first.
fn turned(parts: &Parts<'_>) -> Result<Tensor> {
    parts.get("input")?.transpose(1, 2)?.contiguous()?.transpose(1, 2)
}

fn projected(parts: &Parts<'_>) -> Result<Tensor> {
    let w = parts.get("projection.weight")?; // (d, d)
    tap("projected", parts.get("input")?.broadcast_matmul(&w.t()?)?) // (b, l, d)
}

/// gain · x with one head, (b, 1, l, d), and the cosines and sines of its places (l, d / 2).
fn rotation(parts: &Parts<'_>) -> Result<(Tensor, Tensor, Tensor)> {
    let x = tap("scaled", parts.get("input")?.broadcast_mul(&parts.get("gain")?)?)?; // (b, l, d)
    let (_, l, d) = x.dims3()?;
    let angles: Vec<f32> = (0..l * d / 2).map(|i| i as f32 * 0.1).collect();
    let angles = Tensor::from_vec(angles, (l, d / 2), x.device())?.to_dtype(x.dtype())?;
    Ok((x.unsqueeze(1)?.contiguous()?, angles.cos()?, angles.sin()?))
}
