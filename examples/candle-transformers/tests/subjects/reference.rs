//! shapelock's own Mamba-2 with the parameters of the published one, to hold the latter against.

use candle_core::Result;
use candle_nn::VarBuilder;
use serde_json::json;
use shapelock::dims::Dims;
use shapelock::harness::subject::{ConfigProblem, Input, Inputs, Model, Outputs, Subject};
use shapelock::model::mamba2;

use super::mamba2::{Config, Mamba2};

pub struct OfShapelock;

impl Subject for OfShapelock {
    type Config = Config;

    fn name(&self) -> &str {
        "mamba2_of_shapelock"
    }

    fn dims(&self, config: &Config) -> std::result::Result<Dims, ConfigProblem> {
        Subject::dims(&Mamba2, config)
    }

    fn inputs(&self, config: &Config) -> Vec<Input> {
        Subject::inputs(&Mamba2, config)
    }

    fn build(&self, config: &Config, vb: VarBuilder<'static>) -> Result<Box<dyn Model>> {
        let of = &config.published;
        let own = json!({
            "d_model": of.d_model, "n_layer": of.n_layer, "vocab_size": of.vocab_size,
            "d_state": of.d_state, "expand": of.expand, "headdim": of.headdim,
            "ngroups": of.ngroups, "chunk_size": config.chunk_size,
        });
        let own: mamba2::Config = serde_json::from_value(own).map_err(candle_core::Error::wrap)?;
        // Who asks for a parameter first says how it is filled: that has to be the published model here, too.
        Subject::build(&Mamba2, config, vb.clone())?;
        // The published model leaves out the prefix that checkpoints have.
        let vb = vb.rename_f(|path| path.trim_start_matches("backbone.").to_owned());
        let model = mamba2::Mamba2::new(&own, vb)?;
        Ok(Box::new(move |inputs: &Inputs| {
            Ok(Outputs::new().with("logits", model.forward(inputs.get("ids")?)?)) // (b, l, v)
        }))
    }
}
