//! Inputs and tensors, cut and changed along one named dim.

use std::collections::HashMap;

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::Init;

use super::{Named, Pass, Setup};
use crate::dims::Dims;
use crate::harness::subject::{AnySubject, Fill, Input, Inputs};
use crate::trace::params::fill;
use crate::trace::tap::Tap;

/// Each input with the axis that is a dim, if it has one.
pub type InputAxes = Vec<(Input, Option<usize>)>;

/// For each input, the axis that is the dim `symbol` itself.
///
/// # Errors
/// A configuration or axes that cannot be read.
pub fn input_axes(subject: &dyn AnySubject, setup: &Setup<'_>, symbol: &str) -> Result<InputAxes> {
    let declared = subject.inputs(setup.config).map_err(candle_core::Error::wrap)?;
    let axis = |input: Input| {
        let axes = input.parsed().map_err(candle_core::Error::wrap)?;
        let axis = axes.0.iter().position(|axis| axis.as_dim() == Some(symbol));
        Ok((input, axis))
    };
    declared.into_iter().map(axis).collect()
}

/// Inputs with other values at `start..start + len` of their axis; those without the axis as they are. `only` names the
/// one input to change, if not all.
///
/// # Errors
/// Candle's own.
pub fn altered(
    inputs: &Inputs,
    axes: &InputAxes,
    (start, len): (usize, usize),
    dims: &Dims,
    only: Option<&str>,
) -> Result<Inputs> {
    let changed = inputs.0.iter().map(|(name, t)| {
        let known = axes.iter().find(|(input, _)| input.name == *name);
        let meant = only.is_none_or(|only| only == name);
        let t = match known {
            Some((input, Some(axis))) if meant => {
                let (before, after) = (start, t.dim(*axis)?.saturating_sub(start + len));
                let other = other_values(input, &t.narrow(*axis, start, len)?, dims)?;
                joined(
                    &[
                        t.narrow(*axis, 0, before)?,
                        other,
                        t.narrow(*axis, t.dim(*axis)? - after, after)?,
                    ],
                    *axis,
                )?
            }
            _ => t.clone(),
        };
        Ok((name.clone(), t.detach()))
    });
    Ok(Inputs(changed.collect::<Result<_>>()?))
}

/// Values that an input may have and that are none of its own: fresh normal floats, other ids, a mask turned round.
fn other_values(input: &Input, t: &Tensor, dims: &Dims) -> Result<Tensor> {
    match &input.fill {
        Fill::Floats => {
            let init = Init::Randn { mean: 0., stdev: 1. };
            let values = fill(0, &format!("other {}", input.name), &init, t.dims());
            let other = Tensor::from_vec(values, t.shape(), &Device::Cpu)?;
            other.to_dtype(t.dtype())?.to_device(t.device())
        }
        Fill::Ids(bound) => {
            let below = dims.get(bound).unwrap_or(1).max(1) as u32;
            let ids = t.to_device(&Device::Cpu)?.flatten_all()?.to_vec1::<u32>()?;
            let step = 1.max(below / 2);
            let ids: Vec<u32> = ids.into_iter().map(|id| (id + step) % below).collect();
            Tensor::from_vec(ids, t.shape(), t.device())
        }
        Fill::Mask => (1. - t.to_dtype(DType::F32)?)?.to_dtype(t.dtype()),
    }
}

/// Inputs cut to `start..start + len` of their axis; those without the axis as they are.
///
/// # Errors
/// Candle's own.
pub fn narrowed(inputs: &Inputs, axes: &InputAxes, (start, len): (usize, usize)) -> Result<Inputs> {
    along(inputs, axes, |t, axis| t.narrow(axis, start, len)?.contiguous())
}

/// Inputs whose first slice along their axis has become the last.
///
/// # Errors
/// Candle's own.
pub fn rolled(inputs: &Inputs, axes: &InputAxes) -> Result<Inputs> {
    along(inputs, axes, roll)
}

/// The first slice moved to the end.
///
/// # Errors
/// Candle's own.
pub fn roll(t: &Tensor, axis: usize) -> Result<Tensor> {
    let n = t.dim(axis)?;
    if n < 2 {
        return Ok(t.clone());
    }
    joined(&[t.narrow(axis, 1, n - 1)?, t.narrow(axis, 0, 1)?], axis)
}

