//! Everything that the runs of one variant showed.

use candle_core::{DType, Device};

use super::case::{Case, DType as CaseDType, DeviceKind};
use super::law::witness::{Witness, choose};
use super::law::{Item, Law, Unlawful, infer};
use super::plan::{Point, VariantPlan};
use super::run::{Depth, Observation, Setup, observe};
use super::subject::AnySubject;
use crate::dims::Dims;
use crate::trace::graph::InternalsChanged;

/// The runs of one variant, and the law inferred from them.
#[derive(Debug, Default)]
pub struct Study {
    /// The variant.
    pub variant: String,
    /// What its shapes obey.
    pub law: Law,
    /// Where no law could be stated.
    pub unlawful: Vec<Unlawful>,
    /// The base of the witness runs.
    pub witness: Observation,
    /// The points that ran.
    pub seen: Vec<Seen>,
    /// The points that were refused, with the bytes they would have taken.
    pub refused: Vec<(Point, u64)>,
}

/// One point and what its run showed.
#[derive(Debug)]
pub struct Seen {
    /// The point.
    pub point: Point,
    /// What its run showed.
    pub run: Observation,
}

/// Why a study could not be made.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// Candle's graph cannot be read.
    #[error(transparent)]
    Internals(#[from] InternalsChanged),
    /// The device is there, but cannot be used.
    #[error("{device} cannot be used: {message}")]
    Device {
        /// Its name.
        device: &'static str,
        /// What candle says.
        message: String,
    },
}

/// Infers the law of a variant and runs the given points.
///
/// # Errors
/// A device that cannot be opened, or candle's internals; what fails in the model is part of the study.
pub fn study(
    case: &Case,
    variant: &VariantPlan,
    points: &[Point],
    subject: &dyn AnySubject,
    depth: Depth,
) -> Result<Study, StudyError> {
    let mut study = inferred(case, variant, subject)?;
    for point in points {
        let bytes = bytes(&study.law, point);
        if bytes > case.budget {
            study.refused.push((point.clone(), bytes));
            continue;
        }
        let device = device(point.device)?;
        let setup = setup(case, variant, point, &device);
        let (run, _) = observe(subject, &setup, depth)?;
        study.seen.push(Seen { point: point.clone(), run });
    }
    Ok(study)
}

/// The law of a variant, with no points.
///
/// Sizes are chosen freely first. A model that fails at them may allow only the case's own, which are tried then.
///
/// # Errors
/// Candle's internals.
pub fn inferred(
    case: &Case,
    variant: &VariantPlan,
    subject: &dyn AnySubject,
) -> Result<Study, InternalsChanged> {
    let fixed = regime(case, variant);
    let mut runs = witnesses(case, subject, &choose(subject, &variant.config, &fixed))?;
    if runs.first().is_some_and(|run| run.failure.is_some()) {
        let own = variant.points.first().map(|p| p.dims.clone()).unwrap_or_default();
        let again = witnesses(case, subject, &choose(subject, &variant.config, &own))?;
        if again.first().is_some_and(|run| run.failure.is_none()) {
            runs = again;
        }
    }
    let works = runs.first().is_some_and(|run| run.failure.is_none());
    let sizes: Vec<&str> = subject.sizes().into_iter().map(|(_, symbol)| symbol).collect();
    let (law, unlawful) = if works { infer(&runs, &sizes) } else { Default::default() };
    let witness = runs.into_iter().next().unwrap_or_default();
    Ok(Study { variant: variant.name.clone(), law, unlawful, witness, ..Default::default() })
}

fn witnesses(
    case: &Case,
    subject: &dyn AnySubject,
    chosen: &[Witness],
) -> Result<Vec<Observation>, InternalsChanged> {
    let run = |w: &Witness| {
        let (config, dims, device) = (&w.config, &w.dims, &Device::Cpu);
        let setup = Setup { config, dims, seed: case.seed, dtype: DType::F32, device };
        observe(subject, &setup, Depth::Forward).map(|(run, _)| run)
    };
    let Some((base, others)) = chosen.split_first() else { return Ok(Vec::new()) };
    let mut runs = vec![run(base)?];
    if runs[0].failure.is_some() {
        return Ok(runs);
    }
    for witness in others {
        let other = run(witness)?;
        // A bumped dim that the model refuses tells nothing about the law.
        if other.failure.is_none() {
            runs.push(other);
        }
    }
    Ok(runs)
}

/// Sizes that the case keeps at one: what a model does at 1 may be another path.
fn regime(case: &Case, variant: &VariantPlan) -> Dims {
    let Some(first) = variant.points.first() else { return Dims::new() };
    let ones = case.matrix.sizes.iter().filter(|(_, values)| values.iter().all(|n| *n == 1));
    let symbols = ones.filter_map(|(name, _)| {
        let at = first.sizes.iter().position(|(size, _)| *size == name.value)?;
        first.dims.iter().nth(at).map(|(symbol, n)| (symbol.to_owned(), n))
    });
    symbols.fold(Dims::new(), |dims, (symbol, n)| dims.with(symbol, n))
}

/// The setup of a point's run.
pub fn setup<'a>(
    case: &Case,
    variant: &'a VariantPlan,
    point: &'a Point,
    device: &'a Device,
) -> Setup<'a> {
    let (config, dims, dtype) = (&variant.config, &point.dims, element_type(point.dtype));
    Setup { config, dims, seed: case.seed, dtype, device }
}

/// Opens a device.
///
/// # Errors
/// Where candle cannot.
pub fn device(kind: DeviceKind) -> Result<Device, StudyError> {
    let opened = match kind {
        DeviceKind::Cpu => Ok(Device::Cpu),
        DeviceKind::Cuda => Device::new_cuda(0),
        DeviceKind::Metal => Device::new_metal(0),
    };
    opened.map_err(|e| StudyError::Device { device: kind.name(), message: e.to_string() })
}

/// Candle's name for an element type.
pub fn element_type(dtype: CaseDType) -> DType {
    match dtype {
        CaseDType::F16 => DType::F16,
        CaseDType::BF16 => DType::BF16,
        CaseDType::F32 => DType::F32,
        CaseDType::F64 => DType::F64,
        CaseDType::U8 => DType::U8,
        CaseDType::U32 => DType::U32,
        CaseDType::I64 => DType::I64,
    }
}

/// About what a run at the point takes: every step and parameter, each with its gradient, twice for what is between.
fn bytes(law: &Law, point: &Point) -> u64 {
    let size = |axes: &crate::dims::Axes| -> f64 {
        axes.eval(&point.dims).map_or(f64::MAX, |s| s.iter().map(|&n| n as f64).product())
    };
    fn elements(items: &[Item], dims: &Dims, size: &dyn Fn(&crate::dims::Axes) -> f64) -> f64 {
        let one = |item: &Item| match item {
            Item::Step(step) => size(&step.axes),
            Item::Loop(l) => {
                l.count.eval(dims).map_or(f64::MAX, |n| n as f64 * elements(&l.body, dims, size))
            }
        };
        items.iter().map(one).sum()
    }
    let steps = elements(&law.forward, &point.dims, &size);
    let parameters: f64 = law.parameters.iter().map(|(_, axes)| size(axes)).sum();
    let element = element_type(point.dtype).size_in_bytes() as f64;
    // A cast of a float that is too large saturates.
    ((4. * steps + 2. * parameters) * element) as u64
}
