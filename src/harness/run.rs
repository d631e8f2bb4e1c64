//! Running a model at one point, and seeing everything.

mod backward;
mod depth;
mod failure;
mod inputs;
mod rig;
pub mod slices;
mod values;

use std::collections::BTreeMap;

use candle_core::{DType, Device, Result, Tensor};

use super::subject::{AnySubject, ConfigMap, Inputs, Model};
use crate::dims::Dims;
use crate::trace::graph::InternalsChanged;
use crate::trace::op::Kind;
use crate::trace::params::Params;
use crate::trace::spans::Watch;
use crate::trace::steps::{Step, steps};
use crate::trace::{Ends, Trace, tap};

use backward::{backward, first_not_finite, gradients};
pub use depth::STACK;
use depth::bounded;
use failure::caught;
pub(crate) use failure::panics;
pub use failure::{ANY_SHAPING, Failure};
use inputs::inputs;
pub use rig::{Pass, Rig};
pub use values::{Likeness, apart, likeness, relative_error, same_bits};

/// One run to be made: a configuration at some sizes.
#[derive(Debug, Clone)]
pub struct Setup<'a> {
    /// The configuration.
    pub config: &'a ConfigMap,
    /// Every dim: the configuration's and the sizes.
    pub dims: &'a Dims,
    /// The seed of parameters, inputs and cotangents.
    pub seed: u64,
    /// The element type of floats.
    pub dtype: DType,
    /// Where it runs.
    pub device: &'a Device,
    /// Whether reshapes are judged: see [`steps`].
    pub mixing: bool,
}

/// What one run showed: shapes and facts, no tensors.
#[derive(Debug, Clone, Default)]
pub struct Observation {
    /// The dims it ran at.
    pub dims: Dims,
    /// Every parameter the model asked for, with its shape, sorted by path.
    pub params: Vec<(String, Vec<usize>)>,
    /// The raw ops.
    pub trace: Trace,
    /// The canonical steps; up to the error where there is one.
    pub steps: Vec<Step>,
    /// Gradients by parameter path; empty after an error or where none were asked for.
    pub gradients: Vec<Gradient>,
    /// The first step whose values are not all finite.
    pub not_finite: Option<String>,
    /// Why the run ended early.
    pub failure: Option<Failure>,
    /// Whether it was the backward pass that ended it.
    pub backward_failed: bool,
}

impl Observation {
    /// The names of the ops folded into a step that compute: see [`Kind::computes`].
    pub fn computes(&self, step: &Step) -> impl Iterator<Item = &'static str> {
        let kinds = step.ops.iter().filter_map(|&i| Some(&self.trace.ops.get(i)?.kind));
        kinds.filter(|kind| kind.computes()).map(Kind::name)
    }
}

/// The gradient of one parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gradient {
    /// The parameter's path.
    pub name: String,
    /// Its shape, `None` where backward gave it none.
    pub shape: Option<Vec<usize>>,
    /// Whether all of it is exactly zero.
    pub zero: bool,
    /// Whether all of it is finite.
    pub finite: bool,
}

/// Tensors by name.
pub type Named = Vec<(String, Tensor)>;

/// Tensors of a run, by name.
#[derive(Debug, Clone, Default)]
pub struct Values {
    /// The outputs.
    pub outputs: Named,
    /// The gradients of parameters and float inputs.
    pub gradients: Named,
}

/// How far a run goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Forward only.
    Forward,
    /// Forward, and backward from the outputs.
    Backward,
}

/// Builds the subject's model and runs it forward and, where asked and nothing failed, backward.
///
/// # Errors
/// Only where candle's graph cannot be read; what fails in the model is part of the observation.
pub fn observe(
    subject: &dyn AnySubject,
    setup: &Setup<'_>,
    depth: Depth,
) -> std::result::Result<(Observation, Values), InternalsChanged> {
    let params = Params::new(setup.seed);
    let build = || subject.build(setup.config, params.builder(setup.dtype, setup.device));
    observe_model(subject, setup, depth, &params, build)
}

/// The same for the subject's reference; `None` where it has none.
///
/// # Errors
/// As [`observe`].
pub fn observe_reference(
    subject: &dyn AnySubject,
    setup: &Setup<'_>,
) -> std::result::Result<Option<(Observation, Values)>, InternalsChanged> {
    let params = Params::new(setup.seed);
    let vb = params.builder(setup.dtype, setup.device);
    let Some(model) = subject.reference(setup.config, vb) else {
        return Ok(None);
    };
    observe_model(subject, setup, Depth::Backward, &params, || model).map(Some)
}

