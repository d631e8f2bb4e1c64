//! The scan of one head over one row, and its adjoint.
use pulp::{Simd, WithSimd};

use super::real::{Real, padded};
use super::recurrence::{Adjoint, Recurrence, Way};
use super::steps::Steps;

/// What one head reads, all padded to whole vectors.
#[derive(Clone, Copy)]
pub(super) struct Head<'a, T> {
    pub steps: &'a Steps<T>,
    /// (l, p).
    pub x: &'a [T],
    /// Of the head's group (l, n).
    pub b: &'a [T],
    pub c: &'a [T],
    /// D of each feature (p).
    pub skip: &'a [T],
    pub p: usize,
    pub n: usize,
}

/// The gradients of [`Head`].
pub(super) struct Gradients<T> {
    /// (l, p).
    pub x: Vec<T>,
    /// (l, n).
    pub b: Vec<T>,
    pub c: Vec<T>,
    /// Outside the decay (l).
    pub dt: Vec<T>,
    /// Of dt·A (l).
    pub log_decay: Vec<T>,
    /// (p).
    pub skip: Vec<T>,
    /// Of the first state (p, n), not padded.
    pub state: Vec<T>,
}

impl<T: Real> Head<'_, T> {
    /// y (l, p), and the last state in place of the first (p, n), not padded.
    pub(super) fn run(&self, state: &mut [T], y: &mut [T]) {
        let mut across = self.across(state);
        pulp::Arch::new().dispatch(Forth { head: self, state: &mut across, y });
        self.along(&across, state);
    }

    /// The gradients, from those of y (l, p) and of the last state (p, n), with the first state (p, n).
    pub(super) fn adjoint(&self, start: &[T], y: &[T], end: &[T]) -> Gradients<T> {
        let (l, n) = (self.steps.decay.len(), padded(self.n));
        let mut out = Gradients {
            x: vec![T::zero(); self.x.len()],
            b: vec![T::zero(); l * n],
            c: vec![T::zero(); l * n],
            dt: vec![T::zero(); l],
            log_decay: vec![T::zero(); l],
            skip: vec![T::zero(); self.skip.len()],
            state: vec![T::zero(); start.len()],
        };
        let (start, mut gradient) = (Sides::new(self, start), Sides::new(self, end));
        let out_of = Back { head: self, start, gradient: &mut gradient, y, out: &mut out };
        pulp::Arch::new().dispatch(out_of);
        self.along(&gradient.across, &mut out.state);
        out
    }

    /// (p, n) → (n, p), padded: the features along the vectors.
    fn across(&self, state: &[T]) -> Vec<T> {
        let width = padded(self.p);
        let mut across = vec![T::zero(); padded(self.n) * width];
        for (feature, row) in state.chunks_exact(self.n).enumerate() {
            for (index, value) in row.iter().enumerate() {
                across[index * width + feature] = *value;
            }
        }
        across
    }

    /// Undoes [`Head::across`].
    fn along(&self, across: &[T], state: &mut [T]) {
        let width = padded(self.p);
        for (feature, row) in state.chunks_exact_mut(self.n).enumerate() {
            for (index, value) in row.iter_mut().enumerate() {
                *value = across[index * width + feature];
            }
        }
    }
}

/// A state with its features along the vectors (n, p), and across them (p, n).
struct Sides<T> {
    across: Vec<T>,
    along: Vec<T>,
}

impl<T: Real> Sides<T> {
    fn new(head: &Head<'_, T>, state: &[T]) -> Self {
        let width = padded(head.n);
        let mut along = vec![T::zero(); padded(head.p) * width];
        for (out, row) in along.chunks_exact_mut(width).zip(state.chunks_exact(head.n)) {
            out[..head.n].copy_from_slice(row);
        }
        Self { across: head.across(state), along }
    }
}

