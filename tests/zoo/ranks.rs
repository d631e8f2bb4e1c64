//! Axes that are lost, kept or added.

use shapelock::tap;

use super::kit::{BATCH, Small, small};

const HEAD: &[(&str, &str)] = &[("head.weight", "n d")];

/// A right twin and five faults: what pools the tokens of a sample.
pub fn subjects() -> Vec<Small> {
    let pooled = |name, pool: fn(&Tensor) -> Result<Tensor>| {
        small(name, BATCH, HEAD, move |parts| {
            let w = parts.get("head.weight")?; // (n, d)
            let y = tap("tokens", parts.get("input")?.broadcast_matmul(&w.t()?)?)?; // (b, l, n)
            pool(&y)
        })
    };
    vec![
        pooled("pool_mean", |y| {
            tap("pooled", y.mean(1)?) // (b, n)
        }),
        pooled("pool_squeeze_0", |y| {
            tap("pooled", y.mean(1)?.squeeze(0)?) // ~fault
        }),
        pooled("pool_keepdim", |y| {
            tap("pooled", y.mean_keepdim(1)?) // ~fault
        }),
        pooled("pool_wrong_axis", |y| {
            tap("pooled", y.mean(0)?) // ~fault
        }),
        pooled("pool_last_axis", |y| {
            tap("pooled", y.mean(2)?) // ~fault
        }),
        pooled("pool_unsqueezed", |y| {
            tap("pooled", y.mean(1)?.unsqueeze(0)?) // ~fault
        }),
    ]
}

type Result<T> = candle_core::Result<T>;
type Tensor = candle_core::Tensor;
