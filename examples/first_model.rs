//! A first model under shapelock, as a crate tests its own: `cargo test --example first_model`.
//!
//! In your crate this file is `tests/shapes.rs`, with `harness = false` in `Cargo.toml`, and the case lies in `cases/`.

use candle_nn::{Module, VarBuilder, linear};
use shapelock::dims::Dims;
use shapelock::harness::subject::{ConfigProblem, Input, Inputs, Model, Outputs, Subject};

/// What a case writes under `config:`.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    width: usize,
    hidden: usize,
}

/// Scores a sequence: relu(x·W), mean over time, one output a row.
struct Scorer;

impl Subject for Scorer {
    type Config = Config;

    fn name(&self) -> &str {
        "scorer"
    }

    fn dims(&self, config: &Config) -> Result<Dims, ConfigProblem> {
        Ok(Dims::new().with("d", config.width).with("i", config.hidden))
    }

    fn free(&self) -> Vec<(&str, &str)> {
        vec![("d", "width"), ("i", "hidden")]
    }

    fn inputs(&self, _: &Config) -> Vec<Input> {
        vec![Input::floats("input", "b l d")]
    }

    fn build(&self, config: &Config, vb: VarBuilder) -> candle_core::Result<Box<dyn Model>> {
        let hidden = linear(config.width, config.hidden, vb.pp("hidden"))?;
        let score = linear(config.hidden, 1, vb.pp("score"))?;
        Ok(Box::new(move |inputs: &Inputs| {
            let x = hidden.forward(inputs.get("input")?)?.relu()?; // (b, l, i)
            let pooled = shapelock::tap("pooled", x.mean(1)?)?; // (b, i)
            Ok(Outputs::new().with("score", score.forward(&pooled)?)) // (b, 1)
        }))
    }
}

shapelock::main!(cases: "examples/cases", subjects: [Scorer]);
