//! What the subjects of the zoo share: a subject made of names, axes and one function.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use candle_core::{Result, Tensor};
use candle_nn::{Init, VarBuilder};
use shapelock::dims::{Axes, Dims};
use shapelock::harness::subject::{ConfigProblem, Input, Inputs, Model, Outputs, State, Subject};

/// Fields that a case may set, and the dims they fix.
const FIELDS: [(&str, &str); 9] = [
    ("d_model", "d"),
    ("d_state", "n"),
    ("heads", "h"),
    ("headdim", "p"),
    ("ngroups", "g"),
    ("chunk_size", "q"),
    ("d_conv", "k"),
    ("vocab_size", "v"),
    ("samples", "s"),
];

/// The input of most.
pub const BATCH: &[(&str, &str)] = &[("input", "b l d")];

type Forward = dyn Fn(&Parts<'_>) -> Result<Tensor> + Send + Sync;

/// A subject: float inputs and parameters by name and axes, and a forward pass to the one tensor `output`.
pub struct Small {
    name: &'static str,
    inputs: &'static [(&'static str, &'static str)],
    params: &'static [(&'static str, &'static str)],
    forward: Arc<Forward>,
    reference: Option<Arc<Forward>>,
    causal: bool,
    streams: bool,
}

/// What is made of gain · x: (b, l, d) → (b, l, d).
pub fn scaled(name: &'static str, make: fn(&Tensor) -> Result<Tensor>) -> Small {
    small(name, BATCH, &[("gain", "d")], move |parts| {
        make(&parts.get("input")?.broadcast_mul(&parts.get("gain")?)?) // (b, l, d)
    })
}

/// A subject of the zoo.
pub fn small(
    name: &'static str,
    inputs: &'static [(&'static str, &'static str)],
    params: &'static [(&'static str, &'static str)],
    forward: impl Fn(&Parts<'_>) -> Result<Tensor> + Send + Sync + 'static,
) -> Small {
    Small {
        name,
        inputs,
        params,
        forward: Arc::new(forward),
        reference: None,
        causal: false,
        streams: false,
    }
}

impl Small {
    /// Takes the forward pass of `other` as the definition of its own.
    pub fn against(mut self, other: &Small) -> Small {
        self.reference = Some(other.forward.clone());
        self
    }

    /// Says that nothing depends on later places.
    pub fn causal(self) -> Small {
        Small { causal: true, ..self }
    }

    /// Says that the forward pass may begin from a state, [`Parts::state`], and leaves one by [`Parts::leave`].
    pub fn streaming(self) -> Small {
        Small { streams: true, ..self.causal() }
    }

    fn model(
        &self,
        forward: &Arc<Forward>,
        config: &BTreeMap<String, usize>,
        vb: &VarBuilder<'_>,
    ) -> Result<Box<dyn Model>> {
        let dims = self.dims(config).map_err(candle_core::Error::wrap)?;
        let mut params = BTreeMap::new();
        for (name, axes) in self.params {
            let axes = Axes::parse_contract(axes).map_err(candle_core::Error::wrap)?;
            let shape = axes.eval(&dims).map_err(candle_core::Error::wrap)?;
            let last = shape.last().copied().unwrap_or(1).max(1) as f64;
            let bound = 0.5 / last.sqrt();
            let init = Init::Uniform { lo: -bound, up: bound };
            params.insert(*name, vb.get_with_hints(shape, name, init)?);
        }
        let (forward, streams, kept) = (forward.clone(), self.streams, RefCell::default());
        Ok(Box::new(Run { forward, params, dims, streams, kept }))
    }
}

/// A model, and what a faulty one keeps from one call to the next.
struct Run {
    forward: Arc<Forward>,
    params: BTreeMap<&'static str, Tensor>,
    dims: Dims,
    streams: bool,
    kept: RefCell<Option<Tensor>>,
}

impl Run {
    fn pass(&self, inputs: &Inputs, state: Option<&Tensor>) -> Result<(Outputs, Option<Tensor>)> {
        let (params, dims, kept) = (&self.params, &self.dims, &self.kept);
        let parts = Parts { inputs, params, dims, kept, state, left: RefCell::default() };
        let output = (self.forward)(&parts)?;
        Ok((Outputs::new().with("output", output), parts.left.take()))
    }
}

impl Model for Run {
    fn forward(&self, inputs: &Inputs) -> Result<Outputs> {
        Ok(self.pass(inputs, None)?.0)
    }

    fn resume(&self, inputs: &Inputs, state: Option<&State>) -> Option<Result<(Outputs, State)>> {
        let state = state.and_then(|state| state.downcast_ref::<Option<Tensor>>()?.as_ref());
        let read_on = || {
            let (outputs, left) = self.pass(inputs, state)?;
            Ok((outputs, Box::new(left) as State))
        };
        self.streams.then(read_on)
    }

    fn tensors(&self, state: &State) -> Vec<(String, Tensor)> {
        let left = state.downcast_ref::<Option<Tensor>>().cloned().flatten();
        left.map(|left| ("state".to_owned(), left)).into_iter().collect()
    }
}

/// The tensors of one pass.
pub struct Parts<'a> {
    inputs: &'a Inputs,
    params: &'a BTreeMap<&'static str, Tensor>,
    dims: &'a Dims,
    /// What the last pass kept, of whatever sequence.
    pub kept: &'a RefCell<Option<Tensor>>,
    /// The state to read on from; none at the start.
    pub state: Option<&'a Tensor>,
    left: RefCell<Option<Tensor>>,
}

impl Parts<'_> {
    /// The parameter of that name, or else the input.
    pub fn get(&self, name: &str) -> Result<Tensor> {
        self.params.get(name).map_or_else(|| self.inputs.get(name).cloned(), |t| Ok(t.clone()))
    }

    /// Leaves the state to read on from.
    pub fn leave(&self, state: Tensor) {
        self.left.replace(Some(state));
    }

    /// The value of a dim of the configuration.
    pub fn dim(&self, symbol: &str) -> usize {
        self.dims.get(symbol).unwrap_or(1)
    }
}

