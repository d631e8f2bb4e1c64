//! The exponential and what is made of it, a vector at a time.
use pulp::{Simd, bytemuck};

use super::real::Real;

/// eˣ = 2ᵏ·eʳ with k the nearest integer to x/ln 2, and eʳ, |r| ≤ ln(2)/2, by its Taylor series, whose remainder after the
/// seventh power is below a tenth of a unit in the last place.
#[inline(always)]
pub(super) fn exp_f32<S: Simd>(s: S, x: S::f32s) -> S::f32s {
    /// Adding and subtracting it rounds to an integer, which its low bits hold meanwhile.
    const ROUND: f32 = 12_582_912.; // 1.5 · 2²³
    /// ln 2 in two parts, so that k·ln 2 loses nothing: the first has so few bits that the product is exact.
    const LN2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    const LOWEST: f32 = -87.3; // the last normal numbers
    const HIGHEST: f32 = 88.3;
    const FACTORIALS: [f32; 6] = [1. / 720., 1. / 120., 1. / 24., 1. / 6., 0.5, 1.];

    let splat = |x| s.splat_f32s(x);
    let clamped = s.max_f32s(s.min_f32s(x, splat(HIGHEST)), splat(LOWEST));
    let rounded = s.mul_add_e_f32s(clamped, splat(std::f32::consts::LOG2_E), splat(ROUND));
    let k = s.sub_f32s(rounded, splat(ROUND));
    let r = s.mul_add_e_f32s(k, splat(-LN2[0]), clamped);
    let r = s.mul_add_e_f32s(k, splat(-LN2[1]), r);

    let mut sum = splat(1. / 5040.);
    for term in FACTORIALS {
        sum = s.mul_add_e_f32s(sum, r, splat(term));
    }
    sum = s.mul_add_e_f32s(sum, r, splat(1.));
    let bits = s.wrapping_dyn_shl_u32s(s.transmute_u32s_f32s(rounded), s.splat_u32s(23));
    let power = s.transmute_f32s_u32s(s.add_u32s(bits, s.splat_u32s(1f32.to_bits()))); // 2ᵏ
    let vanishes = s.less_than_f32s(x, splat(LOWEST));
    let power = s.select_f32s(vanishes, splat(0.), s.mul_f32s(sum, power));
    // The clamp has made a number of what is none, which must not end here.
    s.select_f32s(s.equal_f32s(x, x), power, x)
}

/// eˣ, number by number: f64 is for checking gradients, and not for speed.
#[inline(always)]
pub(super) fn exp_f64<S: Simd>(_: S, mut x: S::f64s) -> S::f64s {
    for x in bytemuck::cast_slice_mut::<S::f64s, f64>(std::slice::from_mut(&mut x)) {
        *x = x.exp();
    }
    x
}

/// σ(x) = 1 / (1 + e⁻ˣ).
#[inline(always)]
pub(super) fn sigmoid<S: Simd, T: Real>(s: S, x: T::V<S>) -> T::V<S> {
    let one = T::splat(s, T::one());
    let power = T::exp(s, T::minus(s, T::splat(s, T::zero()), x));
    T::over(s, one, T::plus(s, one, power))
}

/// SiLU(x) = x·σ(x).
#[inline(always)]
pub(super) fn silu<S: Simd, T: Real>(s: S, x: T::V<S>) -> T::V<S> {
    T::times(s, x, sigmoid::<S, T>(s, x))
}

/// SiLU(x) and its derivative, σ·(1 + x·(1 − σ)).
#[inline(always)]
pub(super) fn silu_with_slope<S: Simd, T: Real>(s: S, x: T::V<S>) -> (T::V<S>, T::V<S>) {
    let one = T::splat(s, T::one());
    let sigmoid = sigmoid::<S, T>(s, x);
    let inner = T::mul_add(s, x, T::minus(s, one, sigmoid), one);
    (T::times(s, x, sigmoid), T::times(s, sigmoid, inner))
}

