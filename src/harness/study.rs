//! Everything that the runs of one variant showed.

mod laws;
mod witnesses;

use candle_core::{DType, Device};

use super::case::{Case, DType as CaseDType, DeviceKind};
use super::law::witness::choose;
use super::law::{Item, Law, Unlawful, infer};
use super::plan::{Point, VariantPlan};
use super::run::{Depth, Observation, Setup, observe, relative_error, same_bits, unwatched};
use super::subject::AnySubject;
use crate::dims::Dims;
use crate::trace::Role;
use crate::trace::graph::InternalsChanged;
pub use laws::Laws;
use witnesses::{Witnesses, error, witness_setup, witnesses};

/// The runs of one variant, and the law inferred from them.
#[derive(Debug, Clone, Default)]
pub struct Study {
    /// The variant.
    pub variant: String,
    /// What its shapes obey.
    pub law: Law,
    /// What the steps before the error obey, where the witness runs end with one.
    pub begun: Law,
    /// Where no law could be stated.
    pub unlawful: Vec<Unlawful>,
    /// The base of the witness runs.
    pub witness: Observation,
    /// Runs that only help to tell expressions apart, and that take another number of steps than the base.
    pub beside: Vec<Observation>,
    /// Dims at which a run ends with an error although the base does not, and what it says: the first of these.
    pub ended: Option<(Dims, String)>,
    /// Tensors of the witness run that depend on its inputs but have no visible origin.
    pub cuts: Vec<Cut>,
    /// The output in which the witness run differs from one that nobody watched, and max |a − b| / max |b|; nothing where
    /// they agree bit by bit.
    pub watched: Option<(String, f64)>,
    /// The points that ran.
    pub seen: Vec<Seen>,
    /// The points that were refused, with the bytes they would have taken.
    pub refused: Vec<(Point, u64)>,
}

/// One point and what its run showed.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The point.
    pub point: Point,
    /// What its run showed.
    pub run: Observation,
}

/// The far side of an op that the graph does not show: one without backward, or `detach`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The shape that comes out of it.
    pub shape: Vec<usize>,
    /// The last name before it, and the first after it.
    pub between: (Option<String>, Option<String>),
    /// The `tracing` span that it is in, where the model opens one.
    pub span: Option<&'static str>,
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

/// Infers the law of a variant, unless it is known, and runs the given points.
///
/// # Errors
/// A device that cannot be opened, or candle's internals; what fails in the model is part of the study.
pub fn study(
    case: &Case,
    variant: &VariantPlan,
    points: &[Point],
    subject: &dyn AnySubject,
    depth: Depth,
    laws: Option<&Laws>,
) -> Result<Study, StudyError> {
    let mut study = match laws {
        Some(laws) => laws.of(case, variant, subject)?,
        None => inferred(case, variant, subject)?,
    };
    for point in points {
        let bytes = needs(&study.law, point);
        if bytes > case.budget {
            study.refused.push((point.clone(), bytes));
            continue;
        }
        let device = device(point.device)?;
        let setup = Setup {
            mixing: study.law.mixes() || study.begun.mixes(),
            ..setup(case, variant, point, &device)
        };
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
    let mut chosen = choose(subject, &variant.config, &fixed);
    let mut runs = witnesses(case, subject, &chosen)?;
    if !runs.works() {
        let own = variant.points.first().map(|p| p.dims.clone()).unwrap_or_default();
        let of_case = choose(subject, &variant.config, &own);
        let again = witnesses(case, subject, &of_case)?;
        if again.works() {
            let ended = runs.all.first().and_then(error);
            (chosen, runs) = (of_case, Witnesses { ended: ended.or(again.ended), ..again });
        }
    }
    let works = runs.works();
    let Witnesses { all: mut runs, strict, long, ended } = runs;
    let sizes: Vec<&str> = subject.sizes().into_iter().map(|(_, symbol)| symbol).collect();
    let (inferred, unlawful) = infer(&runs, strict, long, &sizes);
    let (law, begun, unlawful) = match works {
        true => (inferred, Law::default(), unlawful),
        false => (Law::default(), inferred, Vec::new()),
    };
    // Those of few steps may lack what a length bounds.
    runs.truncate(long);
    let beside = runs.split_off(strict.min(runs.len()));
    let witness = runs.into_iter().next().unwrap_or_default();
    let variant = variant.name.clone();
    let mut study = Study { variant, law, begun, unlawful, beside, ended, ..Default::default() };
    if works && let Some(base) = chosen.first() {
        let other = witness_setup(base, case.seed.wrapping_add(1));
        study.cuts = cuts(&witness, &observe(subject, &other, Depth::Forward)?.0);
        study.watched = watched(subject, &witness_setup(base, case.seed))?;
    }
    study.witness = witness;
    Ok(study)
}

/// Leaves whose values change with parameters and inputs: something that the graph does not show made them.
fn cuts(run: &Observation, other: &Observation) -> Vec<Cut> {
    let pairs = run.trace.coverage.leaves.iter().zip(&other.trace.coverage.leaves);
    let cut = pairs.filter(|(a, b)| a.op == b.op && a.digest != b.digest).map(|(a, _)| {
        let op = &run.trace.ops[a.op];
        let names = || run.trace.names.iter().filter(|name| name.role == Role::Tap);
        let before = names().rfind(|name| name.time < op.time);
        let after = names().find(|name| name.time > op.time);
        let between = (before.map(|n| n.name.clone()), after.map(|n| n.name.clone()));
        Cut { shape: op.shape.clone(), between, span: a.span }
    });
    cut.collect()
}

/// Watching must change nothing: the outputs of a watched and of an unwatched run are the same bits.
fn watched(
    subject: &dyn AnySubject,
    setup: &Setup<'_>,
) -> Result<Option<(String, f64)>, InternalsChanged> {
    let (_, values) = observe(subject, setup, Depth::Forward)?;
    let Some(plain) = unwatched(subject, setup) else { return Ok(None) };
    let pairs = values.outputs.iter().zip(&plain);
    let differs = pairs
        .filter(|((_, a), (_, b))| !same_bits(a, b))
        .map(|((name, a), (_, b))| (name.clone(), relative_error(a, b).unwrap_or(f64::INFINITY)));
    Ok(differs.into_iter().next())
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
    Setup { config, dims, seed: case.seed, dtype, device, mixing: false }
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
    }
}

/// About how many bytes a run at the point takes: every step and parameter, each with its gradient, twice for what is between. What
/// has no law cannot be told.
pub fn needs(law: &Law, point: &Point) -> u64 {
    let size = |axes: &crate::dims::Axes| -> f64 {
        axes.eval(&point.dims).map_or(0., |s| s.iter().map(|&n| n as f64).product())
    };
    fn elements(items: &[Item], dims: &Dims, size: &dyn Fn(&crate::dims::Axes) -> f64) -> f64 {
        let one = |item: &Item| match item {
            Item::Step(step) => size(&step.axes),
            Item::Loop(l) => {
                l.count.eval(dims).map_or(0., |n| n as f64 * elements(&l.body, dims, size))
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
