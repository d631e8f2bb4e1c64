//! `dtype`: the number format of a point goes through the whole model.
//!
//! The model runs in f64 too, which a constant or a mask of another format hinders; what it gives at the point is what it
//! gives in f64, up to the format's rounding; and no output is in a narrower format than the point's.

use candle_core::DType as Candle;

use super::Finding;
use super::What;
use super::disagreement::Claim;
use super::pairs::{Held, Pairs, Stop, bare, first_apart};
use crate::harness::case::DType;
use crate::harness::plan::Point;
use crate::harness::run::{Named, Rig, Setup};
use crate::harness::study::StudyError;

/// Where a format is lost.
///
/// # Errors
/// A device that cannot be opened.
pub fn dtype(of: &Pairs<'_>) -> Result<Vec<Finding>, StudyError> {
    of.findings(Point::clone, |point, setup| {
        let rig = Rig::new(of.subject, setup)?;
        let pass = rig.forward(rig.inputs())?;
        let floats = || pass.outputs.iter().filter(|(_, t)| t.dtype().is_float());
        let narrower =
            |t: &candle_core::Tensor| t.dtype().size_in_bytes() < setup.dtype.size_in_bytes();
        if let Some((name, t)) = floats().find(|(_, t)| narrower(t)) {
            let (output, actual) = (name.clone(), t.dtype().as_str());
            let what = What::Narrower { output, expected: point.dtype, actual };
            return Err(Stop::Found(Box::new(what)));
        }
        let exact = Setup { dtype: Candle::F64, ..setup.clone() };
        // No point of the case runs in this format, so that what fails is told here.
        let failed =
            |failure: Box<crate::harness::run::Failure>| Stop::Found(Box::new(bare(*failure)));
        let exactly = Rig::new(of.subject, &exact).map_err(failed)?;
        let expected = exactly.forward(exactly.inputs()).map_err(failed)?;
        let own = of.case.tolerance(of.check.name(), point.dtype);
        let tolerance = own.unwrap_or_else(|| allowed(point.dtype));
        let held = Held { claim: Claim::InF64, tolerance };
        let all = |outputs: &Named| {
            outputs.iter().filter(|(_, t)| t.dtype().is_float()).cloned().collect::<Named>()
        };
        held.outputs(&all(&pass.outputs), &all(&expected.outputs), || {
            first_apart(&pass, &expected, tolerance, |_, a, b| Some((a.clone(), b.clone())))
        })
    })
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
