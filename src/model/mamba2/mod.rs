//! Mamba-2 in full (Dao and Gu 2024, arXiv 2405.21060): a language model, or a model of time series.
//!
//! From hidden states u (b, l, d), one layer computes
//!
//! ```text
//! z, xBC, dt = in_proj(norm(u))            (b, l, h·p), (b, l, h·p + 2·g·n), (b, l, h)
//! x, B, C    = SiLU(conv(xBC))             (b, l, h, p), (b, l, g, n), (b, l, g, n)
//! dt         = clamp(softplus(dt + bias))  (b, l, h)
//! S_t        = exp(dt_t·A)·S_{t−1} + dt_t·x_t ⊗ B_t,  A = −exp(A_log)
//! y_t        = S_t·C_t + D·x_t             (b, l, h, p)
//! u          = u + out_proj(RMSNorm(y·SiLU(z)))
//! ```
//!
//! with the norm over each group's features and the residual in at least f32.

pub mod checkpoint;
mod config;
mod conv;
mod core;
mod error;
mod fused;
mod generate;
mod heads;
mod mixer;
mod norm;
mod parameters;
mod state;
mod tokens;
mod weights;

pub use config::{Config, Dims, DtLimit, Head};
pub use core::{Core, CoreInputs, CoreParams, PlainCore};
pub use error::InputError;
pub use fused::FusedCore;
pub use generate::{Generation, Sampler, Sampling};
pub use mixer::Mixer;
pub use norm::RmsNorm;
pub use parameters::Parameter;
pub use state::{LayerState, State};
pub use tokens::{Layout, Tokens, sequence_starts};
pub use weights::Weights;

use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::VarBuilder;

use crate::scan::{Scan, Scope};
use heads::Ends;
use norm::at_least_f32;

/// A Mamba-2, as [`Config::head`] says: ids (b, l) → logits (b, l, v), or features (b, l, d) → outputs (b, l, v).
///
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use candle_nn::{VarBuilder, VarMap};
/// use shapelock::model::mamba2::{Config, Mamba2};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let config: Config = serde_json::from_str(
///     r#"{"d_model": 8, "n_layer": 2, "d_state": 4, "headdim": 4, "chunk_size": 4, "head": {"outputs": 1}}"#,
/// )?;
/// let vars = VarMap::new();
/// let model = Mamba2::new(&config, VarBuilder::from_varmap(&vars, DType::F32, &Device::Cpu))?;
/// let x = Tensor::zeros((3, 7, 8), DType::F32, &Device::Cpu)?; // (b, l, d)
/// assert_eq!(model.forward(&x)?.dims(), [3, 7, 1]); // (b, l, v)
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Mamba2 {
    ends: Ends,
    layers: Vec<Layer>,
    norm_f: RmsNorm,
    config: Arc<Config>,
    dims: Dims,
    dtype: DType,
    device: Device,
}

#[derive(Clone, Debug)]
struct Layer {
    norm: RmsNorm,
    mixer: Mixer,
    scope: Scope,
}

impl Mamba2 {
    /// Takes the parameters from `vb` under the names of the published checkpoints.
    ///
    /// # Errors
    /// A wrapped [`ConfigError`](crate::model::ConfigError), or a parameter that is missing or has another shape.
    pub fn new(config: &Config, vb: VarBuilder) -> Result<Self> {
        let core: Arc<dyn Core> = match config.scan.on(vb.device()) {
            Scan::Fused => Arc::new(FusedCore),
            _ => Arc::new(PlainCore),
        };
        Self::with_core(config, core, vb)
    }

    /// As [`Mamba2::new`], with another implementation of the mixers' core.
    ///
    /// # Errors
    /// Those of [`Mamba2::new`].
    pub fn with_core(config: &Config, core: Arc<dyn Core>, vb: VarBuilder) -> Result<Self> {
        let dims = config.dims()?;
        let config = Arc::new(config.clone());
        let backbone = vb.pp("backbone");
        let layer = |index: usize| {
            let (vb, scope) =
                (backbone.pp("layers").pp(index), Scope::root().child("layers").child(index));
            let norm = RmsNorm::new(dims.d, config.norm_eps, &vb.pp("norm"))?;
            let mixer = Mixer::new(&config, dims, &core, scope.child("mixer"), &vb.pp("mixer"))?;
            Ok(Layer { norm, mixer, scope })
        };
        Ok(Self {
            ends: Ends::new(&config, dims, &vb)?,
            layers: (0..dims.layers).map(layer).collect::<Result<_>>()?,
            norm_f: RmsNorm::new(dims.d, config.norm_eps, &backbone.pp("norm_f"))?,
            dims,
            dtype: vb.dtype(),
            device: vb.device().clone(),
            config,
        })
    }

