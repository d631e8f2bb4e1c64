//! Mamba-2, as a language model or over time series.

use candle_core::{Result, Tensor};
use candle_nn::VarBuilder;

use crate::dims::Dims;
use crate::harness::subject::{
    ConfigProblem, Input, Inputs, Model, Outputs, State as Kept, Subject,
};
use crate::model::mamba2::{Config, Head, LayerState, Mamba2, State, Tokens};
use crate::scan::Scan;

/// `mamba2`: ids (b, l) → output (b, l, v), or input (b, l, d) → output (b, l, v) with a head of `outputs`.
pub struct Mamba2Subject;

impl Subject for Mamba2Subject {
    type Config = Config;

    fn name(&self) -> &str {
        "mamba2"
    }

    fn dims(&self, config: &Config) -> std::result::Result<Dims, ConfigProblem> {
        let d = config.dims()?;
        let own = [("d", d.d), ("i", d.i), ("h", d.h), ("p", d.p), ("g", d.g), ("n", d.n)];
        let other = [("q", d.q), ("k", d.k), ("v", d.v), ("layers", d.layers)];
        Ok(own.into_iter().chain(other).fold(Dims::new(), |dims, (symbol, n)| dims.with(symbol, n)))
    }

    fn free(&self) -> Vec<(&str, &str)> {
        vec![
            ("d", "d_model"),
            ("p", "headdim"),
            ("g", "ngroups"),
            ("n", "d_state"),
            ("q", "chunk_size"),
            ("k", "d_conv"),
            ("layers", "n_layer"),
        ]
    }

    fn inputs(&self, config: &Config) -> Vec<Input> {
        match config.head {
            Head::Lm => vec![Input::ids("ids", "b l", "v")],
            Head::Outputs(_) => vec![Input::floats("input", "b l d")],
        }
    }

    fn build(&self, config: &Config, vb: VarBuilder<'_>) -> Result<Box<dyn Model>> {
        let model = Mamba2::new(config, vb)?;
        let input = match config.head {
            Head::Lm => "ids",
            Head::Outputs(_) => "input",
        };
        Ok(Box::new(Streaming { model, input }))
    }

    fn is_causal(&self) -> bool {
        true
    }

    fn has_state(&self) -> bool {
        true
    }

    fn has_reference(&self) -> bool {
        true
    }

    /// The same model, scanned token by token.
    fn reference(&self, config: &Config, vb: VarBuilder<'_>) -> Option<Result<Box<dyn Model>>> {
        let definition = Config { scan: Scan::Sequential, ..config.clone() };
        Some(self.build(&definition, vb))
    }
}

/// The model and the name of what it reads.
struct Streaming {
    model: Mamba2,
    input: &'static str,
}

impl Model for Streaming {
    fn forward(&self, inputs: &Inputs) -> Result<Outputs> {
        let output = self.model.forward(inputs.get(self.input)?)?; // (b, l, v)
        Ok(Outputs::new().with("output", output))
    }

    fn resume(&self, inputs: &Inputs, state: Option<&Kept>) -> Option<Result<(Outputs, Kept)>> {
        let read_on = || {
            let input = inputs.get(self.input)?;
            let start = self.model.zero_state(input.dim(0)?)?;
            let state = state.and_then(|state| state.downcast_ref()).unwrap_or(&start);
            let (output, state) = self.model.forward_from(input, state, Tokens::default())?; // (b, l, v)
            Ok((Outputs::new().with("output", output), Box::new(state) as Kept))
        };
        Some(read_on())
    }

    fn tensors(&self, state: &Kept) -> Vec<(String, Tensor)> {
        let layers = state.downcast_ref().map(State::layers).unwrap_or_default();
        let layer = |(i, layer): (usize, &LayerState)| {
            let window = (format!("layers.{i}.window"), layer.window.clone()); // (b, k - 1, i + 2·g·n)
            [window, (format!("layers.{i}.ssm"), layer.ssm.clone())] // (b, h, p, n)
        };
        layers.iter().enumerate().flat_map(layer).collect()
    }
}
