//! What the subjects of the zoo share: a subject made of names, axes and one function, and the bug report's model
//! around its scan.

use std::collections::BTreeMap;
use std::sync::Arc;

use candle_core::{Result, Tensor};
use candle_nn::{Init, VarBuilder};
use shapelock::dims::{Axes, Dims};
use shapelock::harness::subject::{ConfigProblem, Input, Inputs, Model, Outputs, Subject};
use shapelock::tap;

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

type Forward = dyn Fn(&Parts<'_>) -> Result<Tensor> + Send + Sync;

/// A subject: float inputs and parameters by name and axes, and a forward pass to the one tensor `output`.
pub struct Small {
    name: &'static str,
    inputs: &'static [(&'static str, &'static str)],
    params: &'static [(&'static str, &'static str)],
    forward: Arc<Forward>,
    reference: Option<Arc<Forward>>,
    rows_mix: bool,
    causal: bool,
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
        rows_mix: false,
        causal: false,
    }
}

impl Small {
    /// Takes the forward pass of `other` as the definition of its own.
    pub fn against(mut self, other: &Small) -> Small {
        self.reference = Some(other.forward.clone());
        self
    }

    /// Says that a row means something by its place in the batch.
    pub fn mixing_rows(self) -> Small {
        Small { rows_mix: true, ..self }
    }

    /// Says that nothing depends on later places.
    pub fn causal(self) -> Small {
        Small { causal: true, ..self }
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
        let forward = forward.clone();
        Ok(Box::new(move |inputs: &Inputs| {
            let output = forward(&Parts { inputs, params: &params, dims: &dims })?;
            Ok(Outputs::new().with("output", output))
        }))
    }
}

/// The tensors of one pass.
pub struct Parts<'a> {
    inputs: &'a Inputs,
    params: &'a BTreeMap<&'static str, Tensor>,
    dims: &'a Dims,
}

impl Parts<'_> {
    /// The parameter of that name, or else the input.
    pub fn get(&self, name: &str) -> Result<Tensor> {
        self.params.get(name).map_or_else(|| self.inputs.get(name).cloned(), |t| Ok(t.clone()))
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

    fn has_independent_rows(&self) -> bool {
        !self.rows_mix
    }

    fn is_causal(&self) -> bool {
        self.causal
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

/// Parameters of the bug report's model.
pub const SSM: &[(&str, &str)] =
    &[("input_projection.weight", "i d"), ("A", "n n"), ("B", "n i"), ("C", "i n")];
/// Its input.
pub const BATCH: &[(&str, &str)] = &[("input", "b l d")];

/// h_t = h_{t−1}·Aᵀ + u_t over u (b, l, n): every state, each (b, n).
pub fn states(u: &Tensor, a: &Tensor) -> Result<Vec<Tensor>> {
    scan(u, |h, u| h.matmul(&a.t()?)? + u) // (b, n)
}

/// The states of a recurrence `next` over u (b, l, n), from zeros.
pub fn scan(u: &Tensor, next: impl Fn(&Tensor, Tensor) -> Result<Tensor>) -> Result<Vec<Tensor>> {
    let (b, l, n) = u.dims3()?;
    let mut h = Tensor::zeros((b, n), u.dtype(), u.device())?;
    let mut states = Vec::with_capacity(l);
    for t in 0..l {
        let u = u.narrow(1, t, 1)?.squeeze(1)?; // (b, n)
        h = tap("scan.h", next(&h, u)?)?; // (b, n)
        states.push(h.clone());
    }
    Ok(states)
}

/// x·Wᵀ and then ·Bᵀ: (b, l, d) → what is scanned (b, l, n).
pub fn project(parts: &Parts<'_>, x: &Tensor) -> Result<Tensor> {
    let x = x.broadcast_matmul(&parts.get("input_projection.weight")?.t()?)?;
    let x = tap("input_projection", x)?; // (b, l, i)
    tap("scan_input", x.broadcast_matmul(&parts.get("B")?.t()?)?) // (b, l, n)
}

/// states·Cᵀ: (b, l, n) → (b, l, i).
pub fn output(parts: &Parts<'_>, states: &Tensor) -> Result<Tensor> {
    states.broadcast_matmul(&parts.get("C")?.t()?)
}
