//! The backward pass, which computes the forward one anew and keeps nothing of l·h·p·n numbers.
//!
//! Every sum that more than one task adds to is made of their parts, in their order: the number of threads changes no bit.
use super::convolution::{self, Convolution};
use super::forward::{Bands, ROWS, Rows, scanned};
use super::head;
use super::real::{Real, padded};
use super::spec::{Band, View};
use super::steps::{self, Steps};
use super::tasks::each;
use crate::scan::Sizes;

/// The gradients of the inputs, each as its input lies.
pub(super) struct Gradients<T> {
    pub sequence: Vec<T>,
    pub small: Vec<T>,
    pub state: Vec<T>,
}

/// The gradients, from those of y (b, l, h·p) and of the last state (b, h, p, n); none is zero.
pub(super) fn backward<T: Real>(
    view: &View<'_, T>,
    y: Option<&[T]>,
    state: Option<&[T]>,
) -> Gradients<T> {
    let bands = Bands::new(view);
    let gated = Gated::new(view, &bands, y);
    let heads = heads(view, &bands, &gated.y, state);
    let channels = channels(view, &heads);
    Gradients {
        sequence: sequence(view, &gated, &heads, &channels),
        small: small(view, &gated, &heads, &channels),
        state: heads.into_iter().flat_map(|(scan, _)| scan.state).collect(),
    }
}

/// The gradients that the gate and the norm pass on.
struct Gated<T> {
    /// Rows of y before the gate (b, l, h, p), padded.
    y: Vec<T>,
    /// Rows of z (b, l, h, p), padded.
    z: Vec<T>,
    /// Of the norm's weight, a row for each task.
    weight: Vec<Vec<T>>,
}

impl<T: Real> Gated<T> {
    fn new(view: &View<'_, T>, bands: &Bands<T>, gradient: Option<&[T]>) -> Self {
        let (spec, rows) = (view.spec, Rows::new(view));
        let (size, s) = (rows.size(), spec.s());
        let mut y = vec![T::zero(); spec.sizes.b * spec.sizes.l * size];
        let Some(gradient) = gradient else {
            return Self { z: y.clone(), y, weight: vec![] };
        };
        if spec.mixer.is_none() {
            for (out, row) in y.chunks_exact_mut(size).zip(gradient.chunks_exact(s)) {
                rows.widen(row, out);
            }
            return Self { y, z: vec![], weight: vec![] };
        }
        let (scanned, _) = scanned(view, bands);
        let mut z = y.clone();
        let tasks = y.chunks_mut(ROWS * size).zip(z.chunks_mut(ROWS * size));
        let weight = each(spec, tasks.enumerate().collect(), |(chunk, (y, z))| {
            let (mut weight, mut wide) = (rows.empty(), rows.empty());
            let each = y.chunks_exact_mut(size).zip(z.chunks_exact_mut(size));
            for (index, (y, z)) in each.enumerate() {
                let at = chunk * ROWS + index;
                rows.gather(&scanned, at, y);
                rows.read_gate(view, at, z);
                rows.widen(&gradient[at * s..][..s], &mut wide);
                rows.gate().adjoint(z, y, &wide, &mut weight);
            }
            weight
        });
        Self { y, z, weight }
    }
}

type OfHead<T> = (head::Gradients<T>, steps::Gradients<T>);

/// The gradients of each head of each row.
fn heads<T: Real>(
    view: &View<'_, T>,
    bands: &Bands<T>,
    rows: &[T],
    state: Option<&[T]>,
) -> Vec<OfHead<T>> {
    let (spec, Sizes { b, l, h, p, n, .. }) = (view.spec, view.spec.sizes);
    let width = padded(p);
    let zeros = vec![T::zero(); p * n];
    each(spec, (0..b * h).collect(), |index| {
        let (batch, head) = (index / h, index % h);
        let mut y = vec![T::zero(); l * width];
        for (t, y) in y.chunks_exact_mut(width).enumerate() {
            y.copy_from_slice(&rows[((batch * l + t) * h + head) * width..][..width]);
        }
        let steps = Steps::new(view, batch, head);
        let skip = view.skip(head);
        let start = &view.state[index * p * n..][..p * n];
        let end = state.map_or(zeros.as_slice(), |state| &state[index * p * n..][..p * n]);
        let mut scan = bands.head(spec, index, &steps, &skip).adjoint(start, &y, end);
        let dt = std::mem::take(&mut scan.dt);
        let steps = steps.adjoint(view, batch, dt, &scan.log_decay);
        (scan, steps)
    })
}

