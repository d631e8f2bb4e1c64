//! The gate and the norm of one token, RMSNorm(y·SiLU(z)), and their adjoint.
use pulp::{Simd, WithSimd};

use super::exp::{silu, silu_with_slope};
use super::real::Real;

/// What the rows of a mixer's end share. A row is h·p features, each head's p padded to whole vectors.
#[derive(Clone, Copy)]
pub(super) struct Gate<'a, T> {
    /// The norm's weight, a row.
    pub weight: &'a [T],
    /// The norm's eps; without it there is no norm.
    pub eps: Option<f64>,
    /// Groups that are normalised each on its own.
    pub groups: usize,
    /// Features of a group, padding aside.
    pub features: usize,
}

impl<T: Real> Gate<'_, T> {
    /// One row, in place of y.
    pub(super) fn run(self, z: &[T], y: &mut [T]) {
        pulp::Arch::new().dispatch(Forth { gate: self, z, y });
    }

    /// The gradients in place of z and y, from that of the output; adds that of the weight.
    pub(super) fn adjoint(self, z: &mut [T], y: &mut [T], gradient: &[T], weight: &mut [T]) {
        pulp::Arch::new().dispatch(Back { gate: self, z, y, gradient, weight });
    }

    /// 1 / √(mean + eps), of a sum of squares.
    fn scale(&self, eps: f64, squares: T) -> T {
        T::from_f64(1. / (squares.to_f64() / self.features as f64 + eps).sqrt())
    }
}

struct Forth<'a, T> {
    gate: Gate<'a, T>,
    z: &'a [T],
    y: &'a mut [T],
}

impl<T: Real> WithSimd for Forth<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let Self { gate, z, y } = self;
        let size = y.len() / gate.groups;
        for ((y, z), weight) in
            y.chunks_exact_mut(size).zip(z.chunks_exact(size)).zip(gate.weight.chunks_exact(size))
        {
            let (y, z) = (T::vectors_mut::<S>(y), T::vectors::<S>(z));
            let weight = T::vectors::<S>(weight);
            let mut squares = T::splat(s, T::zero());
            for v in 0..y.len() {
                y[v] = T::times(s, y[v], silu::<S, T>(s, z[v]));
                squares = T::mul_add(s, y[v], y[v], squares);
            }
            if let Some(eps) = gate.eps {
                let scale = T::splat(s, gate.scale(eps, T::sum(s, squares)));
                for v in 0..y.len() {
                    y[v] = T::times(s, T::times(s, y[v], scale), weight[v]);
                }
            }
        }
    }
}

struct Back<'a, T> {
    gate: Gate<'a, T>,
    z: &'a mut [T],
    y: &'a mut [T],
    gradient: &'a [T],
    weight: &'a mut [T],
}

impl<T: Real> WithSimd for Back<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let size = self.y.len() / self.gate.groups;
        let rows = self.y.chunks_exact_mut(size).zip(self.z.chunks_exact_mut(size));
        let rows = rows.zip(self.gradient.chunks_exact(size));
        let rows = rows.zip(self.gate.weight.chunks_exact(size));
        for ((((y, z), gradient), weight), g_weight) in rows.zip(self.weight.chunks_exact_mut(size))
        {
            let (y, z) = (T::vectors_mut::<S>(y), T::vectors_mut::<S>(z));
            let (gradient, weight) = (T::vectors::<S>(gradient), T::vectors::<S>(weight));
            let norm = normalised::<S, T>(s, self.gate, y, z, (gradient, weight));
            let g_weight = T::vectors_mut::<S>(g_weight);
            for v in 0..y.len() {
                let (gate, slope) = silu_with_slope::<S, T>(s, z[v]);
                let gated = T::times(s, y[v], gate);
                let unscaled = T::times(s, gradient[v], norm.scale);
                g_weight[v] = T::mul_add(s, unscaled, gated, g_weight[v]);
                // The norm takes from each feature's gradient its part along the row.
                let g = T::mul_add(s, unscaled, weight[v], T::times(s, gated, norm.along));
                z[v] = T::times(s, T::times(s, g, y[v]), slope);
                y[v] = T::times(s, g, gate);
            }
        }
    }
}

type Vectors<'a, T, S> = &'a [<T as Real>::V<S>];

/// What the norm multiplies the gradients by.
struct Norm<V> {
    scale: V,
    along: V,
}

#[inline(always)]
fn normalised<S: Simd, T: Real>(
    s: S,
    gate: Gate<'_, T>,
    y: Vectors<'_, T, S>,
    z: Vectors<'_, T, S>,
    (gradient, weight): (Vectors<'_, T, S>, Vectors<'_, T, S>),
) -> Norm<T::V<S>> {
    let zero = T::splat(s, T::zero());
    let Some(eps) = gate.eps else {
        return Norm { scale: T::splat(s, T::one()), along: zero };
    };
    let (mut squares, mut dot) = (zero, zero);
    for v in 0..y.len() {
        let gated = T::times(s, y[v], silu::<S, T>(s, z[v]));
        squares = T::mul_add(s, gated, gated, squares);
        dot = T::mul_add(s, T::times(s, gradient[v], weight[v]), gated, dot);
    }
    let scale = gate.scale(eps, T::sum(s, squares));
    let mean = T::sum(s, dot) / T::from_f64(gate.features as f64);
    let along = T::zero() - scale * scale * scale * mean;
    Norm { scale: T::splat(s, scale), along: T::splat(s, along) }
}
