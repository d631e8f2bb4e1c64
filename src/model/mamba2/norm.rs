//! Root mean square norms, made of differentiable ops: candle-nn's fused one cuts the gradient without an error.
use candle_core::{D, DType, Result, Tensor};
use candle_nn::{Init, VarBuilder};

use crate::model::silu;

/// x / √(mean(x²) + eps) · weight over the last axis, computed in at least f32.
#[derive(Clone, Debug)]
pub struct RmsNorm {
    weight: Tensor,
    eps: f64,
}

impl RmsNorm {
    /// Takes `weight` (size) from `vb`, new ones being 1.
    ///
    /// # Errors
    /// Where the builder has no such parameter or it has another shape.
    pub fn new(size: usize, eps: f64, vb: &VarBuilder) -> Result<Self> {
        Ok(Self { weight: vb.get_with_hints(size, "weight", Init::Const(1.))?, eps })
    }

    /// Applies the norm: (.., size) → (.., size), in the weight's dtype.
    ///
    /// # Errors
    /// Where the last axis of `x` is not the norm's size.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let weight = self.weight.to_dtype(at_least_f32(self.weight.dtype()))?;
        let x = x.to_dtype(weight.dtype())?;
        normalised(&x, self.eps)?.broadcast_mul(&weight)?.to_dtype(self.weight.dtype())
    }
}

/// RMSNorm(y·SiLU(z)) in `groups` groups of features: the gate first, then the norm over each group's i/g features.
pub(super) fn gated_norm(
    y: &Tensor,
    z: &Tensor,
    weight: &Tensor,
    groups: usize,
    eps: f64,
) -> Result<Tensor> {
    let (b, l, i) = y.dims3()?;
    let gated = (y * silu(z)?)?.reshape((b, l, groups, i / groups))?; // (b, l, g, i/g)
    normalised(&gated, eps)?.reshape((b, l, i))?.broadcast_mul(weight) // (b, l, i)
}

/// f64 for f64, f32 for all others: the coarsest dtype for sums and recurrences.
pub(super) const fn at_least_f32(dtype: DType) -> DType {
    match dtype {
        DType::F64 => DType::F64,
        _ => DType::F32,
    }
}

fn normalised(x: &Tensor, eps: f64) -> Result<Tensor> {
    let mean_square = x.sqr()?.mean_keepdim(D::Minus1)?; // (.., 1)
    x.broadcast_mul(&(mean_square + eps)?.powf(-0.5)?)
}
