//! `layout`: a strided tensor is the same tensor.
//!
//! Inputs that lie transposed in memory give what contiguous ones give, and so does each tap whose tensor is put in such a
//! place while the model runs. An op that refuses a strided tensor says so loudly, and is no finding.

use candle_core::{Result, Tensor};

use super::Finding;
use super::disagreement::{Claim, First};
use super::pairs::{Held, Pairs, first_apart};
use crate::harness::plan::Point;
use crate::harness::run::slices::numbered;
use crate::harness::run::{Pass, Rig};
use crate::harness::study::StudyError;
use crate::harness::subject::Inputs;
use crate::trace::locate::Place;

/// Where the layout of a tensor changes values.
///
/// # Errors
/// A device that cannot be opened.
pub fn layout(of: &Pairs<'_>) -> std::result::Result<Vec<Finding>, StudyError> {
    of.findings(Point::clone, |point, setup| {
        let rig = Rig::new(of.subject, setup)?;
        let whole = rig.forward(rig.inputs())?;
        let tolerance = of.tolerance(point.dtype);
        let strided_inputs = rig.inputs().0.iter().map(|(n, t)| Ok((n.clone(), strided(t)?)));
        let inputs = Inputs(strided_inputs.collect::<Result<_>>()?);
        let held = Held { claim: Claim::StridedInputs, tolerance };
        if let Ok(pass) = rig.forward(&inputs) {
            let first =
                || first_apart(&pass, &whole, tolerance, |_, a, b| Some((a.clone(), b.clone())));
            held.outputs(&pass.outputs, &whole.outputs, first)?;
        }
        for (name, place) in names(&whole) {
            let wanted = name.clone();
            let replaced = rig.forward_with(rig.inputs(), move |tap| {
                (tap.name == wanted).then(|| strided(&tap.tensor)).transpose()
            });
            let Ok(pass) = replaced else { continue };
            let held = Held { claim: Claim::StridedTap { tap: name.clone() }, tolerance };
            let first = || Some(First { step: name, place: Some(place), after: None });
            held.outputs(&pass.outputs, &whole.outputs, first)?;
        }
        Ok(())
    })
}

/// Each name of a tap, with its first place.
fn names(pass: &Pass) -> Vec<(String, Place)> {
    let firsts = numbered(pass).into_iter().filter(|((_, nth), _)| *nth == 0);
    firsts.map(|((name, _), tap)| (name, Place::from(tap.place))).collect()
}

/// The same values with the last two axes exchanged in memory, behind an offset where there is one axis.
fn strided(t: &Tensor) -> Result<Tensor> {
    match t.rank() {
        0 => Ok(t.clone()),
        1 => {
            let n = t.dim(0)?;
            Tensor::cat(&[t, t], 0)?.narrow(0, n, n)
        }
        rank => t.transpose(rank - 2, rank - 1)?.contiguous()?.transpose(rank - 2, rank - 1),
    }
}
