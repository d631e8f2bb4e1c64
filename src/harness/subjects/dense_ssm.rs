//! The bug report's model.

use candle_core::{Result, Tensor};
use candle_nn::VarBuilder;

use crate::dims::Dims;
use crate::harness::subject::{ConfigProblem, Input, Inputs, Model, Outputs, State, Subject};
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

    fn is_causal(&self) -> bool {
        true
    }

    fn has_state(&self) -> bool {
        true
    }

    fn build(&self, config: &Self::Config, vb: VarBuilder<'_>) -> Result<Box<dyn Model>> {
        let model = DenseSsm::new(config, vb)?;
        Ok(Box::new(Streaming(model)))
    }

    fn has_reference(&self) -> bool {
        true
    }

    fn reference(
        &self,
        config: &Self::Config,
        vb: VarBuilder<'static>,
    ) -> Option<Result<Box<dyn Model>>> {
        let by_definition = |model: DenseSsm| -> Box<dyn Model> {
            Box::new(move |inputs: &Inputs| {
                let output = model.forward_by_definition(inputs.get("input")?)?; // (b, l, i)
                Ok(Outputs::new().with("output", output))
            })
        };
        Some(DenseSsm::new(config, vb).map(by_definition))
    }
}

struct Streaming(DenseSsm);

impl Model for Streaming {
    fn forward(&self, inputs: &Inputs) -> Result<Outputs> {
        let output = self.0.forward(inputs.get("input")?)?; // (b, l, i)
        Ok(Outputs::new().with("output", output))
    }

    fn resume(&self, inputs: &Inputs, state: Option<&State>) -> Option<Result<(Outputs, State)>> {
        let h = state.and_then(|state| state.downcast_ref::<Tensor>()); // (b, n)
        let read_on = || {
            let (output, h) = self.0.forward_from(inputs.get("input")?, h)?; // (b, l, i), (b, n)
            Ok((Outputs::new().with("output", output), Box::new(h) as State))
        };
        Some(read_on())
    }

    fn tensors(&self, state: &State) -> Vec<(String, Tensor)> {
        let h = state.downcast_ref::<Tensor>(); // (b, n)
        h.map(|h| ("h".to_owned(), h.clone())).into_iter().collect()
    }
}
