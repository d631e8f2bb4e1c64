//! Candle's op graph, read from outside.
//!
//! A candle tensor remembers the op that made it, in a private field. The offset of that field is *measured*, in safe
//! code, on ops that are known (`measure`); only where several kinds of op agree, and what is read decodes back to
//! what was built, is the field read. The one `unsafe` block of the trace is in [`Graph::op`].
//!
//! Limits: an op without backward (`apply_op1_no_bwd`, `detach`) leaves a leaf, in-place ops leave nothing, `argmax` is
//! not recorded and a comparison keeps its left operand only.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::mem::{align_of, size_of};
use std::ops::Deref;
use std::sync::OnceLock;

use candle_core::op::{BinaryOp, Op, UnaryOp};
use candle_core::{Device, Result, Tensor, Var};

/// What a [`Tensor`] points to; candle names the type only through `Deref`.
type Inner = <Tensor as Deref>::Target;

/// Candle's internals are not what this version of the trace knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("candle's internals changed: {0}; shapes cannot be traced, see docs/upgrading-candle.md")]
pub struct InternalsChanged(String);

/// The right to read op graphs: exists only where the self-check passed.
#[derive(Debug, Clone, Copy)]
pub struct Graph {
    /// Bytes from the start of a tensor's inner struct to its op.
    offset: usize,
}

impl Graph {
    /// Measures candle's layout once a process and opens its graphs.
    ///
    /// # Errors
    /// [`InternalsChanged`] when the known ops do not agree or do not decode.
    pub fn open() -> std::result::Result<Self, InternalsChanged> {
        static CHECKED: OnceLock<std::result::Result<Graph, InternalsChanged>> = OnceLock::new();
        CHECKED.get_or_init(measure).clone()
    }

    /// The op that made `tensor`, or `None` for a leaf.
    pub fn op<'a>(&self, tensor: &'a Tensor) -> Option<&'a Op> {
        let inner: &'a Inner = tensor;
        // SAFETY: `measure` found `offset` on live tensors of this very type: it is aligned for `Option<Op>`, lies with
        // its whole extent inside `Inner`, was the same for six variants of `Op`, and the values read there decoded to
        // the ops that had been built. The reference borrows from `tensor`, whose op never changes after construction.
        unsafe {
            let field = std::ptr::from_ref(inner).cast::<u8>().add(self.offset);
            (*field.cast::<Option<Op>>()).as_ref()
        }
    }

    /// Every tensor that `roots` were made from, in the order in which they were made.
    pub fn reachable<'a>(&self, roots: impl IntoIterator<Item = &'a Tensor>) -> Vec<&'a Tensor> {
        let mut seen: HashSet<_, BuildHasherDefault<Number>> = HashSet::default();
        let mut found = Vec::new();
        let mut open: Vec<&'a Tensor> = roots.into_iter().collect();
        while let Some(tensor) = open.pop() {
            if seen.insert(tensor.id()) {
                found.push((time(tensor), tensor));
                open.extend(self.op(tensor).map(operands).unwrap_or_default());
            }
        }
        found.sort_unstable_by_key(|(time, _)| *time);
        found.into_iter().map(|(_, tensor)| tensor).collect()
    }
}

/// When a tensor was made: ids come from one counter, and hashing one shows the number.
pub fn time(tensor: &Tensor) -> usize {
    let mut number = Number::default();
    tensor.id().hash(&mut number);
    number.0
}

/// Takes the number out of an id, and spreads it over the bits of a hash.
#[derive(Default)]
struct Number(usize);