fn along(
    inputs: &Inputs,
    axes: &InputAxes,
    f: impl Fn(&Tensor, usize) -> Result<Tensor>,
) -> Result<Inputs> {
    let changed = inputs.0.iter().map(|(name, t)| {
        let known = axes.iter().find(|(input, _)| input.name == *name);
        let t = match known {
            Some((_, Some(axis))) => f(t, *axis)?,
            _ => t.clone(),
        };
        Ok((name.clone(), t.detach()))
    });
    Ok(Inputs(changed.collect::<Result<_>>()?))
}

/// The pieces one after another along an axis; empty ones are left out.
///
/// # Errors
/// Candle's own.
pub fn joined(pieces: &[Tensor], axis: usize) -> Result<Tensor> {
    let full: Vec<Tensor> = pieces.iter().filter(|t| t.elem_count() > 0).cloned().collect();
    match full.as_slice() {
        [] => empty(pieces, axis),
        [one] => one.contiguous(),
        _ => Tensor::cat(&full, axis),
    }
}

/// Pieces without an element, put together.
fn empty(pieces: &[Tensor], axis: usize) -> Result<Tensor> {
    let none = || candle_core::Error::Msg("no pieces".into());
    let first = pieces.first().ok_or_else(none)?;
    let mut shape = first.dims().to_vec();
    shape[axis] = pieces.iter().map(|t| t.dims()[axis]).sum();
    Tensor::zeros(shape, first.dtype(), first.device())
}

/// Which axis of a pass's tensors grows with a dim.
///
/// Seen by running the model again with the dim larger: a tensor's axis is the one that grows as the dim does, and the
/// only one that differs.
#[derive(Debug, Clone, Default)]
pub struct Grown {
    outputs: Vec<(String, usize)>,
    taps: HashMap<Key, Vec<usize>>,
}

/// A tap by its name, and how many of that name came before it in the pass.
pub type Key = (String, usize);

impl Grown {
    /// From a pass at `n` and one at `m`.
    pub fn between(pass: &Pass, larger: &Pass, n: usize, m: usize) -> Self {
        let axes = |a: &Tensor, b: &Tensor| grown(a.dims(), b.dims(), (n, m));
        let outputs = pass.outputs.iter().filter_map(|(name, t)| {
            let (_, other) = larger.outputs.iter().find(|(other, _)| other == name)?;
            let axes = axes(t, other)?;
            (axes.len() == 1).then(|| (name.clone(), axes[0]))
        });
        let others: HashMap<Key, &Tap> = numbered(larger).into_iter().collect();
        let taps = numbered(pass).into_iter().filter_map(|(key, tap)| {
            let axes = axes(&tap.tensor, &others.get(&key)?.tensor)?;
            Some((key, axes))
        });
        Self { outputs: outputs.collect(), taps: taps.collect() }
    }

    /// The axis of an output.
    pub fn output(&self, name: &str) -> Option<usize> {
        self.outputs.iter().find(|(own, _)| own == name).map(|(_, axis)| *axis)
    }

    /// The axes of a tap, more than one where it holds something for each pair of places.
    pub fn tap(&self, key: &Key) -> Option<&[usize]> {
        self.taps.get(key).map(Vec::as_slice)
    }

    /// Whether no output has the axis.
    pub fn in_no_output(&self) -> bool {
        self.outputs.is_empty()
    }

    /// The outputs that have the axis, cut out by `cut`.
    ///
    /// # Errors
    /// Those of `cut`.
    pub fn of_outputs(
        &self,
        outputs: &Named,
        cut: impl Fn(&Tensor, usize) -> Result<Tensor>,
    ) -> Result<Named> {
        let with_axis = outputs.iter().filter_map(|(n, t)| Some((n, t, self.output(n)?)));
        with_axis.map(|(name, t, axis)| Ok((name.clone(), cut(t, axis)?))).collect()
    }
}

/// The axes that grow from n to m, where no other axis differs.
fn grown(a: &[usize], b: &[usize], (n, m): (usize, usize)) -> Option<Vec<usize>> {
    let differing: Vec<usize> =
        (0..a.len()).filter(|&i| a.len() == b.len() && a[i] != b[i]).collect();
    let grows = |&i: &usize| (a[i], b[i]) == (n, m);
    (!differing.is_empty() && differing.iter().all(grows)).then_some(differing)
}

/// The taps of a pass, each with how many of its name came before.
pub fn numbered(pass: &Pass) -> Vec<(Key, &Tap)> {
    let mut counts = HashMap::<&str, usize>::new();
    let number = |tap| {
        let tap: &Tap = tap;
        let nth = counts.entry(tap.name.as_str()).or_default();
        *nth += 1;
        ((tap.name.clone(), *nth - 1), tap)
    };
    pass.taps.iter().map(number).collect()
}
