//! The time-invariant scan with a full state matrix.
use candle_core::{Result, Tensor};

use super::{Bound, ScanError};

/// h_t = h_{t−1}·Aᵀ + u_t, from `u` (b, l, n), `a` (n, n) and `h0` (b, n), zeros without it.
///
/// Returns the states after each token (b, l, n) and the last one (b, n). The rows of a batch never meet: each step is a
/// product of (b, n) with (n, n), and the states are stacked along time. Taps: `scan.x`, `scan.h`, `states`.
///
/// # Errors
/// A wrapped [`ScanError`] where the shapes or dtypes do not fit or l is 0; or an error of candle's.
///
/// ```
/// use candle_core::{Device, Tensor};
/// # fn main() -> candle_core::Result<()> {
/// let u = Tensor::new(&[[[1f32], [0.], [0.]]], &Device::Cpu)?; // (b, l, n)
/// let a = Tensor::new(&[[0.5f32]], &Device::Cpu)?; // (n, n)
/// let (states, _last) = shapelock::scan::dense(&u, &a, None)?;
/// assert_eq!(states.flatten_all()?.to_vec1::<f32>()?, [1., 0.5, 0.25]);
/// # Ok(())
/// # }
/// ```
pub fn dense(u: &Tensor, a: &Tensor, h0: Option<&Tensor>) -> Result<(Tensor, Tensor)> {
    let (b, l, n) = check(u, a, h0)?;
    let a_t = a.t()?; // (n, n)
    let mut h = match h0 {
        Some(h0) => h0.clone(),
        None => Tensor::zeros((b, n), u.dtype(), u.device())?,
    };
    let mut states = Vec::with_capacity(l);
    for t in 0..l {
        let x = crate::tap("scan.x", u.narrow(1, t, 1)?.squeeze(1)?)?; // (b, n)
        h = crate::tap("scan.h", (h.matmul(&a_t)? + x)?)?; // (b, n)
        states.push(h.clone());
    }
    let states = crate::tap("states", Tensor::stack(&states, 1)?)?; // (b, l, n)
    Ok((states, h))
}

/// What [`dense`] computes, by its definition: h_t = Σ_{s≤t} u_s·(Aᵀ)^{t−s} + h0·(Aᵀ)^{t+1}, with no state carried from one
/// token to the next.
///
/// # Errors
/// Those of [`dense`].
pub fn dense_by_definition(
    u: &Tensor,
    a: &Tensor,
    h0: Option<&Tensor>,
) -> Result<(Tensor, Tensor)> {
    let (_, l, n) = check(u, a, h0)?;
    let a_t = a.t()?; // (n, n)
    let mut powers = vec![Tensor::eye(n, u.dtype(), u.device())?]; // (Aᵀ)^k, (n, n)
    let mut inputs = Vec::new(); // u_t, …, u_0, each (b, n)
    let mut states = Vec::with_capacity(l);
    for t in 0..l {
        inputs.insert(0, u.narrow(1, t, 1)?.squeeze(1)?);
        let h = Tensor::cat(&inputs, 1)?.matmul(&Tensor::cat(&powers, 0)?)?; // (b, (t+1)·n)·((t+1)·n, n)
        powers.push(powers[t].matmul(&a_t)?);
        states.push(match h0 {
            Some(h0) => (h + h0.matmul(&powers[t + 1])?)?, // (b, n)
            None => h,
        });
    }
    let last = states[l - 1].clone(); // (b, n)
    Ok((Tensor::stack(&states, 1)?, last)) // (b, l, n)
}

fn check(
    u: &Tensor,
    a: &Tensor,
    h0: Option<&Tensor>,
) -> std::result::Result<(usize, usize, usize), ScanError> {
    let shape = |argument, expected, tensor: &Tensor, bound| ScanError::Shape {
        argument,
        expected,
        actual: tensor.dims().to_vec(),
        bound: Bound(bound),
    };
    let &[b, l, n] = u.dims() else {
        return Err(shape("u", U, u, vec![]));
    };
    let bound = vec![("b", b), ("l", l), ("n", n)];
    if let Some((symbol, _)) = bound.iter().find(|(_, extent)| *extent == 0) {
        return Err(ScanError::Empty { argument: "u", symbol, expected: U, actual: vec![b, l, n] });
    }
    if a.dims() != [n, n] {
        return Err(shape("A", "(n, n)", a, bound));
    }
    if let Some(h0) = h0.filter(|h0| h0.dims() != [b, n]) {
        return Err(shape("h0", "(b, n)", h0, bound));
    }
    for (argument, tensor) in [("A", Some(a)), ("h0", h0)] {
        if let Some(actual) = tensor.map(Tensor::dtype).filter(|actual| *actual != u.dtype()) {
            return Err(ScanError::DType { argument, expected: u.dtype(), actual });
        }
    }
    Ok((b, l, n))
}

const U: &str = "(b, l, n)";
