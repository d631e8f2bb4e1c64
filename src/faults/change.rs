//! What a fault does to a tensor: the mistakes that are made with axes, rows, time and formats.

use std::fmt;

use candle_core::{DType, Device, Result, Tensor};

use super::reindexed::Reindexed;

/// One change, with the axes it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Change {
    /// Two axes exchanged.
    Swapped(usize, usize),
    /// An axis and the next made one.
    Merged(usize),
    /// An axis left out, of which the first slice stays.
    Dropped(usize),
    /// An axis of 1 more, before that one.
    Extra(usize),
    /// An axis twice as long, its slices repeated.
    Repeated(usize),
    /// The slices along one axis concatenated along another, which is the bug report's fault.
    Joined(usize, usize),
    /// An axis without its first slice.
    WithoutFirst(usize),
    /// An axis without its last slice.
    WithoutLast(usize),
    /// An axis more, of the extent of that one, all of whose slices are the tensor: what a wrong broadcast makes.
    Spread(usize),
    /// Two axes exchanged, and the elements in their new order given the old shape.
    Regrouped(usize, usize),
    /// The slices along an axis in reverse order.
    Reversed(usize),
    /// The slices along an axis moved on by one, the last to the front.
    Rolled(usize),
    /// Each slice along an axis the mean of all.
    Averaged(usize),
    /// Each slice along an axis the first.
    Copied(usize),
    /// Each slice along an axis the next: along time, the future leaks.
    Ahead(usize),
    /// Each slice along an axis the one before.
    Behind(usize),
    /// All zero, as a state that is reset.
    Reset,
    /// The graph cut.
    Detached,
    /// All NaN.
    NotANumber,
    /// f64 where it was f32, f32 where it was anything else.
    Format,
    /// The same values, transposed in memory.
    Strided,
}

use Change::{
    Ahead, Averaged, Behind, Copied, Detached, Dropped, Extra, Format, Joined, Merged, NotANumber,
    Regrouped, Repeated, Reset, Reversed, Rolled, Spread, Strided, Swapped, WithoutFirst,
    WithoutLast,
};

impl Change {
    /// Every change of a tensor of that rank.
    pub fn all(rank: usize) -> Vec<Self> {
        let axes = || 0..rank;
        let pairs = || axes().flat_map(move |a| (a + 1..rank).map(move |b| (a, b)));
        let ordered = axes().flat_map(|a| axes().filter(move |b| a != *b).map(move |b| (a, b)));
        let mut all: Vec<Self> = pairs().map(|(a, b)| Swapped(a, b)).collect();
        all.extend((1..rank).map(|a| Merged(a - 1)));
        all.extend((0..=rank).map(Extra));
        all.extend(ordered.map(|(a, b)| Joined(a, b)));
        all.extend(pairs().map(|(a, b)| Regrouped(a, b)));
        for of in [
            Dropped,
            Repeated,
            WithoutFirst,
            WithoutLast,
            Spread,
            Reversed,
            Rolled,
            Averaged,
            Copied,
            Ahead,
            Behind,
        ] {
            all.extend(axes().map(of));
        }
        all.extend([Reset, Detached, NotANumber, Format, Strided]);
        all
    }

    /// The changed tensor; nothing where the change leaves it as it is.
    ///
    /// # Errors
    /// Candle's own.
    pub fn of(self, t: &Tensor) -> Result<Option<Tensor>> {
        match self {
            Reset | NotANumber | Detached | Strided if !t.dtype().is_float() => Ok(None),
            Detached => Ok(t.track_op().then(|| t.detach())),
            Format if t.dtype() == DType::F32 => t.to_dtype(DType::F64).map(Some),
            Format => t.to_dtype(DType::F32).map(Some),
            Strided if t.rank() < 2 => Ok(None),
            Strided => {
                let (a, b) = (t.rank() - 2, t.rank() - 1);
                t.transpose(a, b)?.contiguous()?.transpose(a, b).map(Some)
            }
            _ => self.reindexed(t.dims())?.map(|op| op.of(t)).transpose(),
        }
    }

