//! One node of the graph for each of very many places: candle walks and frees such a graph by recursion.

use shapelock::tap;

use super::kit::{BATCH, Small, small};

const DECAY: &[(&str, &str)] = &[("decay", "d")];

/// The same sum, step by step and at once.
pub fn subjects() -> Vec<Small> {
    vec![
        small("sum_at_once", BATCH, DECAY, |parts| {
            let (x, a) = (parts.get("input")?, parts.get("decay")?); // (b, l, d), (d)
            let ratio = ((1. - a.powf(x.dim(1)? as f64)?)? / (1. - &a)?)?; // (d)
            tap("sum", x.mean(1)?.broadcast_mul(&ratio)?) // (b, d)
        }),
        small("sum_by_steps", BATCH, DECAY, |parts| {
            let (x, a) = (parts.get("input")?, parts.get("decay")?); // (b, l, d), (d)
            let u = x.mean(1)?; // (b, d)
            let step = |h, _| u.clone() + a.broadcast_mul(&h)?;
            tap("sum", (1..x.dim(1)?).try_fold(u.clone(), step)?) // (b, d)
        }),
    ]
}
