//! Raw ops: what each node of the graph did, as data.

use candle_core::op::{BinaryOp, Op, ReduceOp, UnaryOp};

/// The name of an op that stands for a mistake in the model's own code, and is not seen as an op: what `faults` plants.
pub const FAULT: &str = "fault";

/// One node of the op graph.
#[derive(Debug, Clone, PartialEq)]
pub struct RawOp {
    /// What made it.
    pub kind: Kind,
    /// Positions of its operands in the trace's list of ops.
    pub operands: Vec<usize>,
    /// Extents of the result.
    pub shape: Vec<usize>,
    /// Elements in memory from one index of each axis to the next; 0 where one is repeated.
    pub strides: Vec<usize>,
    /// Element type of the result, as candle spells it.
    pub dtype: &'static str,
    /// When it was made, on candle's own counter.
    pub time: usize,
    /// The parameter it is, for a leaf that is one.
    pub param: Option<String>,
}

/// What an op does to shapes.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A constant, an input, or the end of what can be seen.
    Leaf,
    /// The same elements in the same order, other extents.
    Reshape,
    /// Axes exchanged: position `i` of the result is axis `order[i]` of the operand.
    Permute(Vec<usize>),
    /// A window of one axis.
    Narrow {
        /// The axis.
        dim: usize,
        /// First index.
        start: usize,
        /// Extent.
        len: usize,
    },
    /// Operands joined on an axis.
    Cat(usize),
    /// Extents of one repeated.
    Broadcast,
    /// Batched matrix product.
    Matmul,
    /// Two operands, element by element.
    Binary(&'static str),
    /// One operand, element by element; casts and copies too.
    Unary(&'static str),
    /// An axis reduced, its extent kept as one.
    Reduce(&'static str),
    /// Anything else, by name.
    Other(&'static str),
}

impl Kind {
    /// Moves or regroups elements and computes nothing.
    pub fn is_layout(&self) -> bool {
        matches!(
            self,
            Self::Reshape | Self::Permute(_) | Self::Narrow { .. } | Self::Cat(_) | Self::Broadcast
        )
    }

    /// Makes values that no other op makes in passing: a product, a convolution, a gather. Such an op is there at
    /// every size, while what works element by element, moves or reduces may be left out where it changes nothing.
    pub fn computes(&self) -> bool {
        matches!(self, Self::Matmul | Self::Other(_))
    }

    /// The op's name, as candle's users know it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Leaf => "leaf",
            Self::Reshape => "reshape",
            Self::Permute(_) => "permute",
            Self::Narrow { .. } => "narrow",
            Self::Cat(_) => "cat",
            Self::Broadcast => "broadcast",
            Self::Matmul => "matmul",
            Self::Binary(name) | Self::Unary(name) | Self::Reduce(name) | Self::Other(name) => name,
        }
    }

    /// The op's arguments, for the table of raw ops.
    pub fn arguments(&self) -> String {
        match self {
            Self::Permute(order) => format!("{order:?}"),
            Self::Narrow { dim, start, len } => format!("dim {dim}, {start}..{}", start + len),
            Self::Cat(dim) => format!("dim {dim}"),
            _ => String::new(),
        }
    }

    pub(super) fn of(op: Option<&Op>, rank: usize) -> Self {
        let Some(op) = op else { return Self::Leaf };
        match op {
            Op::Reshape(_) => Self::Reshape,
            Op::Transpose(_, a, b) => {
                let mut order: Vec<usize> = (0..rank).collect();
                order.swap(*a, *b);
                Self::Permute(order)
            }
            Op::Permute(_, order) => Self::Permute(order.clone()),
            Op::Narrow(_, dim, start, len) => Self::Narrow { dim: *dim, start: *start, len: *len },
            Op::Cat(_, dim) => Self::Cat(*dim),
            Op::Broadcast(_) => Self::Broadcast,
            Op::Matmul(..) => Self::Matmul,
            Op::Binary(_, _, op) => Self::Binary(binary(*op)),
            Op::Reduce(_, op, _) => Self::Reduce(reduce(*op)),
            Op::Unary(_, op) => Self::Unary(unary(*op)),
            Op::Cmp(..) => Self::Unary("compare"),
            Op::Affine { .. } => Self::Unary("affine"),
            Op::ToDType(_) => Self::Unary("cast"),
            Op::Copy(_) => Self::Unary("copy"),
            Op::ToDevice(_) => Self::Unary("to_device"),
            Op::Elu(..) => Self::Unary("elu"),
            Op::Powf(..) => Self::Unary("powf"),
            Op::CustomOp1(_, op) if op.name() == FAULT => Self::Unary(FAULT),
            other => Self::Other(other_name(other)),
        }
    }
}

/// Undoes what candle makes of a `cat` of strided tensors: it exchanges the axis with the first, joins there and exchanges
/// back. The op that ends the detour becomes the `cat` that was written, of the tensors that were given to it.
pub(super) fn as_written(ops: &mut [RawOp]) {
    for i in 0..ops.len() {
        let Some((axis, pieces)) = detour(ops, i) else { continue };
        for &(piece, exchanged_unseen) in &pieces {
            if exchanged_unseen {
                ops[piece].shape.swap(0, axis);
                ops[piece].strides.swap(0, axis);
            }
        }
        ops[i].kind = Kind::Cat(axis);
        ops[i].operands = pieces.into_iter().map(|(piece, _)| piece).collect();
    }
}

/// The axis of a detoured `cat` that op `i` ends, and its pieces. A constant that was exchanged for the join shows no
/// op: it stands there itself, with the shape it has after the exchange.
fn detour(ops: &[RawOp], i: usize) -> Option<(usize, Vec<(usize, bool)>)> {
    let axis = exchanged(&ops[i].kind)?;
    let &[joined] = ops[i].operands.as_slice() else { return None };
    if ops[joined].kind != Kind::Cat(0) {
        return None;
    }
    let piece = |&j: &usize| match exchanged(&ops[j].kind) {
        _ if ops[j].kind == Kind::Leaf => Some((j, true)),
        Some(own) if own == axis => Some((*ops[j].operands.first()?, false)),
        _ => None,
    };
    let pieces = ops[joined].operands.iter().map(piece).collect::<Option<Vec<_>>>()?;
    Some((axis, pieces))
}

/// The axis that a permutation exchanges with the first, where it does nothing else.
fn exchanged(kind: &Kind) -> Option<usize> {
    let Kind::Permute(order) = kind else { return None };
    let axis = *order.first()?;
    let swapped = |(i, &from): (usize, &usize)| match i {
        0 => from == axis,
        i if i == axis => from == 0,
        i => from == i,
    };
    (axis != 0 && order.iter().enumerate().all(swapped)).then_some(axis)
}

fn other_name(op: &Op) -> &'static str {
    match op {
        Op::Gather(..) => "gather",
        Op::Scatter(..) => "scatter",
        Op::ScatterAdd(..) => "scatter_add",
        Op::IndexSelect(..) => "index_select",
        Op::IndexAdd(..) => "index_add",
        Op::WhereCond(..) => "where",
        Op::Conv1D { .. } => "conv1d",
        Op::ConvTranspose1D { .. } => "conv_transpose1d",
        Op::Conv2D { .. } => "conv2d",
        Op::ConvTranspose2D { .. } => "conv_transpose2d",
        Op::AvgPool2D { .. } => "avg_pool2d",
        Op::MaxPool2D { .. } => "max_pool2d",
        Op::UpsampleNearest1D { .. } => "upsample_nearest1d",
        Op::UpsampleNearest2D { .. } => "upsample_nearest2d",
        Op::UpsampleBilinear2D { .. } => "upsample_bilinear2d",
        Op::SliceScatter0(..) => "slice_scatter",
        Op::CustomOp1(_, op) => op.name(),
        Op::CustomOp2(_, _, op) => op.name(),
        Op::CustomOp3(_, _, _, op) => op.name(),
        _ => "op",
    }
}