impl Hasher for Number {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |n, byte| n.wrapping_mul(257) ^ usize::from(*byte));
    }

    fn write_usize(&mut self, n: usize) {
        self.0 = n;
    }

    fn finish(&self) -> u64 {
        // Fibonacci hashing: 2⁶⁴ over the golden ratio.
        (self.0 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// The tensors that an op reads, in the order of its arguments.
pub fn operands(op: &Op) -> Vec<&Tensor> {
    match op {
        Op::Binary(a, b, _)
        | Op::Matmul(a, b)
        | Op::Gather(a, b, _)
        | Op::IndexSelect(a, b, _)
        | Op::SliceScatter0(a, b, _)
        | Op::CustomOp2(a, b, _) => vec![a, b],
        Op::Conv1D { arg, kernel, .. }
        | Op::ConvTranspose1D { arg, kernel, .. }
        | Op::Conv2D { arg, kernel, .. }
        | Op::ConvTranspose2D { arg, kernel, .. } => vec![arg, kernel],
        Op::Scatter(a, b, c, _)
        | Op::ScatterAdd(a, b, c, _)
        | Op::IndexAdd(a, b, c, _)
        | Op::WhereCond(a, b, c)
        | Op::CustomOp3(a, b, c, _) => vec![a, b, c],
        Op::Cat(all, _) => all.iter().collect(),
        Op::Unary(a, _)
        | Op::Cmp(a, _)
        | Op::Reduce(a, _, _)
        | Op::ToDType(a)
        | Op::Copy(a)
        | Op::Broadcast(a)
        | Op::Narrow(a, _, _, _)
        | Op::Reshape(a)
        | Op::ToDevice(a)
        | Op::Transpose(a, _, _)
        | Op::Permute(a, _)
        | Op::Elu(a, _)
        | Op::Powf(a, _)
        | Op::CustomOp1(a, _)
        | Op::AvgPool2D { arg: a, .. }
        | Op::MaxPool2D { arg: a, .. }
        | Op::UpsampleNearest1D { arg: a, .. }
        | Op::UpsampleNearest2D { arg: a, .. }
        | Op::UpsampleBilinear2D { arg: a, .. }
        | Op::Affine { arg: a, .. } => vec![a],
    }
}

/// Measures the offset of the op on six kinds of op, and reads each back.
fn measure() -> std::result::Result<Graph, InternalsChanged> {
    let changed = |why: String| InternalsChanged(why);
    let probes = probes().map_err(|e| changed(format!("a known op failed: {e}")))?;
    let mut offset = None;
    for probe in &probes {
        let found =
            probe.offset().ok_or_else(|| changed(format!("{} is not where it was", probe.name)))?;
        if *offset.get_or_insert(found) != found {
            return Err(changed(format!("{} lies at another offset", probe.name)));
        }
    }
    let offset = offset.unwrap_or(usize::MAX);
    let end = offset.saturating_add(size_of::<Option<Op>>());
    if end > size_of::<Inner>() || offset % align_of::<Option<Op>>() != 0 {
        return Err(changed(format!("offset {offset} is out of bounds or not aligned")));
    }
    let graph = Graph { offset };
    for probe in &probes {
        if !graph.op(&probe.made).is_some_and(probe.decodes) {
            return Err(changed(format!("{} does not decode", probe.name)));
        }
    }
    if !probes.is_sorted_by(|a, b| time(&a.made) < time(&b.made)) {
        return Err(changed("the ids of tensors do not count up".into()));
    }
    Ok(graph)
}

/// A tensor made by a known op, and the same op built locally.
struct Probe {
    name: &'static str,
    made: Tensor,
    local: Option<Op>,
    decodes: fn(&Op) -> bool,
}

impl Probe {
    /// Where the op lies in `made`: its first operand has one address inside `made` and one inside `local`, and the
    /// two differ by just the offset of the field.
    fn offset(&self) -> Option<usize> {
        let reachable = self.made.sorted_nodes();
        let local = operands(self.local.as_ref()?).into_iter().next()?;
        let inside = reachable.iter().find(|t| t.id() == local.id())?;
        let payload = address(local).checked_sub(address(&self.local))?;
        let base = address::<Inner>(&self.made);
        address(*inside).checked_sub(base)?.checked_sub(payload)
    }
}

fn address<T>(of: &T) -> usize {
    std::ptr::from_ref(of).addr()
}

fn probes() -> Result<Vec<Probe>> {
    let var = Var::from_slice(&[1f32, 2., 3., 4., 5., 6.], (2, 3), &Device::Cpu)?;
    let x = || var.as_tensor().clone();
    let y = Var::from_slice(&[1f32, 2., 3., 4., 5., 6.], (3, 2), &Device::Cpu)?;
    let probe = |name, made, local, decodes| Probe { name, made, local: Some(local), decodes };
    Ok(vec![
        probe("exp", x().exp()?, Op::Unary(x(), UnaryOp::Exp), |op| {
            matches!(op, Op::Unary(_, UnaryOp::Exp))
        }),
        probe("add", x().add(&x())?, Op::Binary(x(), x(), BinaryOp::Add), |op| {
            matches!(op, Op::Binary(_, _, BinaryOp::Add))
        }),
        probe(
            "matmul",
            x().matmul(&y)?,
            Op::Matmul(x(), y.as_tensor().clone()),
            |op| matches!(op, Op::Matmul(a, b) if a.dims() == [2, 3] && b.dims() == [3, 2]),
        ),
        probe("reshape", x().reshape(6)?, Op::Reshape(x()), |op| matches!(op, Op::Reshape(_))),
        probe("narrow", x().narrow(1, 1, 2)?, Op::Narrow(x(), 1, 1, 2), |op| {
            matches!(op, Op::Narrow(_, 1, 1, 2))
        }),
        probe(
            "permute",
            x().permute((1, 0))?,
            Op::Permute(x(), vec![1, 0]),
            |op| matches!(op, Op::Permute(_, dims) if dims == &[1, 0]),
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_self_check_passes_and_reads_arguments() -> Result<()> {
        let graph = Graph::open().map_err(candle_core::Error::wrap)?;
        let x = Var::zeros((4, 6), candle_core::DType::F64, &Device::Cpu)?;
        let y = x.narrow(1, 2, 3)?.transpose(0, 1)?;
        let nodes = graph.reachable([&y]);
        let ops: Vec<_> = nodes.iter().map(|t| graph.op(t)).collect();
        assert!(matches!(
            ops[..],
            [None, Some(Op::Narrow(_, 1, 2, 3)), Some(Op::Transpose(_, 0, 1))]
        ));
        Ok(())
    }

    #[test]
    fn a_probe_that_is_not_what_it_claims_is_refused() -> Result<()> {
        let x = Var::zeros(3, candle_core::DType::F32, &Device::Cpu)?;
        let other = Var::zeros(3, candle_core::DType::F32, &Device::Cpu)?;
        let probe = Probe {
            name: "exp",
            made: x.exp()?,
            local: Some(Op::Unary(other.as_tensor().clone(), UnaryOp::Exp)),
            decodes: |_| true,
        };
        assert_eq!(probe.offset(), None);
        Ok(())
    }
}
