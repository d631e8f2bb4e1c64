//! The forward pass: bands, heads, rows.
//!
//! Bands of channels are convolved, heads are scanned, and rows are gated; within each of the three, tasks share nothing.
use super::convolution::{Convolution, read};
use super::gate::Gate;
use super::head::Head;
use super::real::{Real, padded};
use super::spec::{Spec, View};
use super::steps::Steps;
use super::tasks::each;
use crate::scan::Sizes;

/// Rows that one task gates.
pub(super) const ROWS: usize = 16;

/// y (b, l, h·p) and the last state (b, h, p, n).
pub(super) fn forward<T: Real>(view: &View<'_, T>) -> (Vec<T>, Vec<T>) {
    let bands = Bands::new(view);
    let (heads, state) = scanned(view, &bands);
    let (spec, s) = (view.spec, view.spec.s());
    let shared = Rows::new(view);
    let mut y = vec![T::zero(); spec.sizes.b * spec.sizes.l * s];
    each(spec, y.chunks_mut(ROWS * s).enumerate().collect(), |(chunk, out)| {
        let mut row = shared.empty();
        let mut z = shared.empty();
        for (index, out) in out.chunks_exact_mut(s).enumerate() {
            let at = chunk * ROWS + index;
            shared.gather(&heads, at, &mut row);
            if spec.mixer.is_some() {
                shared.read_gate(view, at, &mut z);
                shared.gate().run(&z, &mut row);
            }
            shared.narrow(&row, out);
        }
    });
    (y, state)
}

/// What the scan reads, padded to whole vectors.
pub(super) struct Bands<T> {
    /// (b, h, l, p).
    pub x: Vec<T>,
    /// B and C (b, 2, g, l, n).
    pub bc: Vec<T>,
}

impl<T: Real> Bands<T> {
    pub(super) fn new(view: &View<'_, T>) -> Self {
        let (spec, Sizes { b, h, g, .. }) = (view.spec, view.spec.sizes);
        let mut x = vec![T::zero(); b * h * spec.head_size()];
        let mut bc = vec![T::zero(); b * 2 * g * spec.group_size()];
        let heads = spec.heads().zip(x.chunks_exact_mut(spec.head_size()));
        let groups = spec.groups().zip(bc.chunks_exact_mut(spec.group_size()));
        each(spec, heads.chain(groups).collect(), |(band, out)| match spec.mixer {
            Some(_) => Convolution::new(view, band).run(out),
            None => read(view, band, out),
        });
        Self { x, bc }
    }

    /// What head `index` of all rows reads.
    pub(super) fn head<'a>(
        &'a self,
        spec: &Spec,
        index: usize,
        steps: &'a Steps<T>,
        skip: &'a [T],
    ) -> Head<'a, T> {
        let Sizes { h, p, g, n, .. } = spec.sizes;
        let (batch, group) = (index / h, index % h / (h / g));
        let of_group = |index: usize| &self.bc[index * spec.group_size()..][..spec.group_size()];
        Head {
            steps,
            x: &self.x[index * spec.head_size()..][..spec.head_size()],
            b: of_group(batch * 2 * g + group),
            c: of_group(batch * 2 * g + g + group),
            skip,
            p,
            n,
        }
    }
}

/// y of each head before the gate (b, h, l, p), padded, and the last state (b, h, p, n).
pub(super) fn scanned<T: Real>(view: &View<'_, T>, bands: &Bands<T>) -> (Vec<T>, Vec<T>) {
    let (spec, Sizes { b, h, p, n, .. }) = (view.spec, view.spec.sizes);
    let mut y = vec![T::zero(); b * h * spec.head_size()];
    let mut state = view.state.to_vec();
    let tasks = y.chunks_exact_mut(spec.head_size()).zip(state.chunks_exact_mut(p * n));
    each(spec, tasks.enumerate().collect(), |(index, (y, state))| {
        let steps = Steps::new(view, index / h, index % h);
        let skip = view.skip(index % h);
        bands.head(spec, index, &steps, &skip).run(state, y);
    });
    (y, state)
}

/// How rows of h·p features lie, and what their gate needs.
pub(super) struct Rows<'a, T> {
    spec: &'a Spec,
    weight: Vec<T>,
}

impl<'a, T: Real> Rows<'a, T> {
    pub(super) fn new(view: &View<'a, T>) -> Self {
        let small = &view.small[view.spec.small().norm];
        let mut rows = Self { spec: view.spec, weight: vec![] };
        let mut weight = rows.empty();
        if small.is_empty() {
            weight.fill(T::one());
        } else {
            rows.widen(small, &mut weight);
        }
        rows.weight = weight;
        rows
    }

    pub(super) fn gate(&self) -> Gate<'_, T> {
        let Sizes { h, p, g, .. } = self.spec.sizes;
        let eps = self.spec.mixer.as_ref().and_then(|mixer| mixer.norm_eps);
        Gate { weight: &self.weight, eps, groups: g, features: h * p / g }
    }

    /// Numbers of a padded row.
    pub(super) fn size(&self) -> usize {
        self.spec.sizes.h * padded(self.spec.sizes.p)
    }

    pub(super) fn empty(&self) -> Vec<T> {
        vec![T::zero(); self.size()]
    }

    /// (h, p) → (h, p), padded.
    pub(super) fn widen(&self, row: &[T], out: &mut [T]) {
        let p = self.spec.sizes.p;
        for (out, row) in out.chunks_exact_mut(padded(p)).zip(row.chunks_exact(p)) {
            out[..p].copy_from_slice(row);
        }
    }

    /// Undoes [`Rows::widen`].
    pub(super) fn narrow(&self, row: &[T], out: &mut [T]) {
        let p = self.spec.sizes.p;
        for (out, row) in out.chunks_exact_mut(p).zip(row.chunks_exact(padded(p))) {
            out.copy_from_slice(&row[..p]);
        }
    }

    /// The row of token `at` of all, from what lies head by head (b, h, l, p).
    pub(super) fn gather(&self, heads: &[T], at: usize, out: &mut [T]) {
        let Sizes { l, h, p, .. } = self.spec.sizes;
        let (batch, t, width) = (at / l, at % l, padded(p));
        for (head, out) in out.chunks_exact_mut(width).enumerate() {
            let from = ((batch * h + head) * l + t) * width;
            out.copy_from_slice(&heads[from..from + width]);
        }
    }

    /// z of token `at` of all.
    pub(super) fn read_gate(&self, view: &View<'_, T>, at: usize, out: &mut [T]) {
        let l = self.spec.sizes.l;
        self.widen(&view.row(at / l, at % l)[..self.spec.s()], out);
    }
}
