//! Sequences that are padded, cut and put together again.

use candle_core::{Result, Tensor};
use shapelock::tap;

use super::kit::{BATCH, Small, small};

const KERNEL: &[(&str, &str)] = &[("conv.weight", "d 1 k")];
const GAIN: &[(&str, &str)] = &[("gain", "d")];

/// Three right twins, and five faults.
pub fn subjects() -> Vec<Small> {
    vec![
        conv("conv_trimmed", |y, l| {
            tap("conv", y.narrow(2, 0, l)?.transpose(1, 2)?) // (b, l, d)
        }),
        conv("conv_not_trimmed", |y, _| {
            tap("conv", y.transpose(1, 2)?) // ~fault
        }),
        conv("conv_one_short", |y, l| {
            tap("conv", y.narrow(2, 0, l - 1)?.transpose(1, 2)?) // ~fault
        }),
        chunked("chunks_padded", padded, joined),
        chunked(
            "chunks_one_too_many",
            |x, l, q| {
                tap("padded", x.pad_with_zeros(1, 0, q - l % q)?) // ~fault
            },
            joined,
        ),
        chunked("chunks_on_batch", padded, |chunks| {
            tap("tokens", Tensor::cat(chunks, 0)?) // ~fault
        }),
        chunked("chunks_on_features", padded, |chunks| {
            tap("tokens", Tensor::cat(chunks, 2)?) // ~fault
        }),
    ]
}

/// A causal convolution of each feature, padded at both ends and trimmed by `trim`: (b, d, l + k − 1) → (b, l, d).
fn conv(name: &'static str, trim: fn(&Tensor, usize) -> Result<Tensor>) -> Small {
    small(name, BATCH, KERNEL, move |parts| {
        let x = parts.get("input")?; // (b, l, d)
        let (_, l, d) = x.dims3()?;
        let kernel = parts.get("conv.weight")?; // (d, 1, k)
        let k = kernel.dim(2)?;
        let y = x.transpose(1, 2)?.contiguous()?.conv1d(&kernel, k - 1, 1, 1, d)?;
        trim(&y, l)
    })
}

/// Chunks of q tokens, worked on alone and put together: (b, l, d) → (b, c·q, d).
fn chunked(
    name: &'static str,
    pad: fn(&Tensor, usize, usize) -> Result<Tensor>,
    join: fn(&[Tensor]) -> Result<Tensor>,
) -> Small {
    small(name, BATCH, GAIN, move |parts| {
        let x = parts.get("input")?.broadcast_mul(&parts.get("gain")?)?; // (b, l, d)
        let ((b, l, d), q) = (x.dims3()?, parts.dim("q"));
        let x = pad(&x, l, q)?; // (b, c·q, d)
        let x = tap("chunks", x.reshape((b, x.dim(1)? / q, q, d))?)?; // (b, c, q, d)
        let chunk = |c| x.narrow(1, c, 1)?.squeeze(1)?.sin(); // (b, q, d)
        join(&(0..x.dim(1)?).map(chunk).collect::<Result<Vec<_>>>()?)
    })
}

fn padded(x: &Tensor, l: usize, q: usize) -> Result<Tensor> {
    tap("padded", x.pad_with_zeros(1, 0, (q - l % q) % q)?) // (b, c·q, d)
}

fn joined(chunks: &[Tensor]) -> Result<Tensor> {
    tap("tokens", Tensor::cat(chunks, 1)?) // (b, c·q, d)
}
