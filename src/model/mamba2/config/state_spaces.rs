//! The state-spaces form of the configuration.
use serde::Deserialize;
use serde_json::Value;

use super::json::of_file;
use super::{Config, DtLimit, Head};
use crate::model::ConfigError;
use crate::scan::Scan;

/// The model's fields, with the reference's defaults. `fused_add_norm` changes how and not what is computed, and the
/// residual is in at least f32 whatever `residual_in_fp32` says.
#[derive(Deserialize)]
struct Fields {
    d_model: usize,
    n_layer: usize,
    vocab_size: usize,
    #[serde(default)]
    d_intermediate: usize,
    #[serde(default)]
    ssm_cfg: Block,
    #[serde(default)]
    attn_layer_idx: Vec<usize>,
    #[serde(default = "default::yes")]
    rms_norm: bool,
    #[serde(default = "default::pad_vocab_size_multiple")]
    pad_vocab_size_multiple: usize,
    #[serde(default = "default::yes")]
    tie_embeddings: bool,
}

/// The fields of a block. Those that only draw new parameters are read and left aside.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Block {
    layer: String,
    d_state: usize,
    d_conv: usize,
    expand: usize,
    headdim: usize,
    d_ssm: Option<usize>,
    ngroups: usize,
    #[serde(rename = "D_has_hdim")]
    d_has_hdim: bool,
    rmsnorm: bool,
    norm_before_gate: bool,
    dt_limit: DtLimit,
    bias: bool,
    conv_bias: bool,
    chunk_size: usize,
    use_mem_eff_path: Value,
    conv_init: Value,
    #[serde(rename = "A_init_range")]
    a_init_range: Value,
    dt_min: Value,
    dt_max: Value,
    dt_init_floor: Value,
}

impl Default for Block {
    fn default() -> Self {
        Self {
            layer: "Mamba1".into(),
            d_state: 128,
            d_conv: 4,
            expand: 2,
            headdim: 64,
            d_ssm: None,
            ngroups: 1,
            d_has_hdim: false,
            rmsnorm: true,
            norm_before_gate: false,
            dt_limit: DtLimit::default(),
            bias: false,
            conv_bias: true,
            chunk_size: 256,
            use_mem_eff_path: Value::Null,
            conv_init: Value::Null,
            a_init_range: Value::Null,
            dt_min: Value::Null,
            dt_max: Value::Null,
            dt_init_floor: Value::Null,
        }
    }
}

pub(super) fn read(value: Value) -> Result<Config, ConfigError> {
    let fields: Fields = serde_json::from_value(value).map_err(of_file)?;
    refuse_other_models(&fields)?;
    let block = fields.ssm_cfg;
    Ok(Config {
        d_model: fields.d_model,
        n_layer: fields.n_layer,
        vocab_size: fields.vocab_size,
        pad_vocab_size_multiple: fields.pad_vocab_size_multiple,
        d_state: block.d_state,
        d_conv: block.d_conv,
        expand: block.expand,
        d_ssm: block.d_ssm,
        headdim: block.headdim,
        ngroups: block.ngroups,
        chunk_size: block.chunk_size,
        norm_eps: 1e-5,
        dt_limit: block.dt_limit,
        bias: block.bias,
        conv_bias: block.conv_bias,
        d_has_hdim: block.d_has_hdim,
        rmsnorm: block.rmsnorm,
        tie_embeddings: fields.tie_embeddings,
        scan: Scan::default(),
        head: Head::Lm,
    })
}

fn refuse_other_models(fields: &Fields) -> Result<(), ConfigError> {
    let block = &fields.ssm_cfg;
    let refused = [
        (
            "ssm_cfg.layer",
            block.layer != "Mamba2",
            format!("expected Mamba2, actual {}", block.layer),
        ),
        (
            "ssm_cfg.norm_before_gate",
            block.norm_before_gate,
            "the norm before the gate is not supported".into(),
        ),
        (
            "attn_layer_idx",
            !fields.attn_layer_idx.is_empty(),
            "attention layers are not supported".into(),
        ),
        (
            "d_intermediate",
            fields.d_intermediate > 0,
            "an MLP between the layers is not supported".into(),
        ),
        ("rms_norm", !fields.rms_norm, "a LayerNorm before the layers is not supported".into()),
    ];
    match refused.into_iter().find(|(_, refused, _)| *refused) {
        Some((field, _, message)) => Err(ConfigError::new(field, message)),
        None => Ok(()),
    }
}

/// The defaults of the reference's `MambaConfig`.
mod default {
    pub(super) const fn pad_vocab_size_multiple() -> usize {
        8
    }
    pub(super) const fn yes() -> bool {
        true
    }
}
