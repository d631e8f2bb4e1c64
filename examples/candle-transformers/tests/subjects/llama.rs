//! Llama: ids (b, l) → logits of the last token (b, v).

use candle_core::Result;
use candle_nn::VarBuilder;
use candle_transformers::models::llama::{Cache, Config as Published, Llama as Decoder};
use shapelock::dims::Dims;
use shapelock::harness::subject::{ConfigProblem, Input, Inputs, Model, Outputs, Subject};

/// A configuration in sizes that may be chosen one by one.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    kv_heads: usize,
    heads_per_kv_head: usize,
    head_dim: usize,
    intermediate: usize,
    vocab: usize,
    layers: usize,
}

impl Config {
    fn heads(&self) -> usize {
        self.kv_heads * self.heads_per_kv_head
    }

    fn published(&self) -> Published {
        Published {
            hidden_size: self.heads() * self.head_dim,
            intermediate_size: self.intermediate,
            vocab_size: self.vocab,
            num_hidden_layers: self.layers,
            num_attention_heads: self.heads(),
            num_key_value_heads: self.kv_heads,
            max_position_embeddings: 128,
            ..Published::config_7b_v2(false)
        }
    }
}

pub struct Llama;

impl Subject for Llama {
    type Config = Config;

    fn name(&self) -> &str {
        "llama"
    }

    fn dims(&self, config: &Config) -> std::result::Result<Dims, ConfigProblem> {
        if config.head_dim % 2 == 1 {
            return Err(ConfigProblem {
                field: Some("head_dim".into()),
                message: "has to be even: places turn pairs of features".into(),
            });
        }
        let own = Dims::new().with("d", config.heads() * config.head_dim).with("h", config.heads());
        let own = own.with("g", config.kv_heads).with("p", config.head_dim);
        let own = own.with("i", config.intermediate).with("v", config.vocab);
        Ok(own.with("layers", config.layers))
    }

    fn free(&self) -> Vec<(&str, &str)> {
        vec![("g", "kv_heads"), ("i", "intermediate"), ("v", "vocab"), ("layers", "layers")]
    }

    fn inputs(&self, _: &Config) -> Vec<Input> {
        vec![Input::ids("ids", "b l", "v")]
    }

    fn build(&self, config: &Config, vb: VarBuilder) -> Result<Box<dyn Model>> {
        let published = config.published();
        let (dtype, device) = (vb.dtype(), vb.device().clone());
        let model = Decoder::load(vb, &published)?;
        Ok(Box::new(move |inputs: &Inputs| {
            let mut cache = Cache::new(false, dtype, &published, &device)?;
            let logits = model.forward(inputs.get("ids")?, 0, &mut cache)?; // (b, v)
            Ok(Outputs::new().with("logits", logits))
        }))
    }
}
