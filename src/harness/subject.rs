//! What is tested: a model, seen from the harness.
//!
//! A [`Subject`] says how to build a model from a configuration, which dims it has, and what it reads. The model itself
//! stays plain candle code; [`Model`] is the one method through which it is run.

mod any;

use std::any::Any;

use candle_core::{Error, Result, Tensor};
use candle_nn::VarBuilder;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub use super::plan::ConfigProblem;
use crate::dims::{Axes, Dims};
pub use any::{AnySubject, Described};

/// A configuration as a case writes it.
pub type ConfigMap = Map<String, Value>;

/// Something the harness can run over a matrix of cases.
///
/// ```
/// # use candle_core::{Result, Tensor};
/// # use candle_nn::{Linear, Module, VarBuilder, linear};
/// use shapelock::{dims::Dims, harness::subject::*};
///
/// #[derive(serde::Deserialize)]
/// struct Config { width: usize }
/// struct Mine;
///
/// impl Subject for Mine {
///     type Config = Config;
///     fn name(&self) -> &str { "mine" }
///     fn dims(&self, config: &Config) -> std::result::Result<Dims, ConfigProblem> {
///         Ok(Dims::new().with("d", config.width))
///     }
///     fn free(&self) -> Vec<(&str, &str)> { vec![("d", "width")] }
///     fn inputs(&self, _: &Config) -> Vec<Input> { vec![Input::floats("input", "b l d")] }
///     fn build(&self, config: &Config, vb: VarBuilder) -> Result<Box<dyn Model>> {
///         let layer: Linear = linear(config.width, 3, vb.pp("layer"))?;
///         Ok(Box::new(move |inputs: &Inputs| {
///             Ok(Outputs::new().with("output", layer.forward(inputs.get("input")?)?)) // (b, l, 3)
///         }))
///     }
/// }
/// ```
pub trait Subject: Send + Sync {
    /// The configuration, read from a case's `config:`. Deny unknown fields, so that a typing error is one.
    type Config: DeserializeOwned;

    /// The name by which cases call it.
    fn name(&self) -> &str;

    /// The dims that a configuration fixes, by symbol; also where contradictions in it are refused.
    ///
    /// # Errors
    /// What is wrong with the configuration, and in which field.
    fn dims(&self, config: &Self::Config) -> std::result::Result<Dims, ConfigProblem>;

    /// The sizes that a case's matrix gives, and their symbols.
    fn sizes(&self) -> Vec<(&str, &str)> {
        vec![("batch", "b"), ("seq", "l")]
    }

    /// Which dims the harness may choose itself, and the field of the configuration that sets each. Laws are inferred
    /// from runs in which all of these differ from one another; a dim that is not listed keeps the case's value.
    fn free(&self) -> Vec<(&str, &str)> {
        Vec::new()
    }

    /// What the model reads.
    fn inputs(&self, config: &Self::Config) -> Vec<Input>;

    /// Builds the model with parameters from `vb`.
    ///
    /// # Errors
    /// Whatever building it can fail with.
    fn build(&self, config: &Self::Config, vb: VarBuilder<'static>) -> Result<Box<dyn Model>>;

    /// Whether the rows of a batch have nothing to do with one another, as the check `batch` holds; of a model that mixes
    /// them on purpose, as batch normalisation does in training, this is false.
    fn has_independent_rows(&self) -> bool {
        true
    }

    /// Whether nothing at a place in the sequence depends on later places, for the check `causal`.
    fn is_causal(&self) -> bool {
        false
    }

    /// Whether the model can read on from a state, for the check `continuation`: see [`Model::resume`].
    fn has_state(&self) -> bool {
        false
    }

    /// Whether [`Subject::reference`] gives a model; asked at list time, when nothing is built.
    fn has_reference(&self) -> bool {
        false
    }

    /// The same computation by its definition, with the same parameters, for the check `scans`.
    fn reference(
        &self,
        _config: &Self::Config,
        _vb: VarBuilder<'static>,
    ) -> Option<Result<Box<dyn Model>>> {
        None
    }
}

/// A model that can be run.
pub trait Model {
    /// Runs it.
    ///
    /// # Errors
    /// Whatever running it can fail with.
    fn forward(&self, inputs: &Inputs) -> Result<Outputs>;

