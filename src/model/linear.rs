//! A linear layer that does not depend on its input's layout.
use candle_core::{Result, Tensor};
use candle_nn::{Init, VarBuilder};

/// y = x·Wᵀ + bias over the last axis, with any axes before it.
///
/// candle-nn's layer folds a transposed input's batch without looking at its row stride and gives wrong numbers; this
/// one does not.
#[derive(Clone, Debug)]
pub struct Linear {
    weight: Tensor,       // (out, in)
    bias: Option<Tensor>, // (out)
}

impl Linear {
    /// Takes `weight` (out, in), and `bias` (out) where there is one, drawn from `init` if they are new.
    ///
    /// # Errors
    /// Where the builder has no such parameter or it has another shape.
    pub fn new(
        input: usize,
        output: usize,
        bias: bool,
        init: Init,
        vb: &VarBuilder,
    ) -> Result<Self> {
        let weight = vb.get_with_hints((output, input), "weight", init)?;
        let bias =
            if bias { Some(vb.get_with_hints(output, "bias", Init::Const(0.))?) } else { None };
        Ok(Self { weight, bias })
    }

    /// A layer of a weight that another one owns: a tied head.
    pub const fn of_weight(weight: Tensor) -> Self {
        Self { weight, bias: None }
    }

    /// Applies the layer: (.., in) → (.., out).
    ///
    /// # Errors
    /// Where the last axis of `x` is not the layer's input.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = x.contiguous()?.broadcast_matmul(&self.weight.t()?)?; // (.., out)
        match &self.bias {
            Some(bias) => y.broadcast_add(bias),
            None => Ok(y),
        }
    }
}

/// The initialisation of PyTorch's linear layer: uniform within 1/√in.
pub(crate) fn uniform_init(input: usize) -> Init {
    let bound = 1. / (input as f64).sqrt();
    Init::Uniform { lo: -bound, up: bound }
}