fn binary(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "add",
        BinaryOp::Mul => "mul",
        BinaryOp::Sub => "sub",
        BinaryOp::Div => "div",
        BinaryOp::Maximum => "maximum",
        BinaryOp::Minimum => "minimum",
    }
}

fn reduce(op: ReduceOp) -> &'static str {
    match op {
        ReduceOp::Sum => "sum",
        ReduceOp::Min => "min",
        ReduceOp::Max => "max",
        ReduceOp::ArgMin => "argmin",
        ReduceOp::ArgMax => "argmax",
    }
}

fn unary(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Exp => "exp",
        UnaryOp::Log => "log",
        UnaryOp::Sin => "sin",
        UnaryOp::Cos => "cos",
        UnaryOp::Abs => "abs",
        UnaryOp::Neg => "neg",
        UnaryOp::Recip => "recip",
        UnaryOp::Sqr => "sqr",
        UnaryOp::Sqrt => "sqrt",
        UnaryOp::Gelu => "gelu",
        UnaryOp::GeluErf => "gelu_erf",
        UnaryOp::Erf => "erf",
        UnaryOp::Relu => "relu",
        UnaryOp::Silu => "silu",
        UnaryOp::Tanh => "tanh",
        UnaryOp::Floor => "floor",
        UnaryOp::Ceil => "ceil",
        UnaryOp::Round => "round",
        UnaryOp::Sign => "sign",
    }
}