    /// Reads on after what came before, for models that stream: from `state`, or from the start without one, to the outputs
    /// and the next state. `None` for a model that keeps no state.
    fn resume(&self, _inputs: &Inputs, _state: Option<&State>) -> Option<Result<(Outputs, State)>> {
        None
    }

    /// The tensors in a state of its own, by name, so that two states can be compared; none by default.
    fn tensors(&self, _state: &State) -> Vec<(String, Tensor)> {
        Vec::new()
    }
}

/// What a model that streams keeps between two calls; only the model knows what is in it.
pub type State = Box<dyn Any>;

impl<F: Fn(&Inputs) -> Result<Outputs>> Model for F {
    fn forward(&self, inputs: &Inputs) -> Result<Outputs> {
        self(inputs)
    }
}

/// An input of a model: its name, its axes and how it is filled.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// The name, also the name of its step.
    pub name: String,
    /// Its axes in contract notation, as in `b l d`.
    pub axes: String,
    /// How it is filled.
    pub fill: Fill,
}

/// How an input is filled.
#[derive(Debug, Clone, PartialEq)]
pub enum Fill {
    /// Standard normal, in the point's dtype; gradients are seen.
    Floats,
    /// `u32` below the value of a dim.
    Ids(String),
    /// `u8`, 1 at one place in four.
    Mask,
}

impl Input {
    /// Standard normal floats in the point's dtype.
    pub fn floats(name: &str, axes: &str) -> Self {
        Self { name: name.into(), axes: axes.into(), fill: Fill::Floats }
    }

    /// Token ids (`u32`) below the value of the dim `bound`.
    pub fn ids(name: &str, axes: &str, bound: &str) -> Self {
        Self { name: name.into(), axes: axes.into(), fill: Fill::Ids(bound.into()) }
    }

    /// A mask of `u8`, 1 at one place in four.
    pub fn mask(name: &str, axes: &str) -> Self {
        Self { name: name.into(), axes: axes.into(), fill: Fill::Mask }
    }

    /// Its axes, parsed.
    ///
    /// # Errors
    /// The notation's own.
    pub fn parsed(&self) -> std::result::Result<Axes, crate::dims::ParseError> {
        Axes::parse_contract(&self.axes)
    }
}

/// Named tensors that a model reads.
#[derive(Debug, Clone, Default)]
pub struct Inputs(pub(super) Vec<(String, Tensor)>);

impl Inputs {
    /// No inputs yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one.
    #[must_use]
    pub fn with(mut self, name: &str, tensor: Tensor) -> Self {
        self.0.push((name.to_owned(), tensor));
        self
    }

    /// The input of that name.
    ///
    /// # Errors
    /// Where the subject declares no such input.
    pub fn get(&self, name: &str) -> Result<&Tensor> {
        let found = self.0.iter().find(|(n, _)| n == name);
        let names = || self.0.iter().map(|(n, _)| n.as_str()).collect::<Vec<_>>().join(", ");
        let missing =
            || Error::Msg(format!("no input {name}; the subject declares {}", names())).bt();
        found.map(|(_, t)| t).ok_or_else(missing)
    }
}

/// Named tensors that a model returns.
#[derive(Debug, Clone, Default)]
pub struct Outputs(pub(super) Vec<(String, Tensor)>);

impl Outputs {
    /// No outputs yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one.
    #[must_use]
    pub fn with(mut self, name: &str, tensor: Tensor) -> Self {
        self.0.push((name.to_owned(), tensor));
        self
    }

    /// The output of that name, if there is one.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, t)| t)
    }
}
