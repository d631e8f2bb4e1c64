//! `batch`: the rows of a batch have nothing to do with one another.
//!
//! Another row of the inputs leaves a row as it is, bit by bit; a row by itself gives what it gives within the batch; rows
//! in another order give the same rows in that order; and the gradients of two parts of the batch add up to that of the
//! whole. That the changed row does change is the control: without it, nothing would be told.

use candle_core::{Result, Tensor};

use super::Finding;
use super::along::Along;
use super::disagreement::Claim;
use super::pairs::{Held, Pairs, Stop, Verdict, bare};
use crate::harness::case::DType;
use crate::harness::plan::Point;
use crate::harness::run::slices::{joined, narrowed, roll, rolled};
use crate::harness::run::{Named, Setup};
use crate::harness::study::StudyError;

/// The size that counts rows.
const SIZE: &str = "batch";
/// One row alone shows nothing.
const LEAST: usize = 2;

/// Where rows of a batch depend on one another.
///
/// # Errors
/// A device that cannot be opened.
pub fn batch(of: &Pairs<'_>) -> std::result::Result<Vec<Finding>, StudyError> {
    let Some(symbol) = of.symbol(SIZE) else { return Ok(Vec::new()) };
    let rows = |point: &Point| point.dims.get(&symbol).unwrap_or(1);
    let alone_is_a_point = of.points.iter().any(|point| rows(point) == 1);
    let raised = |point: &Point| of.resized(point, &symbol, rows(point).max(LEAST));
    of.findings(raised, |point, setup| {
        let along = Along::new(of.subject, setup, &symbol)?;
        if along.is_empty() {
            return Ok(());
        }
        let rows = Rows { along, tolerance: of.tolerance(point.dtype), alone_is_a_point };
        rows.are_isolated()?;
        rows.are_the_same_alone()?;
        rows.can_be_reordered()?;
        // A gradient is a sum whose terms may cancel, so it is judged in f64 where the model can be run so.
        let exact = Setup { dtype: candle_core::DType::F64, ..setup.clone() };
        match Along::new(of.subject, &exact, &symbol) {
            Ok(along) => Rows { along, tolerance: of.tolerance(DType::F64), ..rows }.add_up(),
            Err(_) => rows.add_up(),
        }
    })
}

struct Rows {
    along: Along,
    tolerance: f64,
    alone_is_a_point: bool,
}

impl Rows {
    fn are_isolated(&self) -> Verdict {
        let (along, b) = (&self.along, self.along.n);
        for changed in [b - 1, 0] {
            let pass = along.rig.forward(&along.altered((changed, 1), None)?)?;
            let others = |t: &Tensor, axis: usize| without(t, axis, changed);
            let held = Held { claim: Claim::RowIsolated { changed, rows: b }, tolerance: 0. };
            let first = || along.first((&pass, &along.whole), 0., others, others);
            held.outputs(&along.cut(&pass, others)?, &along.cut(&along.whole, others)?, first)?;
        }
        along.reach((0, 1))
    }

    fn are_the_same_alone(&self) -> Verdict {
        let (along, b) = (&self.along, self.along.n);
        for row in [0, b - 1] {
            let inputs = narrowed(along.rig.inputs(), &along.axes, (row, 1))?;
            let pass = match along.rig.forward(&inputs) {
                Ok(pass) => pass,
                Err(_) if self.alone_is_a_point => return Ok(()),
                Err(failure) => return Err(Stop::Found(Box::new(bare(*failure)))),
            };
            let mine = |t: &Tensor, axis: usize| t.narrow(axis, row, 1);
            let held = Held { claim: Claim::RowAlone { row, rows: b }, tolerance: self.tolerance };
            let first = || along.first((&pass, &along.whole), self.tolerance, as_it_is, mine);
            let expected = along.cut(&along.whole, mine)?;
            held.outputs(&along.cut(&pass, as_it_is)?, &expected, first)?;
        }
        Ok(())
    }

    fn can_be_reordered(&self) -> Verdict {
        let along = &self.along;
        let pass = along.rig.forward(&rolled(along.rig.inputs(), &along.axes)?)?;
        let held = Held { claim: Claim::RowsReordered, tolerance: self.tolerance };
        let first = || along.first((&pass, &along.whole), self.tolerance, as_it_is, roll);
        held.outputs(&along.cut(&pass, as_it_is)?, &along.cut(&along.whole, roll)?, first)
    }

    fn add_up(&self) -> Verdict {
        let (along, b) = (&self.along, self.along.n);
        let cotangents = along.rig.cotangents(&along.cut(&along.whole, as_it_is)?)?;
        if cotangents.is_empty() {
            return Ok(());
        }
        let whole = along.rig.gradients(&along.whole.outputs, &cotangents, along.rig.inputs())?;
        let mut sum: Named = Vec::new();
        for (start, len) in [(0, 1), (1, b - 1)] {
            let inputs = narrowed(along.rig.inputs(), &along.axes, (start, len))?;
            let pass = along.rig.forward(&inputs)?;
            let part = |t: &Tensor, axis: usize| t.narrow(axis, start, len)?.contiguous();
            let part = along.grown.of_outputs(&cotangents, part)?;
            add(&mut sum, along.rig.gradients(&pass.outputs, &part, &inputs)?)?;
        }
        let parameters = along.rig.parameters();
        let of_parameter = |(name, _): &(String, Tensor)| {
            let known = |own: &str| own == name;
            parameters.iter().any(|(own, _)| known(own)) && sum.iter().any(|(own, _)| known(own))
        };
        let whole: Named = whole.into_iter().filter(of_parameter).collect();
        let held = Held { claim: Claim::RowsAdd { rows: b }, tolerance: self.tolerance };
        held.gradients(&sum, &whole)
    }
}

fn as_it_is(t: &Tensor, _: usize) -> Result<Tensor> {
    Ok(t.clone())
}

/// All slices along an axis but one.
fn without(t: &Tensor, axis: usize, slice: usize) -> Result<Tensor> {
    let after = t.dim(axis)? - slice - 1;
    joined(&[t.narrow(axis, 0, slice)?, t.narrow(axis, slice + 1, after)?], axis)
}

fn add(sum: &mut Named, part: Named) -> Result<()> {
    for (name, gradient) in part {
        match sum.iter_mut().find(|(own, _)| *own == name) {
            Some((_, so_far)) => *so_far = (&*so_far + gradient)?,
            None => sum.push((name, gradient)),
        }
    }
    Ok(())
}
