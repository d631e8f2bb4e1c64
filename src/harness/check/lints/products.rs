//! Products whose sides lie or stand as they seldom should.

use super::{Lint, Odd, lint};
use crate::harness::check::pairs::Pairs;
use crate::harness::law::{Item, Law, starred};
use crate::trace::Trace;
use crate::trace::op::{Kind, RawOp};
use crate::trace::rows::rows;

/// A product that candle's CPU kernel folds wrongly.
///
/// It takes the rows of all matrices on the left for those of one where the right side has one matrix for all and the left's
/// follow each other in memory. It does not look at how the rows of each of them lie.
pub(super) fn strided_product(trace: &Trace, op: &RawOp) -> Option<Odd> {
    let (left, right) = sides(trace, op)?;
    let batch = left.shape.len().checked_sub(2)?;
    let (rows, columns) = (left.shape[batch], left.shape[batch + 1]);
    let is_several = |i: &usize| left.shape[*i] > 1;
    let innermost = (0..batch).rfind(is_several)?;
    let one_for_all = (0..batch).filter(is_several).all(|i| right.strides.get(i) == Some(&0));
    let follow = left.strides.get(innermost) == Some(&(rows * columns));
    let in_order = rows == 1 || left.strides.get(batch) == Some(&columns);
    (one_for_all && follow && !in_order).then(|| Odd::StridedProduct {
        left: left.shape.clone(),
        strides: left.strides.clone(),
        right: right.shape.clone(),
    })
}

/// Products that sum over the rows, of a subject whose rows have nothing to do with one another.
pub(super) fn rows_summed(of: &Pairs<'_>, law: &Law, trace: &Trace) -> Vec<Lint> {
    let Some(b) = of.symbol("batch").filter(|_| of.subject.has_independent_rows()) else {
        return Vec::new();
    };
    let in_rows = rows(trace, |name| axes_of(&law.forward, name, &b));
    let has_rows = |i: usize, from_end: usize| {
        let axes = in_rows.get(i)?;
        axes.get(axes.len().checked_sub(from_end)?).copied()
    };
    let summed = |op: &RawOp| {
        let (left, right) = sides(trace, op)?;
        let &[i, j] = op.operands.as_slice() else { return None };
        let (in_left, in_right) = (has_rows(i, 1)?, has_rows(j, 2)?);
        let (left, right) = (left.shape.clone(), right.shape.clone());
        let odd = Odd::RowsSummed { left, right, in_right };
        (in_left || in_right).then(|| lint(trace, op, odd)).flatten()
    };
    trace.ops.iter().filter_map(summed).collect()
}

/// The axes of a named step that are the dim `b`, where the law knows the step.
fn axes_of(items: &[Item], name: &str, b: &str) -> Option<Vec<usize>> {
    items.iter().find_map(|item| match item {
        Item::Step(step) if step.named && (step.name == name || step.name == starred(name)) => {
            let axes = step.axes.0.iter().enumerate();
            Some(axes.filter(|(_, axis)| axis.as_dim() == Some(b)).map(|(i, _)| i).collect())
        }
        Item::Step(_) => None,
        Item::Loop(inner) => axes_of(&inner.body, name, b),
    })
}

/// Left and right of a product.
fn sides<'a>(trace: &'a Trace, op: &RawOp) -> Option<(&'a RawOp, &'a RawOp)> {
    let &[left, right] = op.operands.as_slice() else { return None };
    let is_product = op.kind == Kind::Matmul;
    is_product.then(|| Some((trace.ops.get(left)?, trace.ops.get(right)?))).flatten()
}
