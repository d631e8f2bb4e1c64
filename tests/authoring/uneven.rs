//! A subject of a user's own, wrong only where it is large enough.

use candle_core::{Result, Tensor};
use candle_nn::VarBuilder;
use shapelock::dims::Dims;
use shapelock::harness::subject::{ConfigProblem, Input, Inputs, Model, Outputs, Subject};
use shapelock::tap;

/// y = x·w over (b, l, h·p), whose first row reads the last one in batches of 3 and more, of 5 tokens and more, where a
/// head has 2 features or more.
pub struct Uneven;

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    heads: usize,
    width: usize,
    #[serde(default)]
    right: bool,
}

impl Subject for Uneven {
    type Config = Config;

    fn name(&self) -> &str {
        "uneven"
    }

    fn dims(&self, config: &Config) -> std::result::Result<Dims, ConfigProblem> {
        let Config { heads, width, .. } = *config;
        if heads == 0 || !width.is_multiple_of(heads) || width / heads < 2 {
            let message = format!("{heads} heads of at least 2 features do not make {width}");
            return Err(ConfigProblem { field: Some("heads".to_owned()), message });
        }
        Ok(Dims::new().with("h", heads).with("p", width / heads))
    }

    fn inputs(&self, _: &Config) -> Vec<Input> {
        vec![Input::floats("x", "b l (h p)")]
    }

    fn build(&self, config: &Config, vb: VarBuilder<'_>) -> Result<Box<dyn Model>> {
        let gain = vb.get(config.width, "gain")?;
        let (heads, right) = (config.heads, config.right);
        Ok(Box::new(move |inputs: &Inputs| {
            let x = inputs.get("x")?.broadcast_mul(&gain)?; // (b, l, h·p)
            let (b, l, width) = x.dims3()?;
            let split = tap("split", x.reshape((b, l, heads, width / heads))?)?; // (b, l, h, p)
            let mixed = match !right && b > 2 && l > 4 {
                true => {
                    let first = (split.narrow(0, 0, 1)? + split.narrow(0, b - 1, 1)?)?; // (1, l, h, p)
                    Tensor::cat(&[first, split.narrow(0, 1, b - 1)?], 0)?
                }
                false => split,
            };
            Ok(Outputs::new().with("y", tap("mixed", mixed)?)) // (b, l, h, p)
        }))
    }
}