/// The outputs of a run that nobody watches: no recorder, no variables. `None` where it fails.
pub fn unwatched(subject: &dyn AnySubject, setup: &Setup<'_>) -> Option<Vec<(String, Tensor)>> {
    let params = Params::untracked(setup.seed);
    let outputs = caught(|| {
        let model = subject.build(setup.config, params.builder(setup.dtype, setup.device))?;
        let inputs = inputs(subject, setup)?;
        let inputs = inputs.0.into_iter().map(|(name, t)| (name, t.detach()));
        model.forward(&Inputs(inputs.collect()))
    });
    outputs.ok().map(|outputs| outputs.0)
}

/// A tap of a run that watched its gradient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probed {
    /// The tap's name.
    pub name: String,
    /// Whether a gradient passed it; `None` where that cannot be seen.
    pub passed: Option<bool>,
    /// Whether that gradient was finite.
    pub finite: bool,
    /// Whether the graph knows of what the value was made.
    pub tracked: bool,
}

/// The taps of a run at the setup, in order.
pub fn probed(subject: &dyn AnySubject, setup: &Setup<'_>) -> Vec<Probed> {
    let params = Params::new(setup.seed);
    let run = tap::probe(|| {
        caught(|| {
            let model = subject.build(setup.config, params.builder(setup.dtype, setup.device))?;
            let outputs = model.forward(&inputs(subject, setup)?)?;
            backward(&outputs.0, setup.seed)
        })
    });
    let passed = |tap: &tap::Tap| tap.gradient.lock().is_ok_and(|seen| seen.is_some());
    let finite = |tap: &tap::Tap| {
        tap.gradient.lock().is_ok_and(|seen| seen.as_ref().is_none_or(|gradient| gradient.finite))
    };
    let seen = |tap: tap::Tap| Probed {
        passed: tap.probed.then(|| passed(&tap)),
        finite: finite(&tap),
        tracked: tap.tensor.track_op(),
        name: tap.name,
    };
    run.taps.into_iter().map(seen).collect()
}

fn observe_model(
    subject: &dyn AnySubject,
    setup: &Setup<'_>,
    depth: Depth,
    params: &Params,
    build: impl FnOnce() -> Result<Box<dyn Model>>,
) -> std::result::Result<(Observation, Values), InternalsChanged> {
    let mut seen = Observation { dims: setup.dims.clone(), ..Default::default() };
    let inputs = caught(|| inputs(subject, setup));
    let watch = Watch::new();
    let model = watch.within(|| caught(build));
    let (inputs, model) = match (inputs, model) {
        (Ok(inputs), Ok(model)) => (inputs, model),
        (Err(failure), _) | (_, Err(failure)) => {
            seen.failure = Some(failure);
            return Ok((seen, Values::default()));
        }
    };
    let mut run = watch.within(|| tap::record(|| caught(|| model.forward(&inputs))));
    run.result = bounded(run.result, run.span);
    let vars = params.all();
    seen.params = vars.iter().map(|(name, var)| (name.clone(), var.dims().to_vec())).collect();
    let outputs = run.result.as_ref().map(|o| o.0.clone()).unwrap_or_default();
    let named: Vec<_> = vars.iter().map(|(n, v)| (n.clone(), v.as_tensor().clone())).collect();
    seen.trace = Trace::read(&run, &Ends { inputs: &inputs.0, params: &named, outputs: &outputs })?;
    let (from, to) = run.span;
    seen.trace.coverage.made = seen.trace.coverage.made.saturating_sub(watch.made(from, to));
    seen.steps = steps(&seen.trace, setup.mixing);
    watch.name(&mut seen.trace, &mut seen.steps);
    if let Err(failure) = run.result {
        seen.failure = Some(failure);
        return Ok((seen, Values::default()));
    }
    seen.not_finite = first_not_finite(&run.taps, &outputs);
    let mut values = Values { outputs, gradients: Vec::new() };
    if depth == Depth::Forward {
        return Ok((seen, values));
    }
    match caught(|| backward(&values.outputs, setup.seed)) {
        Ok(store) => gradients(&mut seen, &mut values, store, &vars, &inputs),
        Err(failure) => {
            seen.failure = Some(failure);
            seen.backward_failed = true;
        }
    }
    Ok((seen, values))
}

/// The shapes of a run's parameters, by path.
pub fn parameter_shapes(seen: &Observation) -> BTreeMap<&str, &[usize]> {
    seen.params.iter().map(|(name, shape)| (name.as_str(), shape.as_slice())).collect()
}
