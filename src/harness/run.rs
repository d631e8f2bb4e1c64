//! Running a model at one point, and seeing everything.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use candle_core::{DType, Device, Result, Tensor, Var};
use candle_nn::Init;

use super::subject::{AnySubject, ConfigMap, Fill, Input, Inputs, Model};
use crate::dims::Dims;
use crate::trace::graph::InternalsChanged;
use crate::trace::locate::{self, Place};
use crate::trace::params::{Params, fill};
use crate::trace::steps::{Step, steps};
use crate::trace::{Ends, Trace, tap};

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

/// An error or a panic inside a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What it said.
    pub message: String,
    /// The op that refused, where candle names it.
    pub op: Option<String>,
    /// The shapes of the operands, where candle tells them.
    pub operands: Vec<Vec<usize>>,
    /// The lines it came through, innermost first.
    pub places: Vec<Place>,
    /// Whether it was a panic.
    pub panicked: bool,
}

/// Tensors of a run, by name.
#[derive(Debug, Clone, Default)]
pub struct Values {
    /// The outputs.
    pub outputs: Vec<(String, Tensor)>,
    /// The gradients of parameters and float inputs.
    pub gradients: Vec<(String, Tensor)>,
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
    let seen = |tap: tap::Tap| Probed {
        passed: tap.probed.then(|| passed(&tap)),
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
    let model = caught(build);
    let (inputs, model) = match (inputs, model) {
        (Ok(inputs), Ok(model)) => (inputs, model),
        (Err(failure), _) | (_, Err(failure)) => {
            seen.failure = Some(failure);
            return Ok((seen, Values::default()));
        }
    };
    let run = tap::record(|| caught(|| model.forward(&inputs)));
    let vars = params.all();
    seen.params = vars.iter().map(|(name, var)| (name.clone(), var.dims().to_vec())).collect();
    let outputs = run.result.as_ref().map(|o| o.0.clone()).unwrap_or_default();
    let named: Vec<_> = vars.iter().map(|(n, v)| (n.clone(), v.as_tensor().clone())).collect();
    seen.trace = Trace::read(&run, &Ends { inputs: &inputs.0, params: &named, outputs: &outputs })?;
    seen.steps = steps(&seen.trace, setup.mixing);
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
        Err(failure) => seen.failure = Some(failure),
    }
    Ok((seen, values))
}

/// Fills the subject's inputs; float inputs are variables, so that the graph starts at them.
fn inputs(subject: &dyn AnySubject, setup: &Setup<'_>) -> Result<Inputs> {
    let declared = subject.inputs(setup.config).map_err(candle_core::Error::wrap)?;
    let filled = declared.iter().map(|input| Ok((input.name.clone(), filled(input, setup)?)));
    Ok(Inputs(filled.collect::<Result<_>>()?))
}

fn filled(input: &Input, setup: &Setup<'_>) -> Result<Tensor> {
    let axes = input.parsed().map_err(candle_core::Error::wrap)?;
    let shape = axes.eval(setup.dims).map_err(candle_core::Error::wrap)?;
    let uniform = || fill(setup.seed, &input.name, &Init::Uniform { lo: 0., up: 1. }, &shape);
    match &input.fill {
        Fill::Floats => {
            let values =
                fill(setup.seed, &input.name, &Init::Randn { mean: 0., stdev: 1. }, &shape);
            let t = Tensor::from_vec(values, shape, &Device::Cpu)?.to_dtype(setup.dtype)?;
            Ok(Var::from_tensor(&t.to_device(setup.device)?)?.into_inner())
        }
        Fill::Ids(bound) => {
            let missing = || candle_core::Error::Msg(format!("no dim {bound} bounds the ids")).bt();
            let below = setup.dims.get(bound).ok_or_else(missing)? as f64;
            let ids: Vec<u32> = uniform().into_iter().map(|u| (u * below) as u32).collect();
            Tensor::from_vec(ids, shape, setup.device)
        }
        Fill::Mask => {
            let mask: Vec<u8> = uniform().into_iter().map(|u| u8::from(u < 0.25)).collect();
            Tensor::from_vec(mask, shape, setup.device)
        }
    }
}

/// The gradients of the outputs' product with a seeded random cotangent.
fn backward(outputs: &[(String, Tensor)], seed: u64) -> Result<candle_core::backprop::GradStore> {
    let mut loss: Option<Tensor> = None;
    for (name, output) in outputs.iter().filter(|(_, t)| t.dtype().is_float()) {
        let init = Init::Randn { mean: 0., stdev: 1. };
        let cotangent = fill(seed, &format!("cotangent of {name}"), &init, output.dims());
        let cotangent = Tensor::from_vec(cotangent, output.shape(), &Device::Cpu)?;
        let cotangent = cotangent.to_dtype(output.dtype())?.to_device(output.device())?;
        let part = output.mul(&cotangent)?.sum_all()?;
        loss = Some(match loss {
            Some(sum) => (sum + part.to_dtype(output.dtype())?)?,
            None => part,
        });
    }
    let none = || candle_core::Error::Msg("the model returns no float output".into()).bt();
    loss.ok_or_else(none)?.backward()
}

