//! A subject that fails in the ways that its configuration asks for.
use std::sync::atomic::{AtomicUsize, Ordering};

use candle_core::{Result, Tensor};
use candle_nn::VarBuilder;
use shapelock::dims::Dims;
use shapelock::harness::subject::{ConfigProblem, Input, Inputs, Model, Outputs, Subject};
use shapelock::tap;

/// y = x·W over (b, l, d), with a fault where the configuration says so.
pub struct Toy;

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    d: usize,
    #[serde(default)]
    fault: String,
}

impl Subject for Toy {
    type Config = Config;

    fn name(&self) -> &str {
        "toy"
    }

    fn dims(&self, config: &Config) -> std::result::Result<Dims, ConfigProblem> {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        // Listing plans a case once, so that the second call is that of its trial.
        let second = CALLS.fetch_add(1, Ordering::Relaxed) > 0;
        assert!(config.fault != "dims", "dims in the listing");
        assert!(!(config.fault == "dims later" && second), "dims in the trial");
        Ok(Dims::new().with("d", config.d))
    }

    fn inputs(&self, _: &Config) -> Vec<Input> {
        vec![Input::floats("x", "b l d")]
    }

    fn build(&self, config: &Config, vb: VarBuilder<'_>) -> Result<Box<dyn Model>> {
        let weight = vb.get((config.d, config.d), "w")?;
        let fault = config.fault.clone();
        Ok(Box::new(move |inputs: &Inputs| {
            let x = inputs.get("x")?; // (b, l, d)
            let y = match fault.as_str() {
                "panic" => panic!("a panic of the model"),
                "deep" => {
                    let y = x.broadcast_matmul(&weight)?; // (b, l, d)
                    (0..40_000).try_fold(y, |y, _| y.affine(1., 0.))?
                }
                "error" => x.matmul(&weight)?,
                "cut" => (x.broadcast_matmul(&weight)?.detach() * 2.)?,
                "time first" => x.broadcast_matmul(&weight)?.transpose(0, 1)?, // (l, b, d)
                _ => x.broadcast_matmul(&weight)?,                             // (b, l, d)
            };
            Ok(Outputs::new().with("y", tap("y", Tensor::contiguous(&y)?)?))
        }))
    }
}
