//! `continuation`: a sequence read in pieces is the sequence read as a whole.
//!
//! Two pieces, three pieces and single places give the outputs of the whole and leave its state; and a model that has
//! read something before gives what it gave at first.

use candle_core::{Result, Tensor};

use super::Finding;
use super::along::{Along, findings};
use super::disagreement::{Claim, First, Inconclusive};
use super::pairs::{Held, Pairs, Stop, Verdict, bare};
use crate::harness::run::slices::{joined, narrowed};
use crate::harness::run::{Named, Pass};
use crate::harness::study::StudyError;
use crate::harness::subject::{Inputs, State};

/// Up to which length a sequence is also read place by place.
const SINGLE: usize = 128;

/// Where reading in pieces is not reading the whole.
///
/// # Errors
/// A device that cannot be opened.
pub fn continuation(of: &Pairs<'_>) -> std::result::Result<Vec<Finding>, StudyError> {
    findings(of, |along, point| {
        let reading = Reading { along, tolerance: of.tolerance(point.dtype) };
        let left = reading.whole()?;
        for lengths in splits(reading.along.n) {
            reading.in_pieces(&lengths, &left)?;
        }
        reading.again()
    })
}

/// Two pieces, cut early, in the middle and late; three pieces; single places.
fn splits(l: usize) -> Vec<Vec<usize>> {
    let two = [1, l / 2, l - 1].map(|first| vec![first, l.saturating_sub(first)]);
    let third = l / 3;
    let three = vec![third, third, l.saturating_sub(2 * third)];
    let singles = (l <= SINGLE).then(|| vec![1; l]);
    let mut all: Vec<Vec<usize>> = two.into_iter().chain([three]).chain(singles).collect();
    all.retain(|lengths| lengths.len() > 1 && lengths.iter().all(|n| *n > 0));
    all.dedup();
    all
}

struct Reading {
    along: Along,
    tolerance: f64,
}

impl Reading {
    /// Reads the whole from the start, which is the forward pass; gives the state it leaves.
    fn whole(&self) -> std::result::Result<Named, Stop> {
        let along = &self.along;
        let lengths = vec![along.n];
        let (pass, state) = self.resume(along.rig.inputs(), None)?;
        let held = Held { claim: Claim::Pieces { lengths }, tolerance: self.tolerance };
        let all = |t: &Tensor, _: usize| Ok(t.clone());
        let first = || along.first((&pass, &along.whole), self.tolerance, all, all);
        held.outputs(&along.cut(&pass, all)?, &along.cut(&along.whole, all)?, first)?;
        Ok(along.rig.tensors(&state))
    }

    fn in_pieces(&self, lengths: &[usize], left: &Named) -> Verdict {
        let along = &self.along;
        let (mut start, mut state) = (0, None);
        let mut passes: Vec<(usize, Pass)> = Vec::new();
        for &len in lengths {
            let inputs = narrowed(along.rig.inputs(), &along.axes, (start, len))?;
            let (pass, next) = self.resume(&inputs, state.as_ref())?;
            passes.push((start, pass));
            (start, state) = (start + len, Some(next));
        }
        let claim = Claim::Pieces { lengths: lengths.to_vec() };
        let held = Held { claim, tolerance: self.tolerance };
        let expected = along.cut(&along.whole, |t, _| Ok(t.clone()))?;
        held.outputs(&self.put_together(&passes)?, &expected, || self.first(&passes, lengths))?;
        let claim = Claim::PiecesState { lengths: lengths.to_vec() };
        let held = Held { claim, tolerance: self.tolerance };
        let own = state.map(|state| along.rig.tensors(&state)).unwrap_or_default();
        held.outputs(&own, left, || None)
    }

    /// What was read before leaves no trace in the model: the forward pass is what it was.
    fn again(&self) -> Verdict {
        let along = &self.along;
        let pass = along.rig.forward(along.rig.inputs())?;
        let held = Held { claim: Claim::Again, tolerance: 0. };
        let all = |t: &Tensor, _: usize| Ok(t.clone());
        let first = || along.first((&pass, &along.whole), 0., all, all);
        held.outputs(&pass.outputs, &along.whole.outputs, first)
    }

    /// No other check reads on, so what fails here is told here.
    fn resume(
        &self,
        inputs: &Inputs,
        state: Option<&State>,
    ) -> std::result::Result<(Pass, State), Stop> {
        let resumed = self.along.rig.resume(inputs, state);
        let resumed = resumed.map_err(|failure| Stop::Found(Box::new(bare(*failure))))?;
        resumed.ok_or_else(|| Stop::inconclusive(Inconclusive::NoState))
    }

    fn put_together(&self, passes: &[(usize, Pass)]) -> Result<Named> {
        let grown = &self.along.grown;
        let names = passes.first().map(|(_, pass)| pass.outputs.clone()).unwrap_or_default();
        let whole = names.into_iter().filter_map(|(name, _)| {
            let axis = grown.output(&name)?;
            let piece = |pass: &Pass| {
                pass.outputs.iter().find(|(own, _)| *own == name).map(|(_, t)| t.clone())
            };
            let pieces: Vec<Tensor> = passes.iter().filter_map(|(_, pass)| piece(pass)).collect();
            Some(joined(&pieces, axis).map(|t| (name.clone(), t)))
        });
        whole.collect()
    }

    /// The first tap of the first piece that is not the part of the whole that it should be.
    fn first(&self, passes: &[(usize, Pass)], lengths: &[usize]) -> Option<First> {
        let along = &self.along;
        passes.iter().zip(lengths).find_map(|((start, pass), len)| {
            let part = |t: &Tensor, axis: usize| t.narrow(axis, *start, *len);
            let all = |t: &Tensor, _: usize| Ok(t.clone());
            along.first((pass, &along.whole), self.tolerance, all, part)
        })
    }
}
