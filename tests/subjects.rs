//! The shipped subjects: what the harness is told of them holds.

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::{Func, Module, VarBuilder, linear};
use rstest::rstest;
use serde_json::{Value, json};
use shapelock::dims::Dims;
use shapelock::harness::registry::Registry;
use shapelock::harness::run::relative_error;
use shapelock::harness::subject::{ConfigProblem, Input, Inputs, Model, Outputs, Subject};
use shapelock::harness::subjects::shipped;
use shapelock::trace::params::Params;

fn ids() -> Result<Tensor> {
    let ids: Vec<u32> = (0..2 * 7).map(|i| i * 5 % 11).collect();
    Tensor::from_vec(ids, (2, 7), &Device::Cpu) // (b, l)
}

fn features() -> Result<Tensor> {
    let values = Tensor::arange(0f64, 2. * 7. * 8., &Device::Cpu)?;
    (values * 0.37)?.sin()?.reshape((2, 7, 8)) // (b, l, d)
}

/// What is read in two parts, the second from the state after the first, is what is read at once.
#[rstest]
#[case::dense_ssm("dense_ssm", json!({"d_model": 8, "expand": 2, "d_state": 3}), "input", features())]
#[case::language(
    "mamba2",
    json!({"d_model": 8, "n_layer": 2, "d_state": 4, "headdim": 4, "chunk_size": 4, "vocab_size": 11}),
    "ids",
    ids()
)]
#[case::series(
    "mamba2",
    json!({"d_model": 8, "n_layer": 2, "d_state": 4, "headdim": 4, "chunk_size": 4, "head": {"outputs": 2}}),
    "input",
    features()
)]
fn a_model_reads_on_from_its_state(
    #[case] subject: &str,
    #[case] config: Value,
    #[case] input: &str,
    #[case] whole: Result<Tensor>,
    #[values(1, 3, 6)] at: usize,
) -> Result<()> {
    let whole = whole?;
    let subjects = shipped();
    let subject = subjects.get(subject).expect("a shipped subject");
    let config = config.as_object().expect("a mapping");
    let model = subject.build(config, Params::new(1).builder(DType::F64, &Device::Cpu))?;
    let part = |from: usize, to: usize| -> Result<Inputs> {
        Ok(Inputs::new().with(input, whole.narrow(1, from, to - from)?.contiguous()?))
    };
    let at_once = model.forward(&part(0, 7)?)?;
    let (first, state) = model.resume(&part(0, at)?, None).expect("it streams")?;
    let (second, _) = model.resume(&part(at, 7)?, Some(&state)).expect("it streams")?;
    let output = |outputs: &shapelock::harness::subject::Outputs| {
        outputs.get("output").cloned().expect("an output")
    };
    let parts = Tensor::cat(&[output(&first), output(&second)], 1)?;
    let error = relative_error(&parts, &output(&at_once))?;
    assert!(error <= 1e-12, "max|a-b| / max|b| = {error:e}, at most 1e-12");
    Ok(())
}

/// A block as candle-transformers writes its ResNet: a closure whose lifetime is that of the `VarBuilder`.
fn block(d: usize, vb: VarBuilder<'_>) -> Result<Func<'_>> {
    let inner = linear(d, d, vb.pp("inner"))?;
    Ok(Func::new(move |x| inner.forward(x)? + x)) // (b, l, d)
}

/// A model that is a closure and nothing else.
struct Closed;

#[derive(serde::Deserialize)]
struct Width {
    d: usize,
}

impl Subject for Closed {
    type Config = Width;

    fn name(&self) -> &str {
        "closed"
    }

    fn dims(&self, config: &Width) -> std::result::Result<Dims, ConfigProblem> {
        Ok(Dims::new().with("d", config.d))
    }

    fn inputs(&self, _: &Width) -> Vec<Input> {
        vec![Input::floats("input", "b l d")]
    }

    fn build(&self, config: &Width, vb: VarBuilder<'static>) -> Result<Box<dyn Model>> {
        let block = block(config.d, vb.pp("block"))?;
        Ok(Box::new(move |inputs: &Inputs| {
            Ok(Outputs::new().with("output", block.forward(inputs.get("input")?)?))
        }))
    }
}

/// A model that keeps a closure with the lifetime of its `VarBuilder` can be a subject.
#[test]
fn a_model_of_closures_is_a_subject() -> Result<()> {
    let subjects = Registry::new().with(Closed);
    let subject = subjects.get("closed").expect("it was added");
    let config = json!({"d": 8});
    let config = config.as_object().expect("a mapping");
    let model = subject.build(config, Params::new(1).builder(DType::F64, &Device::Cpu))?;
    let outputs = model.forward(&Inputs::new().with("input", features()?))?;
    assert_eq!(outputs.get("output").expect("an output").dims(), [2, 7, 8]);
    Ok(())
}
