//! A toy with two parameters that are severed at different points.

use candle_core::Result;
use candle_nn::{Init, VarBuilder};
use shapelock::dims::Dims;
use shapelock::harness::subject::{ConfigProblem, Input, Inputs, Model, Outputs, Subject};

use super::Config;

/// x·(`always` + `alone`), of which no gradient reaches the one, and the other not where the batch is one.
pub struct Parts;

impl Subject for Parts {
    type Config = Config;

    fn name(&self) -> &str {
        "parts"
    }

    fn dims(&self, config: &Config) -> std::result::Result<Dims, ConfigProblem> {
        Ok(Dims::new().with("d", config.d).with("n", config.n))
    }

    fn inputs(&self, _: &Config) -> Vec<Input> {
        vec![Input::floats("input", "b l d")]
    }

    fn build(&self, config: &Config, vb: VarBuilder) -> Result<Box<dyn Model>> {
        let random = Init::Randn { mean: 0., stdev: 0.3 };
        let always = vb.get_with_hints((config.d, config.n), "always", random)?;
        let alone = vb.get_with_hints((config.d, config.n), "alone", random)?;
        Ok(Box::new(move |inputs: &Inputs| {
            let x = inputs.get("input")?; // (b, l, d)
            let alone = if x.dim(0)? == 1 { alone.detach() } else { alone.clone() };
            let y = x.broadcast_matmul(&(always.detach() + alone)?)?; // (b, l, n)
            Ok(Outputs::new().with("output", y))
        }))
    }
}
