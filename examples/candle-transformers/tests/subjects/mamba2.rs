//! Mamba-2: ids (b, l) → logits (b, l, v), by the chunked prefill; read on from a state.

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::mamba2::{
    Config as Published, Model as Published2, State as Kept,
};
use shapelock::dims::Dims;
use shapelock::harness::subject::{ConfigProblem, Input, Inputs, Model, Outputs, State, Subject};

/// The published configuration, and the length of a chunk, which the published model is told at each call.
#[derive(serde::Deserialize)]
pub struct Config {
    #[serde(flatten)]
    pub published: Published,
    pub chunk_size: usize,
}

pub struct Mamba2;

impl Subject for Mamba2 {
    type Config = Config;

    fn name(&self) -> &str {
        "mamba2"
    }

    fn dims(&self, config: &Config) -> std::result::Result<Dims, ConfigProblem> {
        let published = &config.published;
        let i = published.expand * published.d_model;
        if !i.is_multiple_of(published.headdim) {
            return Err(ConfigProblem {
                field: Some("headdim".into()),
                message: "has to divide expand · d_model".into(),
            });
        }
        let own = Dims::new().with("d", published.d_model).with("i", i);
        let own = own.with("h", i / published.headdim).with("p", published.headdim);
        let own = own.with("g", published.ngroups).with("n", published.d_state);
        let own = own.with("q", config.chunk_size);
        let v = published.vocab_size.next_multiple_of(published.pad_vocab_size_multiple);
        Ok(own.with("v", v).with("layers", published.n_layer))
    }

    fn free(&self) -> Vec<(&str, &str)> {
        vec![
            ("d", "d_model"),
            ("p", "headdim"),
            ("n", "d_state"),
            ("q", "chunk_size"),
            ("layers", "n_layer"),
        ]
    }

    fn inputs(&self, _: &Config) -> Vec<Input> {
        vec![Input::ids("ids", "b l", "v")]
    }

    fn build(&self, config: &Config, vb: VarBuilder) -> Result<Box<dyn Model>> {
        let published = config.published.clone();
        let (dtype, device) = (vb.dtype(), vb.device().clone());
        let model = Published2::new(&published, vb)?;
        Ok(Box::new(Prefill { model, config: published, chunk: config.chunk_size, dtype, device }))
    }

    fn is_causal(&self) -> bool {
        true
    }

    fn has_state(&self) -> bool {
        true
    }
}

struct Prefill {
    model: Published2,
    config: Published,
    chunk: usize,
    dtype: DType,
    device: Device,
}

impl Model for Prefill {
    fn forward(&self, inputs: &Inputs) -> Result<Outputs> {
        let ids = inputs.get("ids")?; // (b, l)
        let mut state = Kept::new(ids.dim(0)?, &self.config, self.dtype, &self.device)?;
        let logits = self.model.forward_prefill(ids, &mut state, self.chunk)?; // (b, l, v)
        Ok(Outputs::new().with("logits", logits))
    }

    fn resume(&self, inputs: &Inputs, state: Option<&State>) -> Option<Result<(Outputs, State)>> {
        Some(self.read_on(inputs, state))
    }

    fn tensors(&self, state: &State) -> Vec<(String, Tensor)> {
        let Some(kept) = state.downcast_ref::<Kept>() else { return Vec::new() };
        let of_layer = |(i, (h, window)): (usize, (&Tensor, &Tensor))| {
            [(format!("layers.{i}.h"), h.clone()), (format!("layers.{i}.window"), window.clone())]
        };
        kept.hs.iter().zip(&kept.conv_states).enumerate().flat_map(of_layer).collect()
    }
}

impl Prefill {
    fn read_on(&self, inputs: &Inputs, state: Option<&State>) -> Result<(Outputs, State)> {
        let ids = inputs.get("ids")?; // (b, l)
        let mut next = match state.and_then(|state| state.downcast_ref::<Kept>()) {
            Some(kept) => {
                Kept { hs: kept.hs.clone(), conv_states: kept.conv_states.clone(), pos: kept.pos }
            }
            None => Kept::new(ids.dim(0)?, &self.config, self.dtype, &self.device)?,
        };
        let logits = self.model.forward_prefill(ids, &mut next, self.chunk)?; // (b, l, v)
        Ok((Outputs::new().with("logits", logits), Box::new(next)))
    }
}
