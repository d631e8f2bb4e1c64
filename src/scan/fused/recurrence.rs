//! The recurrence of one head, held in registers: S ← a·S + b ⊗ u, y = c·S, and its adjoint.
//!
//! The state (m, w) lies with w along the vectors. It falls into blocks of [`ROWS`] rows by V vectors that never meet but
//! in sums over rows, so a block stays in registers for the whole sequence. Both sizes are padded to [`PAD`], and padding
//! with zeros stays zero.
use pulp::Simd;

use super::real::{PAD, Real};

/// Rows of a block.
const ROWS: usize = 8;
const _: () = assert!(PAD.is_multiple_of(ROWS));

/// Tokens between two states that the adjoint keeps; it computes those between them anew.
const SPAN: usize = 64;

/// What one head's recurrence reads.
#[derive(Clone, Copy)]
pub(super) struct Recurrence<'a, T> {
    /// What is left of the state at each token (l).
    pub decay: &'a [T],
    /// What enters the state along its vectors (l, w).
    pub u: &'a [T],
    /// How it enters each row (l, m).
    pub b: &'a [T],
    /// How each row is read (l, m).
    pub c: &'a [T],
    pub w: usize,
    pub m: usize,
}

/// From the first token to the last, or back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Forth,
    Back,
}

/// The gradients that the adjoint gives of [`Recurrence`].
pub(super) struct Adjoint<'a, T> {
    /// The gradient of y (l, w).
    pub y: &'a [T],
    /// Of the last state, and at the end of the first one (m, w).
    pub state: &'a mut [T],
    /// Of u, added to what is there (l, w).
    pub u: &'a mut [T],
    /// Of the logarithm of the decay, added to what is there (l).
    pub log_decay: &'a mut [T],
}

type Block<T, S, const V: usize> = [[<T as Real>::V<S>; V]; ROWS];

impl<T: Real> Recurrence<'_, T> {
    /// Passes the state (m, w) over the tokens and adds each one's reading to y (l, w).
    ///
    /// On the way back, the decay stands behind its token: it is applied before the token's own u enters.
    #[inline(always)]
    pub(super) fn run<S: Simd>(&self, s: S, way: Way, state: &mut [T], y: &mut [T]) {
        let lanes = T::lanes::<S>();
        let pairs = S::REGISTER_COUNT >= 32 && self.w.is_multiple_of(2 * lanes);
        for m0 in (0..self.m).step_by(ROWS) {
            if pairs {
                for w0 in (0..self.w).step_by(2 * lanes) {
                    self.run_block::<S, 2>(s, way, (m0, w0), state, y);
                }
            } else {
                for w0 in (0..self.w).step_by(lanes) {
                    self.run_block::<S, 1>(s, way, (m0, w0), state, y);
                }
            }
        }
    }

    #[inline(always)]
    fn run_block<S: Simd, const V: usize>(
        &self,
        s: S,
        way: Way,
        (m0, w0): (usize, usize),
        state: &mut [T],
        y: &mut [T],
    ) {
        let (w, m, l) = (self.w, self.m, self.decay.len());
        let mut h = load_block::<T, S, V>(s, state, (m0, w0), w);
        for step in 0..l {
            let t = if way == Way::Forth { step } else { l - 1 - step };
            let decay = T::splat(s, self.decay[t]);
            let u = &T::vectors::<S>(&self.u[t * w + w0..])[..V];
            let b = &self.b[t * m + m0..][..ROWS];
            let c = &self.c[t * m + m0..][..ROWS];
            let y = &mut T::vectors_mut::<S>(&mut y[t * w + w0..])[..V];
            let mut read = [T::splat(s, T::zero()); V];
            for row in 0..ROWS {
                let (b, c) = (T::splat(s, b[row]), T::splat(s, c[row]));
                for v in 0..V {
                    h[row][v] = T::mul_add(s, h[row][v], decay, T::times(s, u[v], b));
                    read[v] = T::mul_add(s, h[row][v], c, read[v]);
                }
            }
            for v in 0..V {
                y[v] = T::plus(s, y[v], read[v]);
            }
        }
        store_block::<T, S, V>(state, &h, (m0, w0), w);
    }

    /// The gradients of u, of the decay and of the first state `start` (m, w).
    ///
    /// Those of b and c are recurrences with the two sides exchanged, and the caller's.
    #[inline(always)]
    pub(super) fn adjoint<S: Simd>(&self, s: S, start: &[T], mut gradient: Adjoint<'_, T>) {
        let lanes = T::lanes::<S>();
        let pairs = S::REGISTER_COUNT >= 32 && self.w.is_multiple_of(2 * lanes);
        let mut kept = Kept::new::<S>(self.decay.len());
        for m0 in (0..self.m).step_by(ROWS) {
            if pairs {
                for w0 in (0..self.w).step_by(2 * lanes) {
                    self.adjoint_block::<S, 2>(s, (m0, w0), start, &mut kept, &mut gradient);
                }
            } else {
                for w0 in (0..self.w).step_by(lanes) {
                    self.adjoint_block::<S, 1>(s, (m0, w0), start, &mut kept, &mut gradient);
                }
            }
        }
    }

    #[inline(always)]
    fn adjoint_block<S: Simd, const V: usize>(
        &self,
        s: S,
        at: (usize, usize),
        start: &[T],
        kept: &mut Kept<T>,
        gradient: &mut Adjoint<'_, T>,
    ) {
        let (l, size) = (self.decay.len(), ROWS * V * T::lanes::<S>());
        let mut h = load_block::<T, S, V>(s, start, at, self.w);
        for (span, kept) in kept.spans.chunks_exact_mut(kept.size).enumerate() {
            put::<T, S, V>(&mut kept[..size], &h);
            for t in span * SPAN..l.min((span + 1) * SPAN) {
                self.step::<S, V>(s, t, at, &mut h);
            }
        }
        let mut g = load_block::<T, S, V>(s, gradient.state, at, self.w);
        for span in (0..l.div_ceil(SPAN)).rev() {
            let tokens = span * SPAN..l.min((span + 1) * SPAN);
            let mut h = get::<T, S, V>(s, &kept.spans[span * kept.size..][..size]);
            for t in tokens.clone() {
                put::<T, S, V>(&mut kept.states[(t - tokens.start) * kept.size..][..size], &h);
                self.step::<S, V>(s, t, at, &mut h);
            }
            for t in tokens.clone().rev() {
                let before = &kept.states[(t - tokens.start) * kept.size..][..size];
                self.step_back::<S, V>(s, t, at, &mut g, before, gradient);
            }
        }
        store_block::<T, S, V>(gradient.state, &g, at, self.w);
    }

    #[inline(always)]
    fn step<S: Simd, const V: usize>(
        &self,
        s: S,
        t: usize,
        (m0, w0): (usize, usize),
        h: &mut Block<T, S, V>,
    ) {
        let decay = T::splat(s, self.decay[t]);
        let u = &T::vectors::<S>(&self.u[t * self.w + w0..])[..V];
        let b = &self.b[t * self.m + m0..][..ROWS];
        for row in 0..ROWS {
            let b = T::splat(s, b[row]);
            for v in 0..V {
                h[row][v] = T::mul_add(s, h[row][v], decay, T::times(s, u[v], b));
            }
        }
    }

    /// Takes the gradient of the state over token t, from behind it to before it; `before` is the state there.
    #[inline(always)]
    fn step_back<S: Simd, const V: usize>(
        &self,
        s: S,
        t: usize,
        (m0, w0): (usize, usize),
        g: &mut Block<T, S, V>,
        before: &[T],
        gradient: &mut Adjoint<'_, T>,
    ) {
        let (w, m) = (self.w, self.m);
        let decay = T::splat(s, self.decay[t]);
        let gy = &T::vectors::<S>(&gradient.y[t * w + w0..])[..V];
        let b = &self.b[t * m + m0..][..ROWS];
        let c = &self.c[t * m + m0..][..ROWS];
        let before = &T::vectors::<S>(before)[..ROWS * V];
        let zero = [T::splat(s, T::zero()); V];
        let (mut gu, mut dot) = (zero, zero);
        for row in 0..ROWS {
            let (b, c) = (T::splat(s, b[row]), T::splat(s, c[row]));
            for v in 0..V {
                let whole = T::mul_add(s, gy[v], c, g[row][v]);
                gu[v] = T::mul_add(s, whole, b, gu[v]);
                g[row][v] = T::times(s, whole, decay);
                dot[v] = T::mul_add(s, g[row][v], before[row * V + v], dot[v]);
            }
        }
        let out = &mut T::vectors_mut::<S>(&mut gradient.u[t * w + w0..])[..V];
        for v in 0..V {
            out[v] = T::plus(s, out[v], gu[v]);
            gradient.log_decay[t] += T::sum(s, dot[v]);
        }
    }
}

