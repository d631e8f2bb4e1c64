//! Comparing values.

use candle_core::{DType, Result, Tensor};

/// max |a − b| / max |b|; max |a| where b is zero.
///
/// # Errors
/// Where the shapes differ.
pub fn relative_error(a: &Tensor, b: &Tensor) -> Result<f64> {
    if a.dims() != b.dims() {
        candle_core::bail!("shapes {:?} and {:?} differ", a.dims(), b.dims());
    }
    let (a, b) = (list(a)?, list(b)?);
    let largest = |values: &mut dyn Iterator<Item = f64>| {
        values
            .fold(0., |m: f64, v| if v.is_nan() || m.is_nan() { f64::NAN } else { m.max(v.abs()) })
    };
    let apart = largest(&mut a.iter().zip(&b).map(|(a, b)| a - b));
    let scale = largest(&mut b.iter().copied());
    Ok(if scale == 0. { apart } else { apart / scale })
}

/// Whether two tensors hold the same bits, NaN included.
pub fn same_bits(a: &Tensor, b: &Tensor) -> bool {
    let bits = |t: &Tensor| -> candle_core::Result<Vec<u64>> {
        Ok(list(t)?.into_iter().map(f64::to_bits).collect())
    };
    matches!((bits(a), bits(b)), (Ok(a), Ok(b)) if a == b)
}

/// How far two tensors are apart where that is more than `tolerance`; nothing where they agree. A tolerance of zero asks
/// for equal values, and NaN agrees with NaN alone.
pub fn apart(a: &Tensor, b: &Tensor, tolerance: f64) -> Option<f64> {
    if a.dims() == b.dims() && same_bits(a, b) {
        return None;
    }
    let error = relative_error(a, b).unwrap_or(f64::INFINITY);
    (error.is_nan() || error > tolerance).then_some(error)
}

/// The values in order; candle cannot convert a view without elements.
pub(super) fn list(t: &Tensor) -> Result<Vec<f64>> {
    match t.elem_count() {
        0 => Ok(Vec::new()),
        _ => t.to_dtype(DType::F64)?.flatten_all()?.to_vec1::<f64>(),
    }
}