impl Subject for Small {
    type Config = BTreeMap<String, usize>;

    fn name(&self) -> &str {
        self.name
    }

    fn dims(&self, config: &Self::Config) -> std::result::Result<Dims, ConfigProblem> {
        let get = |field: &str| config.get(field).copied();
        if let (Some(h), Some(g @ 1..)) = (get("heads"), get("ngroups"))
            && h % g != 0
        {
            let message = format!("{h} heads in {g} groups");
            return Err(ConfigProblem { field: Some("heads".into()), message });
        }
        let mut dims = Dims::new();
        for (field, symbol) in FIELDS {
            if let Some(&value) = config.get(field) {
                dims = dims.with(symbol, value);
            }
        }
        if let (Some(expand), Some(d)) = (get("expand"), get("d_model")) {
            dims = dims.with("i", expand * d);
        }
        Ok(dims)
    }

    fn free(&self) -> Vec<(&str, &str)> {
        FIELDS.iter().map(|(field, symbol)| (*symbol, *field)).collect()
    }

    fn inputs(&self, _: &Self::Config) -> Vec<Input> {
        self.inputs.iter().map(|(name, axes)| Input::floats(name, axes)).collect()
    }

    fn build(&self, config: &Self::Config, vb: VarBuilder<'_>) -> Result<Box<dyn Model>> {
        self.model(&self.forward, config, &vb)
    }

    fn is_causal(&self) -> bool {
        self.causal
    }

    fn has_state(&self) -> bool {
        self.streams
    }

    fn has_reference(&self) -> bool {
        self.reference.is_some()
    }

    fn reference(
        &self,
        config: &Self::Config,
        vb: VarBuilder<'_>,
    ) -> Option<Result<Box<dyn Model>>> {
        self.reference.as_ref().map(|forward| self.model(forward, config, &vb))
    }
}