/// Where the adjoint keeps states of one block.
struct Kept<T> {
    /// The state at the start of each span.
    spans: Vec<T>,
    /// The state before each token of one span.
    states: Vec<T>,
    size: usize,
}

impl<T: Real> Kept<T> {
    fn new<S: Simd>(l: usize) -> Self {
        let size = ROWS * 2 * T::lanes::<S>();
        Self {
            spans: vec![T::zero(); l.div_ceil(SPAN) * size],
            states: vec![T::zero(); l.min(SPAN) * size],
            size,
        }
    }
}

#[inline(always)]
fn load_block<T: Real, S: Simd, const V: usize>(
    s: S,
    state: &[T],
    (m0, w0): (usize, usize),
    w: usize,
) -> Block<T, S, V> {
    let mut block = [[T::splat(s, T::zero()); V]; ROWS];
    for row in 0..ROWS {
        block[row].copy_from_slice(&T::vectors::<S>(&state[(m0 + row) * w + w0..])[..V]);
    }
    block
}

#[inline(always)]
fn store_block<T: Real, S: Simd, const V: usize>(
    state: &mut [T],
    block: &Block<T, S, V>,
    (m0, w0): (usize, usize),
    w: usize,
) {
    for row in 0..ROWS {
        T::vectors_mut::<S>(&mut state[(m0 + row) * w + w0..])[..V].copy_from_slice(&block[row]);
    }
}

#[inline(always)]
fn put<T: Real, S: Simd, const V: usize>(kept: &mut [T], block: &Block<T, S, V>) {
    for (kept, row) in T::vectors_mut::<S>(kept).chunks_exact_mut(V).zip(block) {
        kept.copy_from_slice(row);
    }
}

#[inline(always)]
fn get<T: Real, S: Simd, const V: usize>(s: S, kept: &[T]) -> Block<T, S, V> {
    let mut block = [[T::splat(s, T::zero()); V]; ROWS];
    for (row, kept) in block.iter_mut().zip(T::vectors::<S>(kept).chunks_exact(V)) {
        row.copy_from_slice(kept);
    }
    block
}