    /// What it does to the positions of a tensor's elements; nothing where that is nothing.
    ///
    /// # Errors
    /// Candle's own.
    pub(super) fn reindexed(self, shape: &[usize]) -> Result<Option<Reindexed>> {
        let count: usize = shape.iter().product();
        if count == 0 {
            return Ok(None);
        }
        let places = Tensor::arange(0, count as u32, &Device::Cpu)?.reshape(shape)?;
        let moved = match self {
            Averaged(a) => {
                (0..shape[a]).map(|by| rolled(&places, a, by)).collect::<Result<Vec<_>>>()?
            }
            _ => vec![self.moved(&places)?],
        };
        let weight = match self {
            Averaged(a) => 1. / shape[a] as f64,
            Reset => 0.,
            NotANumber => f64::NAN,
            _ => 1.,
        };
        let shape_of_moved = moved.first().map(|t| t.dims().to_vec()).unwrap_or_default();
        let maps = moved.iter().map(|t| t.flatten_all()?.to_vec1()).collect::<Result<Vec<_>>>()?;
        let op = Reindexed { shape: shape_of_moved, maps, weight };
        Ok((!op.is_identity(shape)).then_some(op))
    }

    /// The change as ops, of a tensor in which each element is its own position.
    fn moved(self, t: &Tensor) -> Result<Tensor> {
        let n = |axis: usize| t.dims()[axis];
        match self {
            Swapped(a, b) => t.transpose(a, b),
            Merged(a) => t.flatten(a, a + 1),
            Dropped(a) => t.narrow(a, 0, 1)?.squeeze(a),
            Extra(a) => t.unsqueeze(a),
            Repeated(a) => Tensor::cat(&[t, t], a),
            Joined(a, b) => {
                let slices = (0..n(a)).map(|i| t.narrow(a, i, 1)).collect::<Result<Vec<_>>>()?;
                Tensor::cat(&slices, b)
            }
            WithoutFirst(a) if n(a) > 1 => t.narrow(a, 1, n(a) - 1),
            WithoutLast(a) if n(a) > 1 => t.narrow(a, 0, n(a) - 1),
            Spread(a) => {
                let mut wider = t.dims().to_vec();
                wider.insert(a, n(a));
                t.unsqueeze(a)?.broadcast_as(wider)
            }
            Regrouped(a, b) => t.transpose(a, b)?.contiguous()?.reshape(t.shape()),
            Reversed(a) => picked(t, a, |i| n(a) - 1 - i),
            Rolled(a) => rolled(t, a, 1),
            Copied(a) => picked(t, a, |_| 0),
            Ahead(a) => picked(t, a, |i| (i + 1).min(n(a) - 1)),
            Behind(a) => picked(t, a, |i| i.saturating_sub(1)),
            _ => Ok(t.clone()),
        }
    }
}

/// The slices along an axis moved on by `by`.
fn rolled(t: &Tensor, axis: usize, by: usize) -> Result<Tensor> {
    let n = t.dim(axis)?;
    picked(t, axis, |i| (i + n - by % n) % n)
}

/// For each slice of the result, the slice that `from` names.
fn picked(t: &Tensor, axis: usize, from: impl Fn(usize) -> usize) -> Result<Tensor> {
    let from: Vec<u32> = (0..t.dim(axis)?).map(|i| from(i) as u32).collect();
    t.contiguous()?.index_select(&Tensor::new(from, t.device())?, axis)
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        match *self {
            Swapped(a, b) | Regrouped(a, b) | Joined(a, b) => write!(f, "{name} {a} {b}"),
            Merged(a) | Dropped(a) | Extra(a) | Repeated(a) | WithoutFirst(a) | WithoutLast(a)
            | Spread(a) | Reversed(a) | Rolled(a) | Averaged(a) | Copied(a) | Ahead(a)
            | Behind(a) => write!(f, "{name} {a}"),
            Reset | Detached | NotANumber | Format | Strided => f.write_str(name),
        }
    }
}

impl Change {
    /// The operator's name, without its argument.
    pub fn name(self) -> &'static str {
        match self {
            Swapped(..) => "swapped",
            Merged(_) => "merged",
            Dropped(_) => "dropped",
            Extra(_) => "extra",
            Repeated(_) => "repeated",
            Joined(..) => "joined",
            WithoutFirst(_) => "without_first",
            WithoutLast(_) => "without_last",
            Spread(_) => "spread",
            Regrouped(..) => "regrouped",
            Reversed(_) => "reversed",
            Rolled(_) => "rolled",
            Averaged(_) => "averaged",
            Copied(_) => "copied",
            Ahead(_) => "ahead",
            Behind(_) => "behind",
            Reset => "reset",
            Detached => "detached",
            NotANumber => "nan",
            Format => "format",
            Strided => "strided",
        }
    }
}
