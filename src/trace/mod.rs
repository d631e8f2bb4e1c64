//! Seeing a forward pass: taps, candle's op graph, canonical steps.
//!
//! [`tap()`] names tensors in the model, [`tap::record`] keeps what a run tapped, [`Trace::read`] walks the op graph from
//! there, and [`steps::steps`] reduces the raw ops to the steps that are locked.

pub mod graph;
pub mod locate;
pub mod op;
pub mod order;
#[cfg(feature = "harness")]
pub mod params;
pub mod rows;
#[cfg(feature = "harness")]
pub mod spans;
pub mod steps;
pub mod tap;

use std::collections::HashMap;

use candle_core::Tensor;

use graph::{Graph, InternalsChanged, operands, time};
use locate::Place;
use op::{Kind, RawOp};
pub use tap::tap;
use tap::{Recorded, Tap};

/// One forward pass as data: every op, and the names on them.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    /// The ops, in the order in which they ran.
    pub ops: Vec<RawOp>,
    /// Inputs, taps and outputs, in the order in which they were named.
    pub names: Vec<Name>,
    /// How much of the run the graph shows.
    pub coverage: Coverage,
}

/// A name on an op.
#[derive(Debug, Clone)]
pub struct Name {
    /// The name, dotted.
    pub name: String,
    /// Who gave it.
    pub role: Role,
    /// Position of the op in [`Trace::ops`].
    pub op: usize,
    /// When it was given, on candle's counter.
    pub time: usize,
    /// Where in the source, for taps.
    pub place: Option<Place>,
}

/// Where a step's name comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// An input of the subject.
    Input,
    /// The use of a parameter, named by its path.
    Param,
    /// A tap.
    Tap,
    /// An output of the subject.
    Output,
    /// No name: the op's own.
    Op,
}

/// How much of a run the graph shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Tensors made during the run.
    pub made: usize,
    /// Of those, seen in the graph.
    pub seen: usize,
    /// Float tensors that the graph takes for constants although they were made during the run: zeros and masks, or the
    /// far side of a cut (an op without backward, `detach`).
    pub leaves: Vec<Leaf>,
    /// Parameters that no seen op reads.
    pub unused: Vec<String>,
}

/// A tensor without a visible origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    /// Its position in [`Trace::ops`].
    pub op: usize,
    /// A digest of its values: a constant has the same one whatever the inputs are.
    pub digest: u64,
    /// The innermost `tracing` span in which it was made, where that is known.
    pub span: Option<&'static str>,
}

/// What was run, for [`Trace::read`].
pub struct Ends<'a> {
    /// Named inputs.
    pub inputs: &'a [(String, Tensor)],
    /// Named parameters.
    pub params: &'a [(String, Tensor)],
    /// Named outputs; empty after an error.
    pub outputs: &'a [(String, Tensor)],
}

impl Trace {
    /// Reads the graph behind a recorded run.
    ///
    /// # Errors
    /// [`InternalsChanged`] if candle's graph cannot be read.
    pub fn read<R>(run: &Recorded<R>, ends: &Ends<'_>) -> Result<Self, InternalsChanged> {
        let graph = Graph::open()?;
        let named = ends.inputs.iter().chain(ends.outputs).map(|(_, t)| t);
        let roots: Vec<&Tensor> = named.chain(run.taps.iter().map(|tap| &tap.tensor)).collect();
        let nodes = graph.reachable(roots);
        // In the order in which they were made.
        let times: Vec<usize> = nodes.iter().map(|t| time(t)).collect();
        let at = |t: &Tensor| times.binary_search(&time(t)).ok();
        let params: HashMap<_, _> = ends.params.iter().map(|(name, t)| (t.id(), name)).collect();
        let mut ops: Vec<RawOp> = nodes
            .iter()
            .map(|t| {
                let op = graph.op(t);
                let reads = op.map(operands).unwrap_or_default();
                RawOp {
                    kind: Kind::of(op, t.rank()),
                    operands: reads.into_iter().filter_map(at).collect(),
                    shape: t.dims().to_vec(),
                    strides: t.stride().to_vec(),
                    dtype: t.dtype().as_str(),
                    time: time(t),
                    param: params.get(&t.id()).map(|name| (*name).clone()),
                }
            })
            .collect();
        op::as_written(&mut ops);
        let place = |t: &Tensor| at(t).unwrap_or(0);
        let names = names(ends, &run.taps, place);
        let coverage = coverage(&ops, &nodes, &names, ends, run.span);
        Ok(Self { ops, names, coverage })
    }

    /// The tap or output that is named first after an op: what flows from the op flows into it or past it.
    pub fn next_name(&self, op: &RawOp) -> Option<&Name> {
        let named = |name: &&Name| matches!(name.role, Role::Tap | Role::Output);
        let after = self.names.iter().filter(named).filter(|name| name.time >= op.time);
        after.min_by_key(|name| name.time)
    }
}

fn names(ends: &Ends<'_>, taps: &[Tap], at: impl Fn(&Tensor) -> usize) -> Vec<Name> {
    let end = |role: Role, (name, t): &(String, Tensor), time: usize| Name {
        name: name.clone(),
        role,
        op: at(t),
        time,
        place: None,
    };
    let inputs = ends.inputs.iter().map(|i| end(Role::Input, i, 0));
    let taps = taps.iter().map(|tap| Name {
        name: tap.name.clone(),
        role: Role::Tap,
        op: at(&tap.tensor),
        time: tap.time,
        place: Some(Place::from(tap.place)),
    });
    let outputs = ends.outputs.iter().map(|o| end(Role::Output, o, usize::MAX));
    inputs.chain(taps).chain(outputs).collect()
}

fn coverage(
    ops: &[RawOp],
    nodes: &[&Tensor],
    names: &[Name],
    ends: &Ends<'_>,
    span: (usize, usize),
) -> Coverage {
    let inside = |op: &RawOp| span.0 < op.time && op.time < span.1;
    let taps = names.iter().filter(|n| n.role == Role::Tap).count();
    let is_end = |i: usize| names.iter().any(|n| n.op == i && n.role == Role::Input);
    let leaves = ops
        .iter()
        .enumerate()
        .filter(|(i, op)| {
            op.kind == Kind::Leaf
                && inside(op)
                && op.param.is_none()
                && matches!(op.dtype, "f16" | "bf16" | "f32" | "f64")
                && op.shape.iter().product::<usize>() > 1
                && !is_end(*i)
        })
        .map(|(i, _)| Leaf { op: i, digest: digest(nodes[i]), span: None })
        .collect();
    let used: std::collections::HashSet<_> =
        ops.iter().filter_map(|op| op.param.as_ref()).collect();
    let unused = ends.params.iter().map(|(name, _)| name).filter(|name| !used.contains(name));
    Coverage {
        // The marker of the span's end and one a tap are the recorder's own.
        made: span.1.saturating_sub(span.0 + 1 + taps),
        seen: ops.iter().filter(|op| inside(op)).count(),
        leaves,
        unused: unused.cloned().collect(),
    }
}

/// FNV-1a over the values; 0 where they cannot be read.
fn digest(t: &Tensor) -> u64 {
    let values =
        t.to_dtype(candle_core::DType::F64).and_then(|t| t.flatten_all()?.to_vec1::<f64>());
    let mix = |hash: u64, v: f64| (hash ^ v.to_bits()).wrapping_mul(0x0100_0000_01b3);
    values.map_or(0, |values| values.into_iter().fold(0xcbf2_9ce4_8422_2325, mix))
}
