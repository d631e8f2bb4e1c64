//! `layout`: a strided tensor is the same tensor.
//!
//! Inputs that lie otherwise in memory give what contiguous ones give, and so does each tap whose tensor is put in such a
//! place while the model runs. An op that refuses a strided tensor says so loudly, and is no finding; where all passes
//! are refused, nothing is told.

use candle_core::{D, Result, Tensor};

use super::Finding;
use super::disagreement::{Claim, First, Inconclusive, Lie};
use super::pairs::{Held, Pairs, Stop, Verdict, first_apart};
use crate::harness::plan::Point;
use crate::harness::run::slices::numbered;
use crate::harness::run::{Failure, Pass, Rig};
use crate::harness::study::StudyError;
use crate::harness::subject::Inputs;
use crate::trace::locate::Place;

/// Every way in which a tensor may lie that is not in order from the start.
const WAYS: [Lie; 3] = [Lie::Transposed, Lie::Behind, Lie::Window];

/// Where the layout of a tensor changes values.
///
/// # Errors
/// A device that cannot be opened.
pub fn layout(of: &Pairs<'_>) -> std::result::Result<Vec<Finding>, StudyError> {
    of.findings(Point::clone, |point, setup| {
        let rig = Rig::new(of.subject, setup)?;
        let whole = rig.forward(rig.inputs())?;
        let tolerance = of.tolerance(point.dtype);
        let mut lying = Lying { rig, whole, tolerance, told: false, refused: None };
        for lie in WAYS {
            lying.inputs(lie)?;
        }
        for (name, place) in names(&lying.whole) {
            for lie in WAYS {
                lying.tap(&name, &place, lie)?;
            }
        }
        let refused = lying.refused.take();
        let untold = || Stop::inconclusive(Inconclusive::NoStrided { refused });
        if lying.told { Ok(()) } else { Err(untold()) }
    })
}

struct Lying {
    rig: Rig,
    whole: Pass,
    tolerance: f64,
    /// Whether a pass reached its end.
    told: bool,
    /// What the last pass said that did not.
    refused: Option<String>,
}

impl Lying {
    fn inputs(&mut self, lie: Lie) -> Verdict {
        let own = &self.rig.inputs().0;
        let lain = own.iter().map(|(name, t)| Ok((name.clone(), lain(t, lie)?)));
        let lain: Vec<(String, Option<Tensor>)> = lain.collect::<Result<_>>()?;
        if lain.iter().all(|(_, t)| t.is_none()) {
            return Ok(());
        }
        let inputs = lain.into_iter().zip(own);
        let inputs = inputs.map(|((name, lain), (_, t))| (name, lain.unwrap_or_else(|| t.clone())));
        let pass = self.rig.forward(&Inputs(inputs.collect()));
        let Some(pass) = self.reached(pass) else { return Ok(()) };
        let (whole, tolerance) = (&self.whole, self.tolerance);
        let held = Held { claim: Claim::StridedInputs(lie), tolerance };
        held.outputs(&pass.outputs, &whole.outputs, || {
            first_apart(&pass, whole, tolerance, |_, a, b| Some((a.clone(), b.clone())))
        })
    }

    fn tap(&mut self, name: &str, place: &Place, lie: Lie) -> Verdict {
        let can_lie = |tap: &&crate::trace::tap::Tap| tap.name == name;
        let taps = self.whole.taps.iter().filter(can_lie);
        let lain_taps = taps.map(|tap| Ok(lain(&tap.tensor, lie)?.is_some()));
        if !lain_taps.collect::<Result<Vec<bool>>>()?.contains(&true) {
            return Ok(());
        }
        let wanted = name.to_owned();
        let pass = self.rig.forward_with(self.rig.inputs(), move |tap| match tap.name == wanted {
            true => lain(&tap.tensor, lie),
            false => Ok(None),
        });
        let Some(pass) = self.reached(pass) else { return Ok(()) };
        let claim = Claim::StridedTap { tap: name.to_owned(), lie };
        let held = Held { claim, tolerance: self.tolerance };
        let first = || {
            Some(First {
                step: name.to_owned(),
                place: Some(place.clone()),
                after: None,
                like: None,
            })
        };
        held.outputs(&pass.outputs, &self.whole.outputs, first)
    }

    /// A pass that reached its end; what one said that did not is kept.
    fn reached(&mut self, pass: std::result::Result<Pass, Box<Failure>>) -> Option<Pass> {
        let pass = pass.map_err(|failure| self.refused = Some(failure.message));
        self.told |= pass.is_ok();
        pass.ok()
    }
}

/// Each name of a tap, with its first place.
fn names(pass: &Pass) -> Vec<(String, Place)> {
    let firsts = numbered(pass).into_iter().filter(|((_, nth), _)| *nth == 0);
    firsts.map(|((name, _), tap)| (name, Place::from(tap.place))).collect()
}

/// The same values, lying otherwise; nothing where they cannot, as a single row cannot lie transposed.
fn lain(t: &Tensor, lie: Lie) -> Result<Option<Tensor>> {
    let rank = t.rank();
    // What stands before has other values, so that it is seen where it is read.
    let before = t.zeros_like()?;
    let lain = match lie {
        _ if t.elem_count() == 0 || rank == 0 => return Ok(None),
        Lie::Transposed if rank < 2 => return Ok(None),
        Lie::Transposed => {
            t.transpose(rank - 2, rank - 1)?.contiguous()?.transpose(rank - 2, rank - 1)?
        }
        Lie::Behind => Tensor::cat(&[&before, t], 0)?.narrow(0, t.dim(0)?, t.dim(0)?)?,
        Lie::Window if rank < 2 => return Ok(None),
        Lie::Window => {
            let n = t.dim(D::Minus1)?;
            Tensor::cat(&[&before, t], D::Minus1)?.narrow(D::Minus1, n, n)?
        }
    };
    let in_order = lain.is_contiguous() && lain.layout().start_offset() == 0;
    Ok((!in_order).then_some(lain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Device;

    #[test]
    fn each_way_of_lying_keeps_the_values_and_is_not_in_order_from_the_start() -> Result<()> {
        let t = Tensor::arange(0f32, 24., &Device::Cpu)?.reshape((2, 3, 4))?;
        for lie in WAYS {
            let Some(lain) = lain(&t, lie)? else { candle_core::bail!("{lie:?} is none") };
            assert_eq!(lain.to_vec3::<f32>()?, t.to_vec3::<f32>()?, "{lie:?}");
            let contiguous = lie == Lie::Behind;
            assert_eq!(lain.is_contiguous(), contiguous, "{lie:?}");
            assert_eq!(lain.layout().start_offset() > 0, lie != Lie::Transposed, "{lie:?}");
        }
        assert!(lain(&t.narrow(1, 0, 1)?.contiguous()?, Lie::Transposed)?.is_none());
        Ok(())
    }
}
