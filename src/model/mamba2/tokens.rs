//! Which tokens of a batch are real, and where a sequence starts anew.
use candle_core::{DType, Device, IndexOp, Result, Tensor};

use super::InputError;
use crate::scan::Bound;

/// How the rows of a batch are to be read; by default each row is one sequence and every token is real.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tokens<'a> {
    /// 1 where a packed sequence starts: nothing before it, the initial state included, is read after it (b, l).
    pub reset: Option<&'a Tensor>,
    /// 1 for tokens, 0 for padding, which may stand before or after a row's tokens (b, l).
    pub mask: Option<&'a Tensor>,
}

/// The tokens of a batch with all padding moved behind them.
#[derive(Clone, Debug)]
pub struct Layout {
    /// 1 where a sequence starts, 0 in padding (b, l).
    pub reset: Option<Tensor>,
    /// Tokens of each row, where any row has padding.
    pub lengths: Option<Vec<usize>>,
    /// Flat indices (b·l) that bring left-padded rows to the front, and those that bring them back.
    moved: Option<(Tensor, Tensor)>,
}

impl<'a> Tokens<'a> {
    /// Tokens whose sequences start where `reset` (b, l) is 1.
    pub const fn packed(reset: &'a Tensor) -> Self {
        Self { reset: Some(reset), mask: None }
    }

    /// Tokens that are real where `mask` (b, l) is 1.
    pub const fn padded(mask: &'a Tensor) -> Self {
        Self { reset: None, mask: Some(mask) }
    }

    pub(super) fn layout(&self, b: usize, l: usize) -> Result<Layout> {
        for (argument, tensor) in [("reset", self.reset), ("mask", self.mask)] {
            check(argument, tensor, b, l)?;
        }
        let reset = match self.reset {
            Some(reset) => Some(reset.ne(0u32)?),
            None => None,
        };
        let Some(mask) = self.mask else {
            return Ok(Layout { reset, lengths: None, moved: None });
        };
        let (starts, lengths) = runs(mask)?;
        let moved = moves(&starts, l, mask.device())?;
        let mut layout = Layout { reset: None, lengths: Some(lengths), moved };
        if let Some(reset) = reset {
            let real = layout.to_front(&mask.ne(0u32)?.unsqueeze(2)?)?;
            let reset = (layout.to_front(&reset.unsqueeze(2)?)? * real)?;
            layout.reset = Some(reset.squeeze(2)?);
        }
        Ok(layout)
    }
}

/// The marks of sequence starts for rows that each pack sequences of the given lengths: (b, l) of u8.
///
/// A row shorter than the longest is padding at its end; [`Tokens::mask`] says so.
///
/// # Errors
/// Those of candle's; none on the CPU.
///
/// ```
/// use candle_core::Device;
/// use shapelock::model::mamba2::sequence_starts;
/// # fn main() -> candle_core::Result<()> {
/// let reset = sequence_starts(&[vec![2, 3]], &Device::Cpu)?;
/// assert_eq!(reset.to_vec2::<u8>()?, [[1, 0, 1, 0, 0]]);
/// # Ok(())
/// # }
/// ```
pub fn sequence_starts(lengths: &[Vec<usize>], device: &Device) -> Result<Tensor> {
    let l = lengths.iter().map(|row| row.iter().sum()).max().unwrap_or(0);
    let mut marks = vec![0u8; lengths.len() * l];
    for (row, lengths) in lengths.iter().enumerate() {
        let mut start = 0;
        for length in lengths.iter().filter(|length| **length > 0) {
            if let Some(mark) = marks.get_mut(row * l + start) {
                *mark = 1;
            }
            start += length;
        }
    }
    Tensor::from_vec(marks, (lengths.len(), l), device)
}

impl Layout {
    /// Brings the padding of (b, l, ..) behind the tokens.
    pub(super) fn to_front(&self, sequence: &Tensor) -> Result<Tensor> {
        Self::permuted(sequence, self.moved.as_ref().map(|(forth, _)| forth))
    }

    /// Undoes [`Layout::to_front`].
    pub(super) fn to_place(&self, sequence: &Tensor) -> Result<Tensor> {
        Self::permuted(sequence, self.moved.as_ref().map(|(_, back)| back))
    }

    /// 1 for tokens and 0 for padding, where there is any (b, l, 1).
    pub(super) fn real(&self, l: usize, dtype: DType, device: &Device) -> Result<Option<Tensor>> {
        let Some(lengths) = &self.lengths else {
            return Ok(None);
        };
        let real = lengths.iter().flat_map(|length| (0..l).map(move |t| u8::from(t < *length)));
        let real = Tensor::from_vec(real.collect::<Vec<_>>(), (lengths.len(), l, 1), device)?;
        real.to_dtype(dtype).map(Some)
    }

    /// Numbers the sequences of each row, the window before the row being of the first: (b, w + l) of f32.
    pub(super) fn segments(&self, window: usize) -> Result<Option<Tensor>> {
        let Some(reset) = &self.reset else {
            return Ok(None);
        };
        let reset = reset.to_dtype(DType::F32)?.pad_with_zeros(1, window, 0)?;
        reset.cumsum(1).map(Some)
    }

    fn permuted(sequence: &Tensor, order: Option<&Tensor>) -> Result<Tensor> {
        let Some(order) = order else {
            return Ok(sequence.clone());
        };
        sequence.flatten(0, 1)?.index_select(order, 0)?.reshape(sequence.shape())
    }
}

fn check(
    argument: &'static str,
    tensor: Option<&Tensor>,
    b: usize,
    l: usize,
) -> std::result::Result<(), InputError> {
    match tensor {
        Some(tensor) if tensor.dims() != [b, l] => Err(InputError::Shape {
            argument,
            expected: "(b, l)",
            actual: tensor.dims().to_vec(),
            bound: Bound(vec![("b", b), ("l", l)]),
        }),
        _ => Ok(()),
    }
}

/// Where each row's tokens start, and how many they are.
fn runs(mask: &Tensor) -> Result<(Vec<usize>, Vec<usize>)> {
    let (mut starts, mut lengths) = (vec![], vec![]);
    for row in 0..mask.dim(0)? {
        let mask = mask.i(row)?.ne(0u32)?.to_vec1::<u8>()?;
        let start = mask.iter().position(|real| *real == 1).unwrap_or(0);
        let length = mask.iter().filter(|real| **real == 1).count();
        if mask.iter().skip(start).take(length).any(|real| *real == 0) {
            return Err(InputError::Hole { row }.into());
        }
        starts.push(start);
        lengths.push(length);
    }
    Ok((starts, lengths))
}

/// The rotations that bring each row's start to the front, and back; none where no row is padded on the left.
fn moves(starts: &[usize], l: usize, device: &Device) -> Result<Option<(Tensor, Tensor)>> {
    if starts.iter().all(|start| *start == 0) {
        return Ok(None);
    }
    let rotated = |by: &dyn Fn(usize) -> usize| {
        let rows = starts.iter().enumerate();
        let flat = rows.flat_map(|(row, start)| (0..l).map(move |t| (row, t, *start)));
        let flat: Vec<_> =
            flat.map(|(row, t, start)| (row * l + (t + by(start)) % l) as u32).collect();
        Tensor::from_vec(flat, starts.len() * l, device)
    };
    Ok(Some((rotated(&|start| start)?, rotated(&|start| l - start)?)))
}
