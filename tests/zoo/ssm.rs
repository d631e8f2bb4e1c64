//! The bug report's model, around its scan.

use candle_core::{Result, Tensor};
use shapelock::tap;

use super::kit::Parts;

/// Parameters of the bug report's model.
pub const SSM: &[(&str, &str)] =
    &[("input_projection.weight", "i d"), ("A", "n n"), ("B", "n i"), ("C", "i n")];

/// h_t = h_{t−1}·Aᵀ + u_t over u (b, l, n): every state, each (b, n).
pub fn states(u: &Tensor, a: &Tensor) -> Result<Vec<Tensor>> {
    scan(u, |h, u| h.matmul(&a.t()?)? + u) // (b, n)
}

/// The states of a recurrence `next` over u (b, l, n), from zeros.
pub fn scan(u: &Tensor, next: impl Fn(&Tensor, Tensor) -> Result<Tensor>) -> Result<Vec<Tensor>> {
    let (b, l, n) = u.dims3()?;
    let mut h = Tensor::zeros((b, n), u.dtype(), u.device())?;
    let mut states = Vec::with_capacity(l);
    for t in 0..l {
        let u = u.narrow(1, t, 1)?.squeeze(1)?; // (b, n)
        h = tap("scan.h", next(&h, u)?)?; // (b, n)
        states.push(h.clone());
    }
    Ok(states)
}

/// x·Wᵀ and then ·Bᵀ: (b, l, d) → what is scanned (b, l, n).
pub fn project(parts: &Parts<'_>, x: &Tensor) -> Result<Tensor> {
    let x = x.broadcast_matmul(&parts.get("input_projection.weight")?.t()?)?;
    let x = tap("input_projection", x)?; // (b, l, i)
    tap("scan_input", x.broadcast_matmul(&parts.get("B")?.t()?)?) // (b, l, n)
}

/// states·Cᵀ: (b, l, n) → (b, l, i).
pub fn output(parts: &Parts<'_>, states: &Tensor) -> Result<Tensor> {
    states.broadcast_matmul(&parts.get("C")?.t()?)
}
