//! The vision transformer: pixels (b, c, s, s) → logits (b, v).

use candle_core::Result;
use candle_nn::VarBuilder;
use candle_transformers::models::vit;
use shapelock::dims::Dims;
use shapelock::harness::subject::{ConfigProblem, Input, Inputs, Model, Outputs, Subject};

/// A configuration in sizes that may be chosen one by one.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    heads: usize,
    head_dim: usize,
    intermediate: usize,
    channels: usize,
    patch: usize,
    patches_a_side: usize,
    labels: usize,
    layers: usize,
}

impl Config {
    fn published(&self) -> vit::Config {
        vit::Config {
            hidden_size: self.heads * self.head_dim,
            num_hidden_layers: self.layers,
            num_attention_heads: self.heads,
            intermediate_size: self.intermediate,
            image_size: self.patch * self.patches_a_side,
            patch_size: self.patch,
            num_channels: self.channels,
            ..vit::Config::vit_base_patch16_224()
        }
    }
}

pub struct Vit;

impl Subject for Vit {
    type Config = Config;

    fn name(&self) -> &str {
        "vit"
    }

    fn dims(&self, config: &Config) -> std::result::Result<Dims, ConfigProblem> {
        let own = Dims::new().with("d", config.heads * config.head_dim).with("h", config.heads);
        let own = own.with("p", config.head_dim).with("i", config.intermediate);
        let own = own.with("c", config.channels).with("k", config.patch);
        let own = own.with("s", config.patches_a_side).with("v", config.labels);
        Ok(own.with("layers", config.layers))
    }

    /// The size of an image belongs to the model, so a batch is all that a case chooses.
    fn sizes(&self) -> Vec<(&str, &str)> {
        vec![("batch", "b")]
    }

    fn free(&self) -> Vec<(&str, &str)> {
        let sizes = [("h", "heads"), ("p", "head_dim"), ("i", "intermediate"), ("c", "channels")];
        let image =
            [("k", "patch"), ("s", "patches_a_side"), ("v", "labels"), ("layers", "layers")];
        sizes.into_iter().chain(image).collect()
    }

    fn inputs(&self, _: &Config) -> Vec<Input> {
        vec![Input::floats("pixels", "b c s*k s*k")]
    }

    fn build(&self, config: &Config, vb: VarBuilder) -> Result<Box<dyn Model>> {
        let model = vit::Model::new(&config.published(), config.labels, vb)?;
        Ok(Box::new(move |inputs: &Inputs| {
            Ok(Outputs::new().with("logits", model.forward(inputs.get("pixels")?)?)) // (b, v)
        }))
    }
}