/// dt·x (l, p).
#[inline(always)]
fn entering<S: Simd, T: Real>(s: S, head: &Head<'_, T>) -> Vec<T> {
    let mut u = head.x.to_vec();
    for (u, dt) in u.chunks_exact_mut(padded(head.p)).zip(&head.steps.dt) {
        let dt = T::splat(s, *dt);
        for u in T::vectors_mut::<S>(u) {
            *u = T::times(s, *u, dt);
        }
    }
    u
}

struct Forth<'a, T> {
    head: &'a Head<'a, T>,
    state: &'a mut [T],
    y: &'a mut [T],
}

impl<T: Real> WithSimd for Forth<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let Self { head, state, y } = self;
        let (p, n) = (padded(head.p), padded(head.n));
        let u = entering(s, head);
        for (y, x) in y.chunks_exact_mut(p).zip(head.x.chunks_exact(p)) {
            let (x, skip) = (T::vectors::<S>(x), T::vectors::<S>(head.skip));
            for (v, y) in T::vectors_mut::<S>(y).iter_mut().enumerate() {
                *y = T::times(s, x[v], skip[v]);
            }
        }
        let decay = &head.steps.decay;
        let scan = Recurrence { decay, u: &u, b: head.b, c: head.c, w: p, m: n };
        scan.run(s, Way::Forth, state, y);
    }
}

struct Back<'a, T> {
    head: &'a Head<'a, T>,
    start: Sides<T>,
    /// Of the last state, and then of the first.
    gradient: &'a mut Sides<T>,
    y: &'a [T],
    out: &'a mut Gradients<T>,
}

impl<T: Real> WithSimd for Back<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let Self { head, start, gradient, y, out } = self;
        let (p, n) = (padded(head.p), padded(head.n));
        let decay = &head.steps.decay;
        let u = entering(s, head);

        // C reads S·gy, token by token: a scan whose vectors run along n.
        let mut state = start.along;
        let reads = Recurrence { decay, u: head.b, b: &u, c: y, w: n, m: p };
        reads.run(s, Way::Forth, &mut state, &mut out.c);

        // The gradient of the state is a scan from the last token, and B reads it.
        let after: Vec<T> = decay.iter().skip(1).copied().chain([T::one()]).collect();
        let enters = Recurrence { decay: &after, u: head.c, b: y, c: &u, w: n, m: p };
        enters.run(s, Way::Back, &mut gradient.along, &mut out.b);

        let mut gu = vec![T::zero(); u.len()];
        let scan = Recurrence { decay, u: &u, b: head.b, c: head.c, w: p, m: n };
        let log_decay = &mut out.log_decay;
        let adjoint = Adjoint { y, state: &mut gradient.across, u: &mut gu, log_decay };
        scan.adjoint(s, &start.across, adjoint);
        features(s, head, y, &gu, out);
    }
}

/// The gradients of x, of D and of dt as a factor of x, from that of dt·x (l, p).
#[inline(always)]
fn features<S: Simd, T: Real>(s: S, head: &Head<'_, T>, y: &[T], gu: &[T], out: &mut Gradients<T>) {
    let vectors = padded(head.p) / T::lanes::<S>();
    let (x, gy, gu) = (T::vectors::<S>(head.x), T::vectors::<S>(y), T::vectors::<S>(gu));
    let (skip, g_skip) = (T::vectors::<S>(head.skip), T::vectors_mut::<S>(&mut out.skip));
    let gx = T::vectors_mut::<S>(&mut out.x);
    for (t, g_dt) in out.dt.iter_mut().enumerate() {
        let dt = T::splat(s, head.steps.dt[t]);
        let mut sum = T::splat(s, T::zero());
        for v in 0..vectors {
            let at = t * vectors + v;
            gx[at] = T::mul_add(s, gy[at], skip[v], T::times(s, gu[at], dt));
            g_skip[v] = T::mul_add(s, gy[at], x[at], g_skip[v]);
            sum = T::mul_add(s, gu[at], x[at], sum);
        }
        *g_dt += T::sum(s, sum);
    }
}