fn gradients(
    seen: &mut Observation,
    values: &mut Values,
    store: candle_core::backprop::GradStore,
    vars: &[(String, Var)],
    inputs: &Inputs,
) {
    for (name, var) in vars {
        let gradient = store.get(var.as_tensor());
        let largest = gradient.and_then(|g| largest(g).ok());
        seen.gradients.push(Gradient {
            name: name.clone(),
            shape: gradient.map(|g| g.dims().to_vec()),
            zero: largest == Some(0.),
            finite: largest.is_none_or(f64::is_finite),
        });
    }
    let vars = vars.iter().map(|(name, var)| (name, var.as_tensor()));
    let inputs = inputs.0.iter().map(|(name, t)| (name, t));
    values.gradients = vars
        .chain(inputs)
        .filter_map(|(name, t)| Some((name.clone(), store.get(t)?.clone())))
        .collect();
}

/// The first tap or output with a value that is not finite.
fn first_not_finite(taps: &[tap::Tap], outputs: &[(String, Tensor)]) -> Option<String> {
    let finite = |t: &Tensor| !t.dtype().is_float() || largest(t).is_ok_and(f64::is_finite);
    if outputs.iter().all(|(_, t)| finite(t)) {
        return None;
    }
    let tap = taps.iter().find(|tap| !finite(&tap.tensor)).map(|tap| tap.name.clone());
    tap.or_else(|| outputs.iter().find(|(_, t)| !finite(t)).map(|(name, _)| name.clone()))
}

/// The largest magnitude; NaN where any element is, 0 for an empty tensor.
fn largest(t: &Tensor) -> Result<f64> {
    let values = t.to_dtype(DType::F64)?.flatten_all()?.to_vec1::<f64>()?;
    Ok(values.iter().fold(
        0.,
        |m, v| {
            if v.is_nan() || f64::is_nan(m) { f64::NAN } else { v.abs().max(m) }
        },
    ))
}

/// Runs code of the model: its errors and its panics become a [`Failure`].
fn caught<R>(f: impl FnOnce() -> Result<R>) -> std::result::Result<R, Failure> {
    match panics::catch(f) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(of_error(&error)),
        Err(panic) => Err(panic),
    }
}

fn of_error(error: &candle_core::Error) -> Failure {
    use candle_core::Error;
    let bare = locate::bare(error);
    let (op, operands) = match bare {
        Error::ShapeMismatchBinaryOp { lhs, rhs, op } => (Some(*op), vec![lhs, rhs]),
        Error::UnexpectedNumberOfDims { shape, .. } => (None, vec![shape]),
        Error::DimOutOfRange { shape, op, .. } => (Some(*op), vec![shape]),
        Error::ShapeMismatchCat { first_shape, nth_shape, .. } => {
            (Some("cat"), vec![first_shape, nth_shape])
        }
        Error::ShapeMismatch { shape, .. } => (Some("from_vec"), vec![shape]),
        Error::DTypeMismatchBinaryOp { op, .. } => (Some(*op), vec![]),
        Error::OpRequiresAtLeastOneTensor { op } => (Some(*op), vec![]),
        _ => (None, vec![]),
    };
    Failure {
        message: bare.to_string(),
        op: op.map(str::to_owned),
        operands: operands.into_iter().map(|s| s.dims().to_vec()).collect(),
        places: locate::places(error),
        panicked: false,
    }
}

/// Panics as data: message and line, and nothing on the terminal.
pub(crate) mod panics {
    use super::*;
    use std::cell::RefCell;
    use std::sync::Once;

    thread_local! {
        static INSIDE: RefCell<Option<Option<Failure>>> = const { RefCell::new(None) };
    }

    pub(crate) fn catch<R>(f: impl FnOnce() -> R) -> std::result::Result<R, Failure> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let outer = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                let ours = INSIDE.with_borrow_mut(|inside| match inside {
                    Some(slot) => {
                        *slot = Some(of_panic(info));
                        true
                    }
                    None => false,
                });
                if !ours {
                    outer(info);
                }
            }));
        });
        let before = INSIDE.replace(Some(None));
        let result = catch_unwind(AssertUnwindSafe(f));
        let seen = INSIDE.replace(before).flatten();
        result.map_err(|_| seen.unwrap_or_else(|| failure("panicked".into(), Vec::new())))
    }

    fn of_panic(info: &std::panic::PanicHookInfo<'_>) -> Failure {
        let payload = info.payload();
        let text = payload.downcast_ref::<&str>().map(|s| (*s).to_owned());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        let backtrace = std::backtrace::Backtrace::force_capture().to_string();
        let mut places = locate::frames(&backtrace);
        if places.is_empty() {
            places.extend(info.location().map(Place::from));
        }
        failure(text.unwrap_or_else(|| "panicked".into()), places)
    }

    fn failure(message: String, places: Vec<Place>) -> Failure {
        Failure { message, op: None, operands: Vec::new(), places, panicked: true }
    }
}

/// The shapes of a run's parameters, by path.
pub fn parameter_shapes(seen: &Observation) -> BTreeMap<&str, &[usize]> {
    seen.params.iter().map(|(name, shape)| (name.as_str(), shape.as_slice())).collect()
}
