//! The two nonlinearities of Mamba-2, finite with their gradients everywhere.
use candle_core::{DType, Result, Tensor};

/// x · sigmoid(x), elementwise.
///
/// # Errors
/// Those of candle's; none for a float tensor.
pub fn silu(x: &Tensor) -> Result<Tensor> {
    x.silu()
}

/// log(1 + eˣ), elementwise, as relu(x) + log1p(e^−|x|).
///
/// The exponential never overflows, so values and gradients are finite for every finite x, and the result keeps its
/// relative precision for negative x, where log(1 + eˣ) rounds the small term away.
///
/// # Errors
/// Those of candle's; none for a float tensor.
///
/// ```
/// use candle_core::{Device, Tensor};
/// # fn main() -> candle_core::Result<()> {
/// let x = Tensor::new(&[-100f64, 0., 100.], &Device::Cpu)?;
/// let y = shapelock::model::softplus(&x)?.to_vec1::<f64>()?;
/// assert!((y[0] / (-100f64).exp() - 1.).abs() < 1e-15);
/// assert!((y[1] - 2f64.ln()).abs() < 1e-15);
/// assert_eq!(y[2], 100.);
/// # Ok(())
/// # }
/// ```
pub fn softplus(x: &Tensor) -> Result<Tensor> {
    x.relu()? + log1p(&x.abs()?.neg()?.exp()?)?
}

/// log(1 + u) for 0 ≤ u ≤ 1, as 2·artanh(s) = 2·(s + s³/3 + s⁵/5 + ...) with s = u / (2 + u) ≤ 1/3.
///
/// candle has no log1p. The series is made of differentiable ops alone, so that no custom op cuts the graph.
fn log1p(u: &Tensor) -> Result<Tensor> {
    let terms = if u.dtype() == DType::F64 { 17 } else { 8 };
    let s = (u / (u + 2.)?)?;
    let s2 = s.sqr()?;
    let coefficient = |term: usize| 2. / (2 * term + 1) as f64;
    let mut sum = s2.affine(coefficient(terms), coefficient(terms - 1))?;
    for term in (0..terms - 1).rev() {
        sum = (sum * &s2)?.affine(1., coefficient(term))?;
    }
    sum * s
}
