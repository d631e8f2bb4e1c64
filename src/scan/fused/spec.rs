//! What one fused op computes, and where its packed inputs hold what.
use std::ops::Range;

use super::real::{Real, padded};
use crate::scan::Sizes;

/// One fused op: a scan, or the whole core of a mixer around it.
#[derive(Clone, Debug)]
pub(super) struct Spec {
    pub sizes: Sizes,
    /// Whether D is (h, p), and not (h).
    pub d_per_feature: bool,
    /// Where the state is zeroed before the token (b·l).
    pub reset: Option<Vec<bool>>,
    /// What stands around the scan.
    pub mixer: Option<Mixer>,
}

/// What a mixer's core does around its scan.
#[derive(Clone, Debug)]
pub(super) struct Mixer {
    /// Width of the convolution.
    pub k: usize,
    pub conv_bias: bool,
    /// The least and the greatest dt.
    pub dt_limit: Option<(f64, f64)>,
    /// The norm's eps; without it, y is only gated.
    pub norm_eps: Option<f64>,
    /// Tokens of each row, behind which dt is 0.
    pub lengths: Option<Vec<usize>>,
}

/// Where the small inputs lie in their one vector. The window is the last of them.
pub(super) struct Small {
    pub conv_weight: Range<usize>,
    pub conv_bias: Range<usize>,
    pub dt_bias: Range<usize>,
    pub a: Range<usize>,
    pub d: Range<usize>,
    pub norm: Range<usize>,
    pub window: Range<usize>,
}

/// Columns of x, B or C that are convolved and scanned together, padded to whole vectors.
#[derive(Clone, Copy)]
pub(super) struct Band {
    /// The row of the batch.
    pub batch: usize,
    /// The first channel.
    pub channel: usize,
    /// How many.
    pub width: usize,
}

impl Spec {
    /// h·p.
    pub fn s(&self) -> usize {
        self.sizes.h * self.sizes.p
    }

    /// Channels of x, B and C.
    pub fn channels(&self) -> usize {
        self.s() + 2 * self.sizes.g * self.sizes.n
    }

    /// Columns before x: those of z.
    pub fn gate(&self) -> usize {
        if self.mixer.is_some() { self.s() } else { 0 }
    }

    /// Columns of the sequence.
    pub fn columns(&self) -> usize {
        self.gate() + self.channels() + self.sizes.h
    }

    /// The column of a head's dt.
    pub fn dt_column(&self, head: usize) -> usize {
        self.gate() + self.channels() + head
    }

    /// Width of the convolution; 1 where there is none.
    pub fn k(&self) -> usize {
        self.mixer.as_ref().map_or(1, |mixer| mixer.k)
    }

    pub fn small(&self) -> Small {
        let (c, h) = (self.channels(), self.sizes.h);
        let mut end = 0;
        let mut next = |size| {
            end += size;
            end - size..end
        };
        let mixer = self.mixer.as_ref();
        let of_mixer = |size, present: bool| if present { size } else { 0 };
        Small {
            conv_weight: next(of_mixer(c * self.k(), mixer.is_some())),
            conv_bias: next(of_mixer(c, mixer.is_some_and(|mixer| mixer.conv_bias))),
            dt_bias: next(of_mixer(h, mixer.is_some())),
            a: next(h),
            d: next(if self.d_per_feature { self.s() } else { h }),
            norm: next(of_mixer(self.s(), mixer.is_some_and(|mixer| mixer.norm_eps.is_some()))),
            window: next(self.sizes.b * (self.k() - 1) * c),
        }
    }

    /// The heads of x, row by row.
    pub fn heads(&self) -> impl Iterator<Item = Band> {
        let Sizes { b, h, p, .. } = self.sizes;
        let band = move |index: usize| Band { batch: index / h, channel: index % h * p, width: p };
        (0..b * h).map(band)
    }

    /// The groups of B and, after them, of C, row by row.
    pub fn groups(&self) -> impl Iterator<Item = Band> {
        let Sizes { b, g, n, .. } = self.sizes;
        let s = self.s();
        let band = move |index: usize| Band {
            batch: index / (2 * g),
            channel: s + index % (2 * g) * n,
            width: n,
        };
        (0..b * 2 * g).map(band)
    }

    /// Numbers of one head's x or y: l rows of p, padded.
    pub fn head_size(&self) -> usize {
        self.sizes.l * padded(self.sizes.p)
    }

    /// Numbers of one group's B or C: l rows of n, padded.
    pub fn group_size(&self) -> usize {
        self.sizes.l * padded(self.sizes.n)
    }

    /// Whether the state is zeroed before token t of a row.
    pub fn is_reset(&self, batch: usize, t: usize) -> bool {
        self.reset.as_ref().is_some_and(|reset| reset[batch * self.sizes.l + t])
    }

    /// How many tokens back the convolution reaches, at each token of a row: k − 1, or to the start of its sequence.
    pub fn reach(&self, batch: usize) -> Vec<usize> {
        let mut reach = vec![self.k() - 1; self.sizes.l];
        let mut since = None;
        for (t, reach) in reach.iter_mut().enumerate() {
            since = if self.is_reset(batch, t) { Some(0) } else { since.map(|since| since + 1) };
            *reach = since.map_or(*reach, |since: usize| since.min(*reach));
        }
        reach
    }
}

/// The inputs of one op, as they lie in memory.
#[derive(Clone, Copy)]
pub(super) struct View<'a, T> {
    pub spec: &'a Spec,
    /// z, x, B, C and dt, or x, B, C and dt alone (b, l, columns).
    pub sequence: &'a [T],
    /// See [`Small`].
    pub small: &'a [T],
    /// The first state (b, h, p, n).
    pub state: &'a [T],
}

impl<T: Real> View<'_, T> {
    /// One row of the sequence at one token.
    pub fn row(&self, batch: usize, t: usize) -> &[T] {
        let columns = self.spec.columns();
        &self.sequence[(batch * self.spec.sizes.l + t) * columns..][..columns]
    }

    /// −exp(A_log) in a mixer, and A in a scan.
    pub fn a(&self, head: usize) -> T {
        let a = self.small[self.spec.small().a][head];
        if self.spec.mixer.is_some() { T::from_f64(-a.to_f64().exp()) } else { a }
    }

    /// D of a head's features, padded.
    pub fn skip(&self, head: usize) -> Vec<T> {
        let (d, p) = (&self.small[self.spec.small().d], self.spec.sizes.p);
        let mut skip = vec![T::zero(); padded(p)];
        for (feature, skip) in skip.iter_mut().enumerate().take(p) {
            *skip = if self.spec.d_per_feature { d[head * p + feature] } else { d[head] };
        }
        skip
    }
}
