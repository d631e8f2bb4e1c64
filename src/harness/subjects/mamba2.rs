//! Mamba-2, as a language model or over time series; from the start, from a given state, packed and padded.

mod reading;

use candle_core::Result;
use candle_nn::VarBuilder;

use crate::dims::Dims;
use crate::harness::subject::{ConfigProblem, Input, Model, Subject};
use crate::model::mamba2::{Config, Head, Mamba2};
use crate::scan::Scan;
use reading::{Alone, Padded, Plain, Resumed, Tensors};

/// Mamba-2: ids (b, l) → output (b, l, v), or input (b, l, d) → output (b, l, v) with a head of `outputs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mamba2Subject {
    /// `mamba2`: each row is one sequence, read from its start.
    Plain,
    /// `mamba2_from_state`: reads on from a state that is an input, and returns the next one.
    FromState,
    /// `mamba2_packed`: each row holds several sequences, whose first tokens `starts` (b, l) marks.
    Packed,
    /// `mamba2_padded`: row r has `lengths[r]` + 1 tokens, before which an even row is padded, and after which an odd one.
    Padded,
}

impl Mamba2Subject {
    /// All ways of reading.
    pub const ALL: [Self; 4] = [Self::Plain, Self::FromState, Self::Packed, Self::Padded];

    /// The model with another core or scan, read in this way.
    pub fn around(self, model: Mamba2) -> Box<dyn Model> {
        let tensors = Tensors::of(model.config());
        match self {
            Self::Plain => Box::new(Plain { model, tensors }),
            Self::FromState => Box::new(Resumed { model, tensors }),
            Self::Packed => Box::new(reading::Packed { model, tensors }),
            Self::Padded => Box::new(Padded { model, tensors }),
        }
    }
}

impl Subject for Mamba2Subject {
    type Config = Config;

    fn name(&self) -> &str {
        match self {
            Self::Plain => "mamba2",
            Self::FromState => "mamba2_from_state",
            Self::Packed => "mamba2_packed",
            Self::Padded => "mamba2_padded",
        }
    }

    fn dims(&self, config: &Config) -> std::result::Result<Dims, ConfigProblem> {
        let d = config.dims()?;
        let own = [("d", d.d), ("i", d.i), ("h", d.h), ("p", d.p), ("g", d.g), ("n", d.n)];
        let other = [("q", d.q), ("k", d.k), ("v", d.v), ("layers", d.layers)];
        Ok(own.into_iter().chain(other).fold(Dims::new(), |dims, (symbol, n)| dims.with(symbol, n)))
    }

    fn free(&self) -> Vec<(&str, &str)> {
        let layers = (*self != Self::FromState).then_some(("layers", "n_layer"));
        let free = [
            ("d", "d_model"),
            ("p", "headdim"),
            ("g", "ngroups"),
            ("n", "d_state"),
            ("q", "chunk_size"),
            ("k", "d_conv"),
        ];
        free.into_iter().chain(layers).collect()
    }

    fn inputs(&self, config: &Config) -> Vec<Input> {
        let read = match config.head {
            Head::Lm => Input::ids("ids", "b l", "v"),
            Head::Outputs(_) => Input::floats("input", "b l d"),
        };
        let layer = |i| {
            let window = Input::floats(&reading::window(i), "b k-1 h*p+2*g*n");
            [window, Input::floats(&reading::ssm(i), "b h p n")]
        };
        let others = match self {
            Self::Plain => vec![],
            Self::FromState => (0..config.n_layer).flat_map(layer).collect(),
            Self::Packed => vec![Input::mask("starts", "b l")],
            Self::Padded => vec![Input::ids("lengths", "b", "l")],
        };
        [vec![read], others].concat()
    }

    fn build(&self, config: &Config, vb: VarBuilder<'_>) -> Result<Box<dyn Model>> {
        Ok(self.around(Mamba2::new(config, vb)?))
    }

    fn is_causal(&self) -> bool {
        true
    }

    fn has_state(&self) -> bool {
        matches!(self, Self::Plain | Self::Packed)
    }

    fn has_reference(&self) -> bool {
        true
    }

    /// The same model, scanned token by token; where rows are packed or padded, over each sequence alone.
    fn reference(&self, config: &Config, vb: VarBuilder<'_>) -> Option<Result<Box<dyn Model>>> {
        let definition = Config { scan: Scan::Sequential, ..config.clone() };
        let alone = |model: Mamba2| -> Box<dyn Model> {
            let (tensors, packed) = (Tensors::of(model.config()), *self == Self::Packed);
            Box::new(Alone { model, tensors, packed })
        };
        Some(Mamba2::new(&definition, vb).map(|model| match self {
            Self::Plain | Self::FromState => self.around(model),
            Self::Packed | Self::Padded => alone(model),
        }))
    }
}
