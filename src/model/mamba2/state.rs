//! What a model keeps between two pieces of a sequence.
use candle_core::{DType, Device, Result, Tensor};

use super::norm::at_least_f32;
use super::{Dims, InputError};
use crate::scan::Bound;

/// The state after a sequence: for each layer the last columns before the convolution, and the scan's state.
///
/// It is opaque: a model makes it, takes it back and gives the next one; rows can be selected, reordered and reset. A
/// state is never changed in place, so one can be kept and continued twice, and gradients flow through it.
#[derive(Clone, Debug)]
pub struct State {
    dims: Dims,
    layers: Vec<LayerState>,
}

/// The state of one layer, in at least f32.
#[derive(Clone, Debug)]
pub struct LayerState {
    /// The last k − 1 columns before the convolution, with c = h·p + 2·g·n channels (b, k − 1, c).
    pub window: Tensor,
    /// The scan's state (b, h, p, n).
    pub ssm: Tensor,
}

impl State {
    /// The state before any token, for `b` rows of a model that computes in `dtype`.
    pub(super) fn zeros(dims: Dims, b: usize, dtype: DType, device: &Device) -> Result<Self> {
        let dtype = at_least_f32(dtype);
        let layer = LayerState {
            window: Tensor::zeros((b, dims.k - 1, dims.conv()), dtype, device)?,
            ssm: Tensor::zeros((b, dims.h, dims.p, dims.n), dtype, device)?,
        };
        Ok(Self { dims, layers: vec![layer; dims.layers] })
    }

    pub(super) const fn new(dims: Dims, layers: Vec<LayerState>) -> Self {
        Self { dims, layers }
    }

    /// A state made of tensors, as from another implementation's cache.
    pub(super) fn of(dims: Dims, layers: Vec<LayerState>) -> std::result::Result<Self, InputError> {
        let differs =
            |what, expected: String, actual: String| InputError::State { what, expected, actual };
        if layers.len() != dims.layers {
            let (expected, actual) = (dims.layers.to_string(), layers.len().to_string());
            return Err(differs("number of layers", expected, actual));
        }
        let b = layers.first().and_then(|layer| layer.ssm.dims().first().copied()).unwrap_or(0);
        for layer in &layers {
            let window = ("window", &layer.window, vec![b, dims.k - 1, dims.conv()]);
            let ssm = ("ssm", &layer.ssm, vec![b, dims.h, dims.p, dims.n]);
            for (what, tensor, expected) in [window, ssm] {
                if tensor.dims() != expected {
                    let (expected, actual) = (format!("{expected:?}"), tensor.dims());
                    return Err(differs(what, expected, format!("{actual:?}")));
                }
            }
        }
        Ok(Self { dims, layers })
    }

    /// The layers' states, first layer first.
    pub fn layers(&self) -> &[LayerState] {
        &self.layers
    }

    /// Number of rows b.
    pub fn batch(&self) -> usize {
        self.layers.first().map_or(0, |layer| layer.ssm.dims()[0])
    }

    /// The rows of the given indices, in their order; an index may occur again.
    ///
    /// # Errors
    /// An [`InputError::Row`] outside the batch.
    pub fn select(&self, rows: &[u32]) -> Result<Self> {
        let b = self.batch();
        if let Some(&row) = rows.iter().find(|&&row| row as usize >= b) {
            return Err(InputError::Row { b, row: row as usize }.into());
        }
        self.map(|t| t.contiguous()?.index_select(&Tensor::new(rows, t.device())?, 0))
    }

    /// The same state with the given rows as before any token.
    ///
    /// # Errors
    /// An [`InputError::Row`] outside the batch.
    pub fn reset(&self, rows: &[u32]) -> Result<Self> {
        let b = self.batch();
        let mut kept = vec![1f32; b];
        for &row in rows {
            let kept = kept.get_mut(row as usize);
            *kept.ok_or(InputError::Row { b, row: row as usize })? = 0.;
        }
        self.map(|t| {
            let mut shape = vec![1; t.rank()];
            shape[0] = b;
            let kept = Tensor::new(kept.as_slice(), t.device())?.to_dtype(t.dtype())?;
            let kept = kept.ne(0f64)?.reshape(shape)?.broadcast_as(t.shape())?;
            kept.where_cond(t, &t.zeros_like()?)
        })
    }

    /// The same values without the graph that made them: where training truncates its backpropagation.
    pub fn detach(&self) -> Self {
        let layers = self.layers.iter();
        let layers = layers.map(|l| LayerState { window: l.window.detach(), ssm: l.ssm.detach() });
        Self { dims: self.dims, layers: layers.collect() }
    }

    /// Refuses a state that is not of this model's sizes, dtype and device, or not of `b` rows.
    pub(super) fn check(
        &self,
        dims: Dims,
        b: usize,
        dtype: DType,
        device: &Device,
    ) -> std::result::Result<(), InputError> {
        let differs =
            |what, expected: String, actual: String| InputError::State { what, expected, actual };
        if self.dims != dims {
            let text = |dims: Dims| Bound(dims.named()).to_string();
            return Err(differs("of another model", text(dims), text(self.dims)));
        }
        if self.batch() != b {
            return Err(differs("batch size", b.to_string(), self.batch().to_string()));
        }
        let Some(first) = self.layers.first() else {
            return Ok(());
        };
        let (expected, actual) = (at_least_f32(dtype), first.ssm.dtype());
        if expected != actual {
            return Err(differs("dtype", format!("{expected:?}"), format!("{actual:?}")));
        }
        if !first.ssm.device().same_device(device) {
            let text = |device: &Device| format!("{:?}", device.location());
            return Err(differs("device", text(device), text(first.ssm.device())));
        }
        Ok(())
    }

    fn map(&self, f: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Self> {
        let layer = |l: &LayerState| Ok(LayerState { window: f(&l.window)?, ssm: f(&l.ssm)? });
        let layers = self.layers.iter().map(layer).collect::<Result<_>>()?;
        Ok(Self { dims: self.dims, layers })
    }
}
