//! `scans`: the model and its reference agree, values and the gradients of every parameter and float input.

use super::tally::Tally;
use super::{Check, Disagreement, Finding, What};
use crate::harness::case::{Case, DType as CaseDType};
use crate::harness::plan::{Point, VariantPlan};
use crate::harness::run::{Depth, Values, observe, observe_reference, relative_error};
use crate::harness::study::{StudyError, device, setup};
use crate::harness::subject::AnySubject;

/// How far two computations of the same thing may be apart where the case does not say.
fn default_tolerance(dtype: CaseDType) -> f64 {
    match dtype {
        CaseDType::F64 => 1e-11,
        CaseDType::F16 => 1e-2,
        CaseDType::BF16 => 5e-2,
        _ => 1e-5,
    }
}

/// The tensor that differs most from the reference's, at the first point where any differs too much.
///
/// # Errors
/// A device that cannot be opened, or candle's internals.
pub fn scans(
    case: &Case,
    variant: &VariantPlan,
    points: &[Point],
    subject: &dyn AnySubject,
) -> Result<Vec<Finding>, StudyError> {
    let mut verdicts: Vec<(&Point, Option<Disagreement>)> = Vec::new();
    for point in points {
        let device = device(point.device)?;
        let setup = setup(case, variant, point, &device);
        let (run, own) = observe(subject, &setup, Depth::Backward)?;
        let Some((other, reference)) = observe_reference(subject, &setup)? else { break };
        let ran = run.failure.is_none() && other.failure.is_none();
        let tolerance = case.tolerance(Check::Scans.name(), point.dtype);
        let tolerance = tolerance.unwrap_or_else(|| default_tolerance(point.dtype));
        let verdict = if ran { worst(&own, &reference, tolerance) } else { None };
        verdicts.push((point, verdict));
    }
    let Some((at, what)) = verdicts.iter().find_map(|(p, v)| Some((*p, v.clone()?))) else {
        return Ok(Vec::new());
    };
    Ok(vec![Finding {
        check: Check::Scans,
        variant: variant.name.clone(),
        tally: Tally::new(verdicts.iter().map(|(point, verdict)| (*point, verdict.is_some()))),
        at: at.dims.clone(),
        what: What::Disagree(Box::new(what)),
    }])
}

/// The output that is furthest beyond the tolerance; where all are within it, the gradient that is.
fn worst(own: &Values, reference: &Values, tolerance: f64) -> Option<Disagreement> {
    let outputs = own.outputs.iter().map(|pair| (pair, false, &reference.outputs));
    let gradients = own.gradients.iter().map(|pair| (pair, true, &reference.gradients));
    let compared = outputs.chain(gradients).map(|((name, a), gradient, others)| {
        let b = others.iter().find(|(other, _)| other == name).map(|(_, b)| b);
        let error = b.map_or(f64::INFINITY, |b| relative_error(a, b).unwrap_or(f64::INFINITY));
        Disagreement {
            name: name.clone(),
            gradient,
            against: "the reference".into(),
            error,
            tolerance,
        }
    });
    let beyond = compared.filter(|d| d.error.is_nan() || d.error > tolerance);
    beyond.max_by(|a, b| b.gradient.cmp(&a.gradient).then(a.error.total_cmp(&b.error)))
}
