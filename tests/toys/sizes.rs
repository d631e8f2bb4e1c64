//! Toys that do other things at some sizes, which the matrix of a case need not hold.

use candle_core::{D, Result, Tensor, bail};
use shapelock::tap;

use super::right;

/// Another path beyond 70 steps: a sum more.
pub fn far(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let y = right(x, w)?; // (b, l, n)
    if y.dim(1)? <= 70 {
        return Ok(y);
    }
    let total = y.sum_keepdim(D::Minus1)?; // (b, l, 1)
    y.broadcast_add(&total) // (b, l, n)
}

/// Takes no more than 60 steps.
pub fn short_alone(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    match x.dim(1)? {
        ..=60 => right(x, w),
        l => bail!("{l} steps, and 60 at most"),
    }
}

/// Features in another order, but where the batch is one: the op goes into a tap, which is there all the same.
pub fn unshuffled(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let (b, _, d) = x.dims3()?;
    let backwards = Tensor::from_vec((0..d as u32).rev().collect(), d, x.device())?;
    let x = if b == 1 { x.relu()? } else { x.index_select(&backwards, 2)? };
    right(&tap("shuffled", x)?, w) // (b, l, n)
}

/// Rows times features, which fits where there are as many of the one as of the other.
pub fn as_many_rows(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let scores = tap("scores", x.mean(1)?.matmul(&x.mean(1)?)?)?; // (b, d) × (d, d)
    scores.matmul(w)?.unsqueeze(1) // (b, 1, n)
}
