//! The mixer: a projection in, the core, a projection out.
use std::sync::Arc;

use candle_core::{Result, Tensor};
use candle_nn::{Init, VarBuilder};

use super::core::{Core, CoreInputs, CoreParams};
use super::norm::at_least_f32;
use super::tokens::Layout;
use super::{Config, Dims, LayerState};
use crate::model::{Linear, silu};
use crate::scan::{Scan, Scope};

/// One Mamba-2 block without its norm and its residual.
#[derive(Clone, Debug)]
pub struct Mixer {
    in_proj: Linear,
    out_proj: Linear,
    params: CoreParams,
    core: Arc<dyn Core>,
    config: Arc<Config>,
    dims: Dims,
    scope: Scope,
}

impl Mixer {
    /// Takes the parameters `in_proj`, `conv1d`, `dt_bias`, `A_log`, `D`, `norm` and `out_proj` from `vb`.
    ///
    /// A_log, D and dt_bias are read in at least f32 even where the weights are not.
    ///
    /// # Errors
    /// Where a parameter is missing or has another shape.
    pub(super) fn new(
        config: &Arc<Config>,
        dims: Dims,
        core: &Arc<dyn Core>,
        scope: Scope,
        vb: &VarBuilder,
    ) -> Result<Self> {
        let narrow_out = INIT_STD / (dims.layers as f64).sqrt();
        let normal = |stdev| Init::Randn { mean: 0., stdev };
        let (in_proj, out_proj) = (vb.pp("in_proj"), vb.pp("out_proj"));
        Ok(Self {
            in_proj: Linear::new(dims.d, dims.in_proj(), config.bias, normal(INIT_STD), &in_proj)?,
            out_proj: Linear::new(dims.i, dims.d, config.bias, normal(narrow_out), &out_proj)?,
            params: core_params(config, dims, vb)?,
            core: core.clone(),
            config: config.clone(),
            dims,
            scope,
        })
    }

    /// Mixes the tokens: (b, l, d) → (b, l, d) and the next state. Taps: `zxbcdt`, those of the core, `out`.
    ///
    /// # Errors
    /// Those of candle's; the model has checked the inputs.
    pub(super) fn forward(
        &self,
        u: &Tensor,
        state: &LayerState,
        layout: &Layout,
        scan: Scan,
    ) -> Result<(Tensor, LayerState)> {
        let (weight_dtype, m) = (u.dtype(), self.dims.mlp());
        let projected = self.in_proj.forward(u)?; // (b, l, 2·m + e)
        let zxbcdt = projected.narrow(2, 2 * m, self.dims.zxbcdt())?; // (b, l, e)
        let zxbcdt = self.scope.tap("zxbcdt", zxbcdt.to_dtype(at_least_f32(weight_dtype))?)?;
        let inputs = CoreInputs {
            zxbcdt: &zxbcdt,
            params: &self.params,
            state,
            layout,
            dims: self.dims,
            config: &self.config,
            scan,
            scope: &self.scope,
        };
        let (y, state) = self.core.run(&inputs)?; // (b, l, h·p)
        let y = self.beside(&projected, y.to_dtype(weight_dtype)?)?; // (b, l, i)
        let out = self.scope.tap("out", self.out_proj.forward(&y)?)?; // (b, l, d)
        Ok((out, state))
    }

    /// Puts the gated MLP beside the state space, where `d_ssm` leaves it features.
    fn beside(&self, projected: &Tensor, y: Tensor) -> Result<Tensor> {
        let m = self.dims.mlp();
        if m == 0 {
            return Ok(y);
        }
        let mlp = (silu(&projected.narrow(2, 0, m)?)? * projected.narrow(2, m, m)?)?; // (b, l, m)
        Tensor::cat(&[mlp, y], 2) // (b, l, i)
    }
}

fn core_params(config: &Config, dims: Dims, vb: &VarBuilder) -> Result<CoreParams> {
    let Dims { s, h, p, k, .. } = dims;
    let dtype = at_least_f32(vb.dtype());
    let in_full = |shape: &[usize], name, init| vb.get_with_hints_dtype(shape, name, init, dtype);
    let conv = vb.pp("conv1d");
    let bound = 1. / (k as f64).sqrt();
    let conv_init = Init::Uniform { lo: -bound, up: bound };
    let conv_bias = match config.conv_bias {
        true => Some(conv.get_with_hints(dims.conv(), "bias", conv_init)?.to_dtype(dtype)?),
        false => None,
    };
    let norm_weight = match config.rmsnorm {
        true => Some(vb.pp("norm").get_with_hints(s, "weight", Init::Const(1.))?.to_dtype(dtype)?),
        false => None,
    };
    let d_shape: &[usize] = if config.d_has_hdim { &[h, p] } else { &[h] };
    // The logarithm of A ~ U(1, 16) and the inverse softplus of dt ~ log-uniform(0.001, 0.1), both as near as a
    // uniform draw comes.
    let a_init = Init::Uniform { lo: 0., up: 16f64.ln() };
    let dt_init = Init::Uniform { lo: 0.001f64.exp_m1().ln(), up: 0.1f64.exp_m1().ln() };
    Ok(CoreParams {
        conv_weight: conv
            .get_with_hints((dims.conv(), 1, k), "weight", conv_init)?
            .to_dtype(dtype)?,
        conv_bias,
        dt_bias: in_full(&[h], "dt_bias", dt_init)?,
        a_log: in_full(&[h], "A_log", a_init)?,
        d: match config.d_has_hdim {
            true => in_full(d_shape, "D", Init::Const(1.))?.reshape((h, p))?,
            false => in_full(d_shape, "D", Init::Const(1.))?,
        },
        norm_weight,
    })
}

/// The reference's standard deviation of linear weights and embeddings.
pub(super) const INIT_STD: f64 = 0.02;
