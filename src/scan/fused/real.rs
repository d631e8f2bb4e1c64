//! The numbers that the fused kernels compute in, and vectors of them as wide as the machine has.
//!
//! A kernel is generic over the number and over the instruction set: `pulp` detects the set when the program runs and
//! calls the kernel compiled for it. Where it finds none, a vector is one number and the code is plain Rust.
use candle_core::WithDType;
use pulp::{Simd, bytemuck};

use super::exp;

/// f32 or f64.
///
/// Every vector operation takes the instruction set `s` first. `a.mul_add(b, c)` is rounded once or twice, as the
/// machine does it faster.
pub(super) trait Real: WithDType + Default {
    /// As many numbers as one operation handles.
    type V<S: Simd>: Copy + bytemuck::Pod;

    fn lanes<S: Simd>() -> usize;
    /// The whole vectors of a slice; what is left behind them is not seen.
    fn vectors<S: Simd>(x: &[Self]) -> &[Self::V<S>];
    fn vectors_mut<S: Simd>(x: &mut [Self]) -> &mut [Self::V<S>];
    fn splat<S: Simd>(s: S, x: Self) -> Self::V<S>;
    fn plus<S: Simd>(s: S, a: Self::V<S>, b: Self::V<S>) -> Self::V<S>;
    fn minus<S: Simd>(s: S, a: Self::V<S>, b: Self::V<S>) -> Self::V<S>;
    fn times<S: Simd>(s: S, a: Self::V<S>, b: Self::V<S>) -> Self::V<S>;
    fn over<S: Simd>(s: S, a: Self::V<S>, b: Self::V<S>) -> Self::V<S>;
    fn mul_add<S: Simd>(s: S, a: Self::V<S>, b: Self::V<S>, c: Self::V<S>) -> Self::V<S>;
    fn abs<S: Simd>(s: S, a: Self::V<S>) -> Self::V<S>;
    /// The sum over the lanes.
    fn sum<S: Simd>(s: S, a: Self::V<S>) -> Self;
    /// eˣ, to 2 units in the last place.
    fn exp<S: Simd>(s: S, x: Self::V<S>) -> Self::V<S>;
    /// How many terms of the series of artanh(s), s ≤ 1/3, reach the precision.
    const ARTANH_TERMS: usize;
}

macro_rules! real {
    ($t:ident, $v:ident, $lanes:ident, $exp:path, $terms:literal, [$vectors:ident, $vectors_mut:ident, $splat:ident,
      $add:ident, $sub:ident, $mul:ident, $div:ident, $mul_add:ident, $abs:ident, $sum:ident]) => {
        impl Real for $t {
            type V<S: Simd> = S::$v;
            const ARTANH_TERMS: usize = $terms;

            #[inline(always)]
            fn lanes<S: Simd>() -> usize {
                S::$lanes
            }
            #[inline(always)]
            fn vectors<S: Simd>(x: &[Self]) -> &[S::$v] {
                S::$vectors(x).0
            }
            #[inline(always)]
            fn vectors_mut<S: Simd>(x: &mut [Self]) -> &mut [S::$v] {
                S::$vectors_mut(x).0
            }
            #[inline(always)]
            fn splat<S: Simd>(s: S, x: Self) -> S::$v {
                s.$splat(x)
            }
            #[inline(always)]
            fn plus<S: Simd>(s: S, a: S::$v, b: S::$v) -> S::$v {
                s.$add(a, b)
            }
            #[inline(always)]
            fn minus<S: Simd>(s: S, a: S::$v, b: S::$v) -> S::$v {
                s.$sub(a, b)
            }
            #[inline(always)]
            fn times<S: Simd>(s: S, a: S::$v, b: S::$v) -> S::$v {
                s.$mul(a, b)
            }
            #[inline(always)]
            fn over<S: Simd>(s: S, a: S::$v, b: S::$v) -> S::$v {
                s.$div(a, b)
            }
            #[inline(always)]
            fn mul_add<S: Simd>(s: S, a: S::$v, b: S::$v, c: S::$v) -> S::$v {
                s.$mul_add(a, b, c)
            }
            #[inline(always)]
            fn abs<S: Simd>(s: S, a: S::$v) -> S::$v {
                s.$abs(a)
            }
            #[inline(always)]
            fn sum<S: Simd>(s: S, a: S::$v) -> Self {
                s.$sum(a)
            }
            #[inline(always)]
            fn exp<S: Simd>(s: S, x: S::$v) -> S::$v {
                $exp(s, x)
            }
        }
    };
}

real!(
    f32,
    f32s,
    F32_LANES,
    exp::exp_f32,
    8,
    [
        as_simd_f32s,
        as_mut_simd_f32s,
        splat_f32s,
        add_f32s,
        sub_f32s,
        mul_f32s,
        div_f32s,
        mul_add_e_f32s,
        abs_f32s,
        reduce_sum_f32s
    ]
);
real!(
    f64,
    f64s,
    F64_LANES,
    exp::exp_f64,
    17,
    [
        as_simd_f64s,
        as_mut_simd_f64s,
        splat_f64s,
        add_f64s,
        sub_f64s,
        mul_f64s,
        div_f64s,
        mul_add_e_f64s,
        abs_f64s,
        reduce_sum_f64s
    ]
);

/// Numbers a row is padded to, with zeros: whole vectors of every instruction set, and whole blocks of a recurrence.
pub(super) const PAD: usize = 16;

/// `size` rounded up to whole vectors.
pub(super) const fn padded(size: usize) -> usize {
    size.next_multiple_of(PAD)
}
