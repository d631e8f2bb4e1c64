//! Constants in another number format than the pass.

use super::{Lint, Odd, lint};
use crate::harness::case::DType;
use crate::harness::check::pairs::Pairs;
use crate::trace::op::{Kind, RawOp};
use crate::trace::{Role, Trace};

/// Float constants that are in another format than the pass, where the case does not say that the step keeps it.
///
/// Candle records no cast of a constant, so one that is cast where it is made does not show; it is the format of the pass
/// that it then has. What shows is one that the pass is cast for.
pub(super) fn other_formats(of: &Pairs<'_>, trace: &Trace, dtype: DType) -> Vec<Lint> {
    let is_input = |i: usize| trace.names.iter().any(|n| n.op == i && n.role == Role::Input);
    let is_float = |op: &RawOp| matches!(op.dtype, "f16" | "bf16" | "f32" | "f64");
    let constants = trace.ops.iter().enumerate().filter(|(i, op)| {
        op.kind == Kind::Leaf && op.param.is_none() && is_float(op) && !is_input(*i)
    });
    let others = constants.filter(|(_, op)| op.dtype != dtype.name());
    let odd = others.filter_map(|(i, op)| {
        let reader = trace.ops.iter().find(|reader| reader.operands.contains(&i)).unwrap_or(op);
        let (shape, actual) = (op.shape.clone(), op.dtype);
        lint(trace, reader, Odd::OtherFormat { shape, actual, expected: dtype })
    });
    odd.filter(|lint| !of.case.keeps_f32(&lint.step, dtype)).collect()
}