/// log(1 + eˣ) = max(x, 0) + log(1 + u), u = e^−|x|, and log(1 + u) = 2·artanh(u / (2 + u)) by its series: never infinite,
/// and precise for negative x.
#[inline(always)]
pub(super) fn softplus<S: Simd, T: Real>(s: S, x: T::V<S>) -> T::V<S> {
    let splat = |x| T::splat(s, T::from_f64(x));
    let coefficient = |term: usize| splat(2. / (2 * term + 1) as f64);
    let u = T::exp(s, T::minus(s, splat(0.), T::abs(s, x)));
    let a = T::over(s, u, T::plus(s, splat(2.), u));
    let squared = T::times(s, a, a);
    let mut sum = coefficient(T::ARTANH_TERMS);
    for term in (0..T::ARTANH_TERMS).rev() {
        sum = T::mul_add(s, sum, squared, coefficient(term));
    }
    let positive = T::times(s, splat(0.5), T::plus(s, x, T::abs(s, x)));
    T::mul_add(s, sum, a, positive)
}

#[cfg(test)]
mod tests {
    use pulp::{Arch, Scalar, Simd, WithSimd};

    use super::super::real::Real;
    use super::{sigmoid, softplus};

    /// e, σ and softplus of each number in place.
    struct Functions<'a, T>(&'a mut [T], &'a mut [T], &'a mut [T]);

    impl<T: Real> WithSimd for Functions<'_, T> {
        type Output = ();

        fn with_simd<S: Simd>(self, s: S) {
            for x in T::vectors_mut::<S>(self.0) {
                *x = T::exp(s, *x);
            }
            for x in T::vectors_mut::<S>(self.1) {
                *x = sigmoid::<S, T>(s, *x);
            }
            for x in T::vectors_mut::<S>(self.2) {
                *x = softplus::<S, T>(s, *x);
            }
        }
    }

    fn functions<T: Real>(x: &[T], plain: bool) -> [Vec<T>; 3] {
        let mut out = [x.to_vec(), x.to_vec(), x.to_vec()];
        let [e, sigmoid, softplus] = &mut out;
        let functions = Functions(e, sigmoid, softplus);
        if plain {
            functions.with_simd(Scalar)
        } else {
            Arch::new().dispatch(functions)
        }
        out
    }

    /// How many units in the last place of an f32 a number is off.
    fn units(actual: f32, expected: f64) -> f64 {
        let unit =
            f64::from(f32::from_bits((expected as f32).to_bits() + 1)) - f64::from(expected as f32);
        (f64::from(actual) - expected).abs() / unit
    }

    #[test]
    fn the_exponential_is_off_by_two_units_at_most() {
        let x: Vec<f32> = (0..174_592).map(|index| index as f32 / 1000. - 87.).collect();
        for plain in [true, false] {
            let [e, sigmoid, softplus] = functions(&x, plain);
            for (index, x) in x.iter().enumerate() {
                let exact = f64::from(*x).exp();
                assert!(units(e[index], exact) <= 2., "exp({x}) = {}, exact {exact}", e[index]);
                let of_sigmoid = exact / (1. + exact);
                assert!(units(sigmoid[index], of_sigmoid) <= 4., "σ({x}) = {}", sigmoid[index]);
                let of_softplus = exact.ln_1p();
                assert!(
                    units(softplus[index], of_softplus) <= 4.,
                    "softplus({x}) = {}",
                    softplus[index]
                );
            }
        }
    }

    #[test]
    fn what_is_too_small_vanishes_and_what_is_no_number_stays_none() {
        for plain in [true, false] {
            let mut x = [0f32; 16];
            x[..4].copy_from_slice(&[f32::NEG_INFINITY, -200., f32::NAN, 0.]);
            let [e, sigmoid, softplus] = functions(&x, plain);
            assert_eq!((e[0], e[1], e[3]), (0., 0., 1.));
            assert!(e[2].is_nan() && sigmoid[2].is_nan() && softplus[2].is_nan());
            let mut x = [0f64; 16];
            x[..2].copy_from_slice(&[f64::NAN, -800.]);
            let [e, _, softplus] = functions(&x, plain);
            assert!(e[0].is_nan() && softplus[0].is_nan());
            assert_eq!((e[1], softplus[1]), (0., 0.));
        }
    }
}
