//! The bug report's model.

use candle_core::Result;
use candle_nn::VarBuilder;

use crate::dims::Dims;
use crate::harness::subject::{ConfigProblem, Input, Inputs, Model, Outputs, Subject};
use crate::model::{DenseSsm, DenseSsmConfig};

/// `dense_ssm`: input (b, l, d) → output (b, l, i).
pub struct DenseSsmSubject;

impl Subject for DenseSsmSubject {
    type Config = DenseSsmConfig;

    fn name(&self) -> &str {
        "dense_ssm"
    }

    fn dims(&self, config: &Self::Config) -> std::result::Result<Dims, ConfigProblem> {
        let named = config.dims()?.named();
        Ok(named.into_iter().fold(Dims::new(), |dims, (symbol, n)| dims.with(symbol, n)))
    }

    fn free(&self) -> Vec<(&str, &str)> {
        vec![("d", "d_model"), ("n", "d_state")]
    }

    fn inputs(&self, _: &Self::Config) -> Vec<Input> {
        vec![Input::floats("input", "b l d")]
    }

    fn build(&self, config: &Self::Config, vb: VarBuilder<'_>) -> Result<Box<dyn Model>> {
        let model = DenseSsm::new(config, vb)?;
        Ok(Box::new(move |inputs: &Inputs| {
            let output = model.forward(inputs.get("input")?)?; // (b, l, i)
            Ok(Outputs::new().with("output", output))
        }))
    }
}
