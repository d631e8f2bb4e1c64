//! BERT: ids (b, l) → output (b, l, d).

use candle_core::Result;
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{BertModel, Config as Published, HiddenAct};
use shapelock::dims::Dims;
use shapelock::harness::subject::{ConfigProblem, Input, Inputs, Model, Outputs, Subject};

/// A configuration in sizes that may be chosen one by one: the published one has `hidden_size`, which is heads · head_dim.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    heads: usize,
    head_dim: usize,
    intermediate: usize,
    vocab: usize,
    layers: usize,
}

impl Config {
    fn published(&self) -> Published {
        Published {
            hidden_size: self.heads * self.head_dim,
            num_attention_heads: self.heads,
            intermediate_size: self.intermediate,
            vocab_size: self.vocab,
            num_hidden_layers: self.layers,
            hidden_act: HiddenAct::Gelu,
            ..Published::default()
        }
    }
}

pub struct Bert;

impl Subject for Bert {
    type Config = Config;

    fn name(&self) -> &str {
        "bert"
    }

    fn dims(&self, config: &Config) -> std::result::Result<Dims, ConfigProblem> {
        let own = Dims::new().with("d", config.heads * config.head_dim).with("h", config.heads);
        let own = own.with("p", config.head_dim).with("i", config.intermediate);
        Ok(own.with("v", config.vocab).with("layers", config.layers))
    }

    fn free(&self) -> Vec<(&str, &str)> {
        vec![
            ("h", "heads"),
            ("p", "head_dim"),
            ("i", "intermediate"),
            ("v", "vocab"),
            ("layers", "layers"),
        ]
    }

    fn inputs(&self, _: &Config) -> Vec<Input> {
        vec![Input::ids("ids", "b l", "v")]
    }

    fn build(&self, config: &Config, vb: VarBuilder) -> Result<Box<dyn Model>> {
        let model = BertModel::load(vb, &config.published())?;
        Ok(Box::new(move |inputs: &Inputs| {
            let ids = inputs.get("ids")?; // (b, l)
            let hidden = model.forward(ids, &ids.zeros_like()?, None)?; // (b, l, d)
            Ok(Outputs::new().with("output", hidden))
        }))
    }
}
