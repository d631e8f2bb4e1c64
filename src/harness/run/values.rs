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

/// What values have to do with those that they should be, although they are others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Likeness {
    /// The same, in another order.
    OtherOrder,
    /// Each so many times as large.
    Times(f64),
    /// Each larger by so much.
    Plus(f64),
}

/// How close a likeness has to be, relative to the largest value.
const CLOSE: f64 = 1e-4;

/// What values have to do with those that they should be; nothing where they differ in no way that is known.
pub fn likeness(a: &Tensor, b: &Tensor) -> Option<Likeness> {
    let (a, b) = (list(a).ok()?, list(b).ok()?);
    let largest = b.iter().fold(0., |m: f64, v| m.max(v.abs()));
    let at = b.iter().position(|v| v.abs() == largest && largest > 0.)?;
    if a.len() != b.len() || a.iter().chain(&b).any(|v| !v.is_finite()) {
        return None;
    }
    let close = |x: f64, y: f64| (x - y).abs() <= CLOSE * largest;
    let sorted = |values: &[f64]| {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        values
    };
    let all = |f: &dyn Fn(f64) -> f64| a.iter().zip(&b).all(|(x, y)| close(*x, f(*y)));
    let (times, plus) = (a[at] / b[at], a[at] - b[at]);
    if times != 0. && all(&|y| y * times) {
        return Some(Likeness::Times(times));
    }
    if all(&|y| y + plus) {
        return Some(Likeness::Plus(plus));
    }
    let same = sorted(&a).iter().zip(&sorted(&b)).all(|(x, y)| close(*x, *y));
    same.then_some(Likeness::OtherOrder)
}

/// The values in order; candle cannot convert a view without elements.
pub(super) fn list(t: &Tensor) -> Result<Vec<f64>> {
    match t.elem_count() {
        0 => Ok(Vec::new()),
        _ => t.to_dtype(DType::F64)?.flatten_all()?.to_vec1::<f64>(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Device;

    #[test]
    fn values_are_alike_where_one_thing_tells_them_apart() -> Result<()> {
        let b = Tensor::new(&[1f64, -4., 2., 8.], &Device::Cpu)?;
        let of = |a: Result<Tensor>| Ok::<_, candle_core::Error>(likeness(&a?, &b));
        assert_eq!(of(&b * 0.5)?, Some(Likeness::Times(0.5)));
        assert_eq!(of(&b + 3.)?, Some(Likeness::Plus(3.)));
        let backwards = Tensor::new(&[8f64, 2., -4., 1.], &Device::Cpu);
        assert_eq!(of(backwards)?, Some(Likeness::OtherOrder));
        assert_eq!(of(b.sqr())?, None);
        Ok(())
    }
}