/// The gradients of every band of x, and then of every band of B and C, in the order of [`Bands`].
fn channels<T: Real>(
    view: &View<'_, T>,
    heads: &[OfHead<T>],
) -> Vec<(Band, convolution::Gradients<T>)> {
    let (spec, Sizes { h, g, .. }) = (view.spec, view.spec.sizes);
    let of_heads = spec.heads().enumerate().map(|(index, band)| (band, index..index + 1, false));
    let of_groups = spec.groups().enumerate().map(|(index, band)| {
        let (batch, part, group) = (index / (2 * g), index / g % 2, index % g);
        let first = batch * h + group * (h / g);
        (band, first..first + h / g, part == 1)
    });
    let tasks = of_heads.chain(of_groups).enumerate().collect();
    each(spec, tasks, |(index, (band, members, reads))| {
        let mut sum: Vec<T> = vec![];
        for (scan, _) in &heads[members] {
            let part = match (index < heads.len(), reads) {
                (true, _) => &scan.x,
                (false, false) => &scan.b,
                (false, true) => &scan.c,
            };
            if sum.is_empty() {
                sum.clone_from(part);
            } else {
                add(&mut sum, part);
            }
        }
        let gradients = match spec.mixer {
            Some(_) => Convolution::new(view, band).adjoint(&sum),
            None => convolution::Gradients { extended: sum, weight: vec![], bias: vec![] },
        };
        (band, gradients)
    })
}

/// The gradient of the sequence (b, l, columns).
fn sequence<T: Real>(
    view: &View<'_, T>,
    gated: &Gated<T>,
    heads: &[OfHead<T>],
    channels: &[(Band, convolution::Gradients<T>)],
) -> Vec<T> {
    let (spec, Sizes { b, l, h, .. }) = (view.spec, view.spec.sizes);
    let (rows, columns, before) = (Rows::new(view), spec.columns(), spec.k() - 1);
    let mut out = vec![T::zero(); b * l * columns];
    each(spec, out.chunks_mut(ROWS * columns).enumerate().collect(), |(chunk, out)| {
        for (index, out) in out.chunks_exact_mut(columns).enumerate() {
            let at = chunk * ROWS + index;
            let (batch, t) = (at / l, at % l);
            if spec.mixer.is_some() {
                rows.narrow(&gated.z[at * rows.size()..][..rows.size()], &mut out[..spec.s()]);
            }
            for (band, gradients) in channels.iter().filter(|(band, _)| band.batch == batch) {
                let from = &gradients.extended[(before + t) * padded(band.width)..];
                let to = spec.gate() + band.channel..spec.gate() + band.channel + band.width;
                out[to].copy_from_slice(&from[..band.width]);
            }
            for (head, (_, steps)) in heads[batch * h..][..h].iter().enumerate() {
                out[spec.dt_column(head)] = steps.column[t];
            }
        }
    });
    out
}

/// The gradient of the small inputs and of the window.
fn small<T: Real>(
    view: &View<'_, T>,
    gated: &Gated<T>,
    heads: &[OfHead<T>],
    channels: &[(Band, convolution::Gradients<T>)],
) -> Vec<T> {
    let (spec, at, Sizes { h, p, .. }) = (view.spec, view.spec.small(), view.spec.sizes);
    let (k, before) = (spec.k(), spec.k() - 1);
    let mut out = vec![T::zero(); at.window.end];
    for (index, (scan, steps)) in heads.iter().enumerate() {
        let head = index % h;
        out[at.a.start + head] += steps.a;
        if !at.dt_bias.is_empty() {
            out[at.dt_bias.start + head] += steps.bias;
        }
        for (feature, skip) in scan.skip[..p].iter().enumerate() {
            let to = if spec.d_per_feature { head * p + feature } else { head };
            out[at.d.start + to] += *skip;
        }
    }
    for row in gated.weight.iter().filter(|_| !at.norm.is_empty()) {
        let wide = row.chunks_exact(padded(p)).flat_map(|head| &head[..p]);
        for (out, value) in out[at.norm.clone()].iter_mut().zip(wide) {
            *out += *value;
        }
    }
    for (band, gradients) in channels.iter().filter(|_| spec.mixer.is_some()) {
        let width = padded(band.width);
        for index in 0..band.width {
            let channel = band.channel + index;
            for j in 0..k {
                out[at.conv_weight.start + channel * k + j] += gradients.weight[j * width + index];
            }
            if !at.conv_bias.is_empty() {
                out[at.conv_bias.start + channel] += gradients.bias[index];
            }
            for t in 0..before {
                let to = (band.batch * before + t) * spec.channels() + channel;
                out[at.window.start + to] = gradients.extended[t * width + index];
            }
        }
    }
    out
}

fn add<T: Real>(sum: &mut [T], part: &[T]) {
    for (sum, part) in sum.iter_mut().zip(part) {
        *sum += *part;
    }
}
