//! Toys whose values depend on how tensors lie in memory, and one without a derivative.

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor, bail};
use shapelock::tap;

use super::right;

/// The place of the largest feature, which has no derivative.
pub fn counting(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    right(x, w)?.argmax(2) // (b, l)
}

/// Takes no tensor but one that lies in order from the start.
pub fn in_order(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let x = tap("positive", ordered(x)?.relu()?)?; // (b, l, d)
    ordered(&x)?.broadcast_matmul(w) // (b, l, n)
}

fn ordered(x: &Tensor) -> Result<&Tensor> {
    match x.layout().contiguous_offsets() {
        Some((0, _)) => Ok(x),
        _ => bail!("this op takes no strided tensor"),
    }
}

/// An op that asks for contiguous tensors, and takes each to be the first in its storage.
pub fn from_the_start(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let x = tap("read", x.relu()?)?; // (b, l, d)
    right(&x.apply_op1_no_bwd(&FromTheStart)?, w)
}

struct FromTheStart;

impl CustomOp1 for FromTheStart {
    fn name(&self) -> &'static str {
        "from_the_start"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        if !layout.is_contiguous() {
            bail!("this op takes no strided tensor");
        }
        let first = Layout::contiguous(layout.shape());
        let mut read = storage.try_clone(&first)?;
        if let (CpuStorage::F32(all), CpuStorage::F32(values)) = (storage, &mut read) {
            *values = all[..layout.shape().elem_count()].to_vec();
        }
        Ok((read, layout.shape().clone()))
    }
}
