//! The causal depthwise convolution and SiLU over one band of channels, and their adjoint.
use pulp::{Simd, WithSimd};

use super::exp::{silu, silu_with_slope};
use super::real::{Real, padded};
use super::spec::{Band, View};

/// One band of a row with what its convolution needs, padded to whole vectors.
pub(super) struct Convolution<T> {
    /// The window and the sequence after it (k − 1 + l, width).
    extended: Vec<T>,
    /// (k, width).
    weight: Vec<T>,
    /// (width).
    bias: Vec<T>,
    /// How far each token reaches back (l).
    reach: Vec<usize>,
    k: usize,
}

/// The gradients of [`Convolution`].
pub(super) struct Gradients<T> {
    pub extended: Vec<T>,
    pub weight: Vec<T>,
    pub bias: Vec<T>,
}

impl<T: Real> Convolution<T> {
    pub(super) fn new(view: &View<'_, T>, band: Band) -> Self {
        let (spec, small) = (view.spec, view.spec.small());
        let (k, width, at) =
            (spec.k(), padded(band.width), band.channel..band.channel + band.width);
        let mut weight = vec![T::zero(); k * width];
        for (index, channel) in at.clone().enumerate() {
            for j in 0..k {
                weight[j * width + index] = view.small[small.conv_weight.start + channel * k + j];
            }
        }
        let mut bias = vec![T::zero(); width];
        if !small.conv_bias.is_empty() {
            bias[..band.width].copy_from_slice(&view.small[small.conv_bias][at]);
        }
        let mut extended = vec![T::zero(); (k - 1 + spec.sizes.l) * width];
        read(view, band, &mut extended);
        Self { extended, weight, bias, reach: spec.reach(band.batch), k }
    }

    /// SiLU(conv(extended)) (l, width).
    pub(super) fn run(&self, y: &mut [T]) {
        pulp::Arch::new().dispatch(Forth { of: self, y });
    }

    /// The gradients, from that of the output (l, width).
    pub(super) fn adjoint(&self, gradient: &[T]) -> Gradients<T> {
        let mut out = Gradients {
            extended: vec![T::zero(); self.extended.len()],
            weight: vec![T::zero(); self.weight.len()],
            bias: vec![T::zero(); self.bias.len()],
        };
        pulp::Arch::new().dispatch(Back { of: self, gradient, out: &mut out });
        out
    }

    /// The convolution at token t of vector v, before SiLU.
    #[inline(always)]
    fn at<S: Simd>(&self, s: S, t: usize, v: usize) -> T::V<S> {
        let vectors = self.bias.len() / T::lanes::<S>();
        let extended = T::vectors::<S>(&self.extended);
        let weight = T::vectors::<S>(&self.weight);
        let mut sum = T::vectors::<S>(&self.bias)[v];
        for j in self.k - 1 - self.reach[t]..self.k {
            sum = T::mul_add(s, weight[j * vectors + v], extended[(t + j) * vectors + v], sum);
        }
        sum
    }
}

/// Copies a band of the window, and of the sequence after it, into whole vectors (k − 1 + l, width).
pub(super) fn read<T: Real>(view: &View<'_, T>, band: Band, extended: &mut [T]) {
    let (spec, width) = (view.spec, padded(band.width));
    let before = spec.k() - 1;
    let window = &view.small[spec.small().window][band.batch * before * spec.channels()..];
    let columns = spec.gate() + band.channel..spec.gate() + band.channel + band.width;
    for (t, out) in extended.chunks_exact_mut(width).enumerate() {
        let from = if t < before {
            &window[t * spec.channels() + band.channel..][..band.width]
        } else {
            &view.row(band.batch, t - before)[columns.clone()]
        };
        out[..band.width].copy_from_slice(from);
    }
}

struct Forth<'a, T> {
    of: &'a Convolution<T>,
    y: &'a mut [T],
}

impl<T: Real> WithSimd for Forth<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let vectors = self.of.bias.len() / T::lanes::<S>();
        let y = T::vectors_mut::<S>(self.y);
        for t in 0..self.of.reach.len() {
            for v in 0..vectors {
                y[t * vectors + v] = silu::<S, T>(s, self.of.at(s, t, v));
            }
        }
    }
}

struct Back<'a, T> {
    of: &'a Convolution<T>,
    gradient: &'a [T],
    out: &'a mut Gradients<T>,
}

impl<T: Real> WithSimd for Back<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let Self { of, gradient, out } = self;
        let vectors = of.bias.len() / T::lanes::<S>();
        let (gradient, extended) = (T::vectors::<S>(gradient), T::vectors::<S>(&of.extended));
        let weight = T::vectors::<S>(&of.weight);
        let (g_extended, g_weight) =
            (T::vectors_mut::<S>(&mut out.extended), T::vectors_mut::<S>(&mut out.weight));
        let g_bias = T::vectors_mut::<S>(&mut out.bias);
        for t in 0..of.reach.len() {
            for v in 0..vectors {
                let (_, slope) = silu_with_slope::<S, T>(s, of.at(s, t, v));
                let g = T::times(s, gradient[t * vectors + v], slope);
                g_bias[v] = T::plus(s, g_bias[v], g);
                for j in of.k - 1 - of.reach[t]..of.k {
                    let (tap, at) = (j * vectors + v, (t + j) * vectors + v);
                    g_weight[tap] = T::mul_add(s, g, extended[at], g_weight[tap]);
                    g_extended[at] = T::mul_add(s, g, weight[tap], g_extended[at]);
                }
            }
        }
    }
}
