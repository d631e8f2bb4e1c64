//! `device`: a device computes what the CPU does, step by step.
//!
//! On the CPU itself a second run takes the other's place, so that a case says the same everywhere.

use candle_core::Device;

use super::Finding;
use super::disagreement::Claim;
use super::pairs::{Held, Pairs, Verdict, first_apart};
use crate::harness::case::DType;
use crate::harness::plan::Point;
use crate::harness::run::{Pass, Rig, Setup};
use crate::harness::study::StudyError;

/// Where a device differs from the CPU.
///
/// # Errors
/// A device that cannot be opened.
pub fn device(of: &Pairs<'_>) -> Result<Vec<Finding>, StudyError> {
    of.findings(Point::clone, |point, setup| {
        let own = of.case.tolerance(of.check.name(), point.dtype);
        let tolerance = own.unwrap_or_else(|| allowed(point.dtype));
        let (rig, cpu) = (
            Rig::new(of.subject, setup)?,
            Rig::new(of.subject, &Setup { device: &Device::Cpu, ..setup.clone() })?,
        );
        let (pass, expected) = (rig.forward(rig.inputs())?, cpu.forward(cpu.inputs())?);
        agree(&pass, &expected, tolerance)?;
        let cotangents = (rig.cotangents(&pass.outputs)?, cpu.cotangents(&expected.outputs)?);
        if cotangents.0.is_empty() {
            return Ok(());
        }
        let own = rig.gradients(&pass.outputs, &cotangents.0, rig.inputs())?;
        let other = cpu.gradients(&expected.outputs, &cotangents.1, cpu.inputs())?;
        Held { claim: Claim::OnTheCpu, tolerance }.gradients(&own, &other)
    })
}

/// Whether two passes agree; where not, at which step first.
pub(super) fn agree(pass: &Pass, expected: &Pass, tolerance: f64) -> Verdict {
    let held = Held { claim: Claim::OnTheCpu, tolerance };
    held.outputs(&pass.outputs, &expected.outputs, || {
        first_apart(pass, expected, tolerance, |_, a, b| Some((a.clone(), b.clone())))
    })
}

/// How far a device may be from the CPU where the case does not say.
fn allowed(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => 1e-10,
        DType::F32 => 1e-4,
        DType::F16 => 1e-2,
        DType::BF16 => 5e-2,
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{Result, Tensor};

    use super::super::What;
    use super::super::pairs::Stop;
    use super::*;
    use crate::trace::tap;

    fn pass(planted: f64) -> Result<Pass> {
        let x = Tensor::arange(0f32, 6., &Device::Cpu)?.reshape((2, 3))?;
        let run = tap::record(|| -> Result<Tensor> {
            let first = tap("first", (&x * 2.)?)?;
            tap("second", (first + planted)?)?.sum(1)
        });
        Ok(Pass { outputs: vec![("output".into(), run.result?)], taps: run.taps })
    }

    #[test]
    fn a_fault_planted_in_one_of_two_runs_is_found_at_its_step() -> Result<()> {
        assert!(agree(&pass(0.)?, &pass(0.)?, 1e-4).is_ok());
        let Err(Stop::Found(what)) = agree(&pass(1e-2)?, &pass(0.)?, 1e-4) else {
            candle_core::bail!("the fault is not found");
        };
        let What::Disagree(found) = *what else { candle_core::bail!("it is not told as one") };
        assert_eq!(found.first.map(|first| first.step), Some("second".to_owned()));
        Ok(())
    }
}
