//! Hugging Face's form of the configuration.
use serde::Deserialize;
use serde_json::{Value, json};

use super::json::of_file;
use super::{Config, DtLimit, Head};
use crate::model::ConfigError;
use crate::scan::Scan;

/// The fields that decide what is computed, with transformers' defaults. Others are of no matter here: token ids,
/// initialisation, and `norm_before_gate`, which Codestral's file sets and its weights do not follow.
#[derive(Deserialize)]
struct Fields {
    hidden_size: usize,
    num_hidden_layers: usize,
    vocab_size: usize,
    #[serde(default = "default::num_heads")]
    num_heads: usize,
    #[serde(default = "default::head_dim")]
    head_dim: usize,
    #[serde(default = "default::state_size")]
    state_size: usize,
    #[serde(default = "default::expand")]
    expand: usize,
    #[serde(default = "default::conv_kernel")]
    conv_kernel: usize,
    #[serde(default = "default::n_groups")]
    n_groups: usize,
    #[serde(default = "default::chunk_size")]
    chunk_size: usize,
    #[serde(default = "default::layer_norm_epsilon")]
    layer_norm_epsilon: f64,
    #[serde(default)]
    use_bias: bool,
    #[serde(default = "default::use_conv_bias")]
    use_conv_bias: bool,
    #[serde(default)]
    tie_word_embeddings: bool,
    #[serde(default)]
    time_step_limit: DtLimit,
    #[serde(default = "default::hidden_act")]
    hidden_act: String,
    #[serde(default = "default::model_type")]
    model_type: String,
}

pub(super) fn read(value: Value) -> Result<Config, ConfigError> {
    let fields: Fields = serde_json::from_value(value).map_err(of_file)?;
    if fields.model_type != "mamba2" {
        let message = format!("expected mamba2, actual {}", fields.model_type);
        return Err(ConfigError::new("model_type", message));
    }
    if !["silu", "swish"].contains(&fields.hidden_act.as_str()) {
        let message = format!("expected silu, actual {}", fields.hidden_act);
        return Err(ConfigError::new("hidden_act", message));
    }
    let heads_width = fields.num_heads.checked_mul(fields.head_dim);
    if heads_width.is_none() || heads_width != fields.expand.checked_mul(fields.hidden_size) {
        let message = format!(
            "expected num_heads·head_dim = expand·hidden_size, actual {}·{} and {}·{}",
            fields.num_heads, fields.head_dim, fields.expand, fields.hidden_size
        );
        return Err(ConfigError::new("num_heads", message));
    }
    Ok(config(&fields))
}

pub(super) fn write(config: &Config) -> Result<Value, ConfigError> {
    let dims = config.dims()?;
    let unnamed = [
        ("d_ssm", dims.s != dims.i),
        ("d_has_hdim", config.d_has_hdim),
        ("rmsnorm", !config.rmsnorm),
        ("head", config.head != Head::Lm),
    ];
    if let Some((field, _)) = unnamed.into_iter().find(|(_, differs)| *differs) {
        return Err(ConfigError::new(field, "transformers has no such option"));
    }
    let mut value = json!({
        "architectures": ["Mamba2ForCausalLM"],
        "model_type": "mamba2",
        "hidden_size": dims.d,
        "num_hidden_layers": dims.layers,
        "vocab_size": dims.v,
        "num_heads": dims.h,
        "head_dim": dims.p,
        "state_size": dims.n,
        "expand": config.expand,
        "conv_kernel": dims.k,
        "n_groups": dims.g,
        "chunk_size": dims.q,
        "layer_norm_epsilon": config.norm_eps,
        "use_bias": config.bias,
        "use_conv_bias": config.conv_bias,
        "tie_word_embeddings": config.tie_embeddings,
        "residual_in_fp32": true,
        "hidden_act": "silu",
    });
    // No limit is written by leaving it out: the versions of transformers do not read each other's infinities.
    if config.dt_limit.binds() {
        let DtLimit { min, max } = config.dt_limit;
        let max = if max.is_finite() { max } else { f64::MAX };
        value["time_step_limit"] = json!([min, max]);
    }
    Ok(value)
}

fn config(fields: &Fields) -> Config {
    Config {
        d_model: fields.hidden_size,
        n_layer: fields.num_hidden_layers,
        vocab_size: fields.vocab_size,
        pad_vocab_size_multiple: 1,
        d_state: fields.state_size,
        d_conv: fields.conv_kernel,
        expand: fields.expand,
        d_ssm: None,
        headdim: fields.head_dim,
        ngroups: fields.n_groups,
        chunk_size: fields.chunk_size,
        norm_eps: fields.layer_norm_epsilon,
        dt_limit: fields.time_step_limit,
        bias: fields.use_bias,
        conv_bias: fields.use_conv_bias,
        d_has_hdim: false,
        rmsnorm: true,
        tie_embeddings: fields.tie_word_embeddings,
        scan: Scan::default(),
        head: Head::Lm,
    }
}

/// The defaults of transformers' `Mamba2Config`.
mod default {
    pub(super) const fn num_heads() -> usize {
        128
    }
    pub(super) const fn head_dim() -> usize {
        64
    }
    pub(super) const fn state_size() -> usize {
        128
    }
    pub(super) const fn expand() -> usize {
        2
    }
    pub(super) const fn conv_kernel() -> usize {
        4
    }
    pub(super) const fn n_groups() -> usize {
        8
    }
    pub(super) const fn chunk_size() -> usize {
        256
    }
    pub(super) const fn layer_norm_epsilon() -> f64 {
        1e-5
    }
    pub(super) const fn use_conv_bias() -> bool {
        true
    }
    pub(super) fn hidden_act() -> String {
        "silu".into()
    }
    pub(super) fn model_type() -> String {
        "mamba2".into()
    }
}
