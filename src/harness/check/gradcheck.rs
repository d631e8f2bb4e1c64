//! `gradcheck`: gradients are those that finite differences show.
//!
//! In f64, each parameter and float input is moved a little along a random direction u, both ways; the change of the loss,
//! which is the outputs' product with a seeded cotangent, has to be the gradient's product with u. A place at which a model
//! has no derivative, as the kink of a relu, can differ.

use candle_core::{DType as Candle, Device, Result, Tensor};
use candle_nn::Init;

use super::Finding;
use super::What;
use super::disagreement::{Claim, Disagreement, Inconclusive};
use super::pairs::{Pairs, Stop, Verdict};
use crate::harness::case::DType;
use crate::harness::plan::Point;
use crate::harness::run::{Named, Rig, Setup};
use crate::harness::study::StudyError;
use crate::harness::subject::Inputs;
use crate::trace::params::fill;

/// How far a parameter is moved: a large step rounds less, a small one bends less. The better of the two counts.
const STEPS: [f64; 2] = [1e-4, 1e-6];
/// How far the two may be apart where the case does not say.
const TOLERANCE: f64 = 1e-6;

/// The gradients that are not the derivatives.
///
/// # Errors
/// A device that cannot be opened.
pub fn gradcheck(of: &Pairs<'_>) -> std::result::Result<Vec<Finding>, StudyError> {
    let tolerance = of.case.tolerance(of.check.name(), DType::F64).unwrap_or(TOLERANCE);
    of.findings(
        |point| Point { dtype: DType::F64, ..point.clone() },
        |_, setup| {
            let setup = Setup { dtype: Candle::F64, ..setup.clone() };
            let rig = Rig::new(of.subject, &setup)?;
            let pass = rig.forward(rig.inputs())?;
            let cotangents = rig.cotangents(&pass.outputs)?;
            let gradients = match cotangents.is_empty() {
                true => Named::new(),
                false => rig.gradients(&pass.outputs, &cotangents, rig.inputs())?,
            };
            if gradients.is_empty() {
                return Err(Stop::inconclusive(Inconclusive::NoDerivative));
            }
            let loss = |rig: &Rig, inputs: &Inputs| -> std::result::Result<f64, Stop> {
                Ok(product(&rig.forward(inputs)?.outputs, &cotangents)?)
            };
            let at = loss(&rig, rig.inputs())?;
            for (name, gradient) in &gradients {
                let u = direction(gradient, setup.seed, name)?;
                let moved = |by: f64| -> std::result::Result<f64, Stop> {
                    match rig.inputs().get(name) {
                        Ok(_) => loss(&rig, &along(rig.inputs(), name, &(&u * by)?)?),
                        Err(_) => {
                            let rig = Rig::moved(of.subject, &setup, name, &(&u * by)?)?;
                            loss(&rig, rig.inputs())
                        }
                    }
                };
                let mut least = f64::INFINITY;
                for step in STEPS {
                    let slope = (moved(step)? - moved(-step)?) / (2. * step);
                    least = least.min(error(slope, gradient, &u, at)?);
                }
                judged(name, least, tolerance)?;
            }
            Ok(())
        },
    )
}

fn judged(name: &str, error: f64, tolerance: f64) -> Verdict {
    if error <= tolerance {
        return Ok(());
    }
    let (name, claim) = (name.to_owned(), Claim::Derivative);
    let found = Disagreement { name, gradient: true, claim, first: None, error, tolerance };
    Err(Stop::Found(Box::new(What::Disagree(Box::new(found)))))
}

/// |slope − ⟨g, u⟩|, relative to what ⟨g, u⟩ is for a random u; where the gradient is zero, to the loss.
fn error(slope: f64, g: &Tensor, u: &Tensor, loss: f64) -> Result<f64> {
    let inner = (g * u)?.sum_all()?.to_scalar::<f64>()?;
    let size = g.sqr()?.sum_all()?.to_scalar::<f64>()?.sqrt();
    let scale = if size > 0. { size.max(inner.abs()) } else { loss.abs().max(1.) };
    Ok((slope - inner).abs() / scale)
}

fn product(outputs: &Named, cotangents: &Named) -> Result<f64> {
    let each = cotangents.iter().filter_map(|(name, cotangent)| {
        let (_, output) = outputs.iter().find(|(own, _)| own == name)?;
        Some(
            (output * cotangent)
                .and_then(|t| t.to_dtype(Candle::F64)?.sum_all()?.to_scalar::<f64>()),
        )
    });
    each.sum()
}

fn direction(like: &Tensor, seed: u64, name: &str) -> Result<Tensor> {
    let init = Init::Randn { mean: 0., stdev: 1. };
    let values = fill(seed, &format!("direction of {name}"), &init, like.dims());
    Tensor::from_vec(values, like.shape(), &Device::Cpu)?.to_device(like.device())
}

fn along(inputs: &Inputs, name: &str, by: &Tensor) -> Result<Inputs> {
    let moved = inputs.0.iter().map(|(own, t)| {
        let t = t.detach();
        Ok((own.clone(), if own == name { (t + by)? } else { t }))
    });
    Ok(Inputs(moved.collect::<Result<_>>()?))
}