    /// Reads whole sequences from their start: (b, l) or (b, l, d) → (b, l, v).
    ///
    /// # Errors
    /// A wrapped [`InputError`] for an input of another shape or dtype, or an error of candle's.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let state = self.zero_state(input.dims().first().copied().unwrap_or(0))?;
        self.forward_from(input, &state, Tokens::default()).map(|(output, _)| output)
    }

    /// Reads on from `state`, the tokens being packed or padded as `tokens` says: (b, l, v) and the next state.
    ///
    /// Taps: `embedding`, for each layer those of its mixer under `layers.{i}.mixer` and `layers.{i}.residual`, `output`.
    ///
    /// # Errors
    /// A wrapped [`InputError`]: an input of another shape or dtype, a state of another model, batch size or dtype, a
    /// mask with holes; or an error of candle's.
    pub fn forward_from(
        &self,
        input: &Tensor,
        state: &State,
        tokens: Tokens,
    ) -> Result<(Tensor, State)> {
        self.read(input, state, tokens, self.config.scan, &mut |_| {})
    }

    /// Reads one token a row: ids (b) or features (b, d) → (b, v) and the next state.
    ///
    /// It runs the definition of the scan, which for one token is the cheapest.
    ///
    /// # Errors
    /// Those of [`Mamba2::forward_from`].
    pub fn step(&self, token: &Tensor, state: &State) -> Result<(Tensor, State)> {
        let token = token.unsqueeze(token.rank().min(1))?; // (b, 1) or (b, 1, d)
        let (output, state) =
            self.read(&token, state, Tokens::default(), Scan::Sequential, &mut |_| {})?;
        Ok((output.squeeze(1)?, state))
    }

    /// What each layer leaves in the residual, and at last the final norm: (b, l, d) each.
    ///
    /// # Errors
    /// Those of [`Mamba2::forward`].
    pub fn hidden_states(&self, input: &Tensor) -> Result<Vec<Tensor>> {
        let state = self.zero_state(input.dims().first().copied().unwrap_or(0))?;
        let mut hidden = vec![];
        let mut keep = |h: &Tensor| hidden.push(h.clone());
        self.read(input, &state, Tokens::default(), self.config.scan, &mut keep)?;
        Ok(hidden)
    }

    /// The state before any token, for `b` rows.
    ///
    /// # Errors
    /// Those of candle's, where the memory is not there.
    pub fn zero_state(&self, b: usize) -> Result<State> {
        State::zeros(self.dims, b, self.dtype, &self.device)
    }

    /// A state made of tensors, one [`LayerState`] a layer: from another implementation's cache, or to learn one.
    ///
    /// # Errors
    /// A wrapped [`InputError`] for another number of layers or tensors of other shapes.
    pub fn state_of(&self, layers: Vec<LayerState>) -> Result<State> {
        State::of(self.dims, layers).map_err(candle_core::Error::wrap)
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The model's sizes.
    pub const fn dims(&self) -> Dims {
        self.dims
    }

    fn read(
        &self,
        input: &Tensor,
        state: &State,
        tokens: Tokens,
        scan: Scan,
        see: &mut dyn FnMut(&Tensor),
    ) -> Result<(Tensor, State)> {
        let embedded = self.ends.embed(input)?; // (b, l, d)
        let (b, l, _) = embedded.dims3()?;
        state.check(self.dims, b, self.dtype, &self.device)?;
        let layout = tokens.layout(b, l)?;

        let residual = at_least_f32(self.dtype);
        let mut h = layout.to_front(&embedded.to_dtype(residual)?)?; // (b, l, d)
        h = crate::tap("embedding", h)?;
        let mut states = Vec::with_capacity(self.layers.len());
        for (layer, state) in self.layers.iter().zip(state.layers()) {
            let normed = layer.norm.forward(&h)?; // (b, l, d)
            let (mixed, state) = layer.mixer.forward(&normed, state, &layout, scan)?; // (b, l, d)
            h = layer.scope.tap("residual", (h + mixed.to_dtype(residual)?)?)?; // (b, l, d)
            see(&h);
            states.push(state);
        }
        let h = self.norm_f.forward(&layout.to_place(&h)?)?; // (b, l, d)
        see(&h);
        let output = crate::tap("output", self.ends.head(&h)?)?; // (b, l, v)
        Ok((output, State::new(self.dims, states)))
    }
}
