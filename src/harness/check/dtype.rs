//! `dtype`: the number format of a point goes through the whole model.
//!
//! Every tap and output is in the point's format, but for those that the case lets keep f32. The model runs in f64 too, which
//! a constant or a mask of another format hinders, and what it gives at the point is what it gives there, up to the
//! format's rounding.

use candle_core::{DType as Candle, Tensor};

use super::Finding;
use super::What;
use super::disagreement::Claim;
use super::pairs::{Held, Pairs, Stop, Verdict, bare, first_apart};
use crate::harness::case::{Case, DType};
use crate::harness::law::starred;
use crate::harness::plan::Point;
use crate::harness::run::{Failure, Named, Pass, Rig, Setup};
use crate::harness::study::StudyError;
use crate::trace::locate::Place;

/// Where a format is lost.
///
/// # Errors
/// A device that cannot be opened.
pub fn dtype(of: &Pairs<'_>) -> Result<Vec<Finding>, StudyError> {
    of.findings(Point::clone, |point, setup| {
        let rig = Rig::new(of.subject, setup)?;
        let pass = rig.forward(rig.inputs())?;
        in_format(of.case, &pass, point.dtype)?;
        let exact = Setup { dtype: Candle::F64, ..setup.clone() };
        // No point of the case need run in this format, so that what fails is told here.
        let failed = |failure: Box<Failure>| Stop::Found(Box::new(bare(*failure)));
        let exactly = Rig::new(of.subject, &exact).map_err(failed)?;
        let expected = exactly.forward(exactly.inputs()).map_err(failed)?;
        in_format(of.case, &expected, DType::F64)?;
        let own = of.case.tolerance(of.check.name(), point.dtype);
        let tolerance = own.unwrap_or_else(|| allowed(point.dtype));
        let held = Held { claim: Claim::InF64, tolerance };
        let floats = |outputs: &Named| {
            outputs.iter().filter(|(_, t)| t.dtype().is_float()).cloned().collect::<Named>()
        };
        held.outputs(&floats(&pass.outputs), &floats(&expected.outputs), || {
            first_apart(&pass, &expected, tolerance, |_, a, b| Some((a.clone(), b.clone())))
        })
    })
}

/// Whether every tap, in the order of the pass, and every output is in the format of the pass.
fn in_format(case: &Case, pass: &Pass, expected: DType) -> Verdict {
    let taps = pass.taps.iter().map(|tap| (&tap.name, &tap.tensor, Some(tap.place)));
    let outputs = pass.outputs.iter().map(|(name, t)| (name, t, None));
    let is_wrong = |name: &str, t: &Tensor| {
        let own = t.dtype();
        let kept = own.size_in_bytes() >= 4 && case.keeps_f32(name, expected);
        own.is_float() && own.as_str() != expected.name() && !kept
    };
    let mut wrong = taps.chain(outputs).filter(|(name, t, _)| is_wrong(name, t)).peekable();
    let Some((first, t, place)) = wrong.peek().copied() else { return Ok(()) };
    let mut steps: Vec<String> = Vec::new();
    for step in wrong.map(|(name, ..)| starred(name)) {
        if !steps.contains(&step) {
            steps.push(step);
        }
    }
    let (step, place, actual) = (first.clone(), place.map(Place::from), t.dtype().as_str());
    Err(Stop::Found(Box::new(What::OtherFormat { step, place, expected, actual, steps })))
}

/// How far a whole model may be from itself in f64.
fn allowed(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => 0.,
        DType::F32 => 1e-3,
        DType::F16 => 5e-2,
        DType::BF16 => 2e-1,
    }
}
