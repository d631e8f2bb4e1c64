//! What gives right shapes by chance of sizes, formats or layouts, and shows in the op graph alone.

use candle_core::{DType, Result, Tensor};
use shapelock::tap;

use super::kit::{BATCH, Parts, Small, small};

const GAIN: &[(&str, &str)] = &[("gain", "d")];
const KEYS: &[(&str, &str)] = &[("query.weight", "n d"), ("key.weight", "n d")];

/// Each right twin, and the fault after it.
pub fn subjects() -> Vec<Small> {
    vec![
        keyed("state_of_each_row", |key, x| tap("state", key.t()?.matmul(x)?)), // (b, n, d)
        keyed("state_of_all_rows", |key, x| {
            let (b, l, d) = x.dims3()?;
            let key = key.reshape((b * l, ()))?; // (b·l, n)
            let state = key.t()?.matmul(&x.reshape((b * l, d))?)?; // (n, d)
            tap("state", state.unsqueeze(0)?.repeat((b, 1, 1))?) // (b, n, d) ~fault
        }),
        small("steps_at_once", BATCH, GAIN, |parts| {
            tap("steps", gained(parts)?.relu()?) // (b, l, d)
        }),
        small("steps_joined_on_rows", BATCH, GAIN, |parts| {
            let x = gained(parts)?;
            let step = |t| x.narrow(1, t, 1)?.relu(); // (b, 1, d)
            let steps: Vec<Tensor> = (0..x.dim(1)?).map(step).collect::<Result<_>>()?;
            tap("steps", Tensor::cat(&steps, 0)?) // ~fault
        }),
        small("decay_in_own_format", BATCH, GAIN, |parts| {
            let x = gained(parts)?;
            let decay = decay(&x)?.to_dtype(x.dtype())?; // (l, 1)
            tap("decayed", x.broadcast_mul(&decay)?) // (b, l, d)
        }),
        small("decay_in_f32", BATCH, GAIN, |parts| {
            let x = gained(parts)?;
            let decayed = x.to_dtype(DType::F32)?.broadcast_mul(&decay(&x)?)?; // (b, l, d)
            tap("decayed", decayed.to_dtype(x.dtype())?) // ~fault
        }),
    ]
}

/// Linear attention of queries over the state that `gather` makes of keys and x: (b, l, d) → (b, l, d).
fn keyed(name: &'static str, gather: fn(&Tensor, &Tensor) -> Result<Tensor>) -> Small {
    small(name, BATCH, KEYS, move |parts| {
        let x = parts.get("input")?; // (b, l, d)
        let key = tap("key", x.broadcast_matmul(&parts.get("key.weight")?.t()?)?)?; // (b, l, n)
        let query = x.broadcast_matmul(&parts.get("query.weight")?.t()?)?; // (b, l, n)
        let state = gather(&key, &x)?; // (b, n, d)
        tap("attended", query.matmul(&state)?) // (b, l, d)
    })
}

fn gained(parts: &Parts<'_>) -> Result<Tensor> {
    tap("gained", parts.get("input")?.broadcast_mul(&parts.get("gain")?)?) // (b, l, d)
}

/// The share that is left of each step: (l, 1).
fn decay(x: &Tensor) -> Result<Tensor> {
    let l = x.dim(1)?;
    let left: Vec<f32> = (0..l).map(|t| 0.5f32.powi(t as i32)).collect();
    Tensor::from_vec(left, (l, 1), x.device())
}
