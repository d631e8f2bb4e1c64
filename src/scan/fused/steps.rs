//! The step sizes of one head, what they leave of the state, and their adjoint.
use pulp::{Simd, WithSimd};

use super::exp::{sigmoid, softplus};
use super::real::{Real, padded};
use super::spec::View;

/// dt and exp(dt·A) at each token of one head.
pub(super) struct Steps<T> {
    /// Before softplus (l), padded.
    raw: Vec<T>,
    /// Positive, 0 in padding (l), padded.
    pub dt: Vec<T>,
    /// 0 where the state is reset (l).
    pub decay: Vec<T>,
    pub a: T,
}

/// The gradients of [`Steps`].
pub(super) struct Gradients<T> {
    /// Of the column of dt (l).
    pub column: Vec<T>,
    pub bias: T,
    /// Of A_log in a mixer, and of A in a scan.
    pub a: T,
}

impl<T: Real> Steps<T> {
    pub(super) fn new(view: &View<'_, T>, batch: usize, head: usize) -> Self {
        let (spec, l) = (view.spec, view.spec.sizes.l);
        let column = spec.dt_column(head);
        let mut raw = vec![T::zero(); padded(l)];
        for (t, raw) in raw.iter_mut().enumerate().take(l) {
            *raw = view.row(batch, t)[column];
        }
        let mut dt = raw.clone();
        if let Some(mixer) = &spec.mixer {
            let bias = view.small[spec.small().dt_bias][head];
            raw.iter_mut().for_each(|raw| *raw += bias);
            dt.copy_from_slice(&raw);
            pulp::Arch::new().dispatch(Map(&mut dt, Function::Softplus));
            if let Some((min, max)) = mixer.dt_limit {
                let (min, max) = (T::from_f64(min), T::from_f64(max));
                dt.iter_mut().for_each(|dt| *dt = clamped(*dt, min, max));
            }
            dt[real(view, batch)..].fill(T::zero());
        }
        let a = view.a(head);
        let mut decay: Vec<T> = dt.iter().map(|dt| *dt * a).collect();
        pulp::Arch::new().dispatch(Map(&mut decay, Function::Exp));
        decay.truncate(l);
        for (t, decay) in decay.iter_mut().enumerate() {
            if spec.is_reset(batch, t) {
                *decay = T::zero();
            }
        }
        Self { raw, dt, decay, a }
    }

    /// The gradients, from those of dt outside the decay (l) and of dt·A (l).
    pub(super) fn adjoint(
        self,
        view: &View<'_, T>,
        batch: usize,
        dt: Vec<T>,
        log_decay: &[T],
    ) -> Gradients<T> {
        let mut column = dt;
        let mut a = T::zero();
        for ((column, log_decay), dt) in column.iter_mut().zip(log_decay).zip(&self.dt) {
            *column += *log_decay * self.a;
            a += *log_decay * *dt;
        }
        let Some(mixer) = &view.spec.mixer else {
            return Gradients { column, bias: T::zero(), a };
        };
        let mut slope = self.raw;
        pulp::Arch::new().dispatch(Map(&mut slope, Function::Sigmoid));
        for ((column, slope), dt) in column.iter_mut().zip(slope).zip(&self.dt) {
            let free = mixer
                .dt_limit
                .is_none_or(|(min, max)| *dt > T::from_f64(min) && *dt < T::from_f64(max));
            *column = if free { *column * slope } else { T::zero() };
        }
        column[real(view, batch)..].fill(T::zero());
        let bias = column.iter().fold(T::zero(), |sum, column| sum + *column);
        Gradients { column, bias, a: a * self.a }
    }
}

/// Tokens of a row that are not padding.
fn real<T>(view: &View<'_, T>, batch: usize) -> usize {
    let lengths = view.spec.mixer.as_ref().and_then(|mixer| mixer.lengths.as_ref());
    lengths.map_or(view.spec.sizes.l, |lengths| lengths[batch])
}

/// Not a number stays none.
fn clamped<T: Real>(x: T, min: T, max: T) -> T {
    if x < min {
        min
    } else if x > max {
        max
    } else {
        x
    }
}

enum Function {
    Exp,
    Softplus,
    Sigmoid,
}

/// A function of each number in place.
struct Map<'a, T>(&'a mut [T], Function);

impl<T: Real> WithSimd for Map<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        for x in T::vectors_mut::<S>(self.0) {
            *x = match self.1 {
                Function::Exp => T::exp(s, *x),
                Function::Softplus => softplus::<S, T>(s, *x),
                Function::Sigmoid => sigmoid::<S, T>(s, *x),
            };
        }
    }
}
