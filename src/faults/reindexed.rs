//! An op that makes a tensor of another's elements, and shows no more of it in the graph than that it was there.

use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor, WithDType, bail};

use crate::trace::op::FAULT;

/// Each element of the result is `weight` times the sum of those elements of the operand that the maps name for it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reindexed {
    /// Extents of the result.
    pub shape: Vec<usize>,
    /// For each element of the result, the position of one of the operand's; a map for each term of the sum.
    pub maps: Vec<Vec<u32>>,
    /// What the sum is multiplied with.
    pub weight: f64,
}

impl Reindexed {
    /// Whether it leaves a tensor of that shape as it is.
    pub fn is_identity(&self, shape: &[usize]) -> bool {
        let in_order = |map: &Vec<u32>| map.iter().enumerate().all(|(i, &from)| i == from as usize);
        self.shape == shape
            && self.weight == 1.
            && self.maps.len() == 1
            && self.maps.iter().all(in_order)
    }

    /// The changed tensor.
    ///
    /// # Errors
    /// Candle's own; a tensor that is not on the CPU.
    pub fn of(self, t: &Tensor) -> Result<Tensor> {
        t.contiguous()?.apply_op1(self)
    }

    fn gather<T: WithDType>(&self, data: &[T], layout: &Layout) -> Result<Vec<T>> {
        let Some((start, end)) = layout.contiguous_offsets() else {
            bail!("a strided operand is made contiguous first")
        };
        let data = &data[start..end];
        // Elements that are only moved keep every bit.
        if let ([map], 1.) = (self.maps.as_slice(), self.weight) {
            return Ok(map.iter().map(|&from| data[from as usize]).collect());
        }
        let count = self.shape.iter().product();
        let sum =
            |i: usize| self.maps.iter().map(|map| data[map[i] as usize].to_f64()).sum::<f64>();
        Ok((0..count).map(|i| T::from_f64(sum(i) * self.weight)).collect())
    }
}

impl CustomOp1 for Reindexed {
    fn name(&self) -> &'static str {
        FAULT
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        macro_rules! gathered {
            ($($variant:ident),*) => {
                match storage {
                    $(CpuStorage::$variant(data) => CpuStorage::$variant(self.gather(data, layout)?),)*
                    _ => bail!("a tensor of this format is not changed"),
                }
            };
        }
        Ok((gathered!(U8, U32, I64, BF16, F16, F32, F64), Shape::from(self.shape.as_slice())))
    }

    fn bwd(&self, arg: &Tensor, _res: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let grad = (grad.flatten_all()? * self.weight)?;
        let mut sum = arg.zeros_like()?.flatten_all()?;
        for map in &self.maps {
            let from = Tensor::new(map.as_slice(), arg.device())?;
            sum = sum.index_add(&from, &grad, 0)?;
        }
        sum.reshape(arg.shape()).map(Some)
    }
}
