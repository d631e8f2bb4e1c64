//! The six end-to-end tests of the bug report, at its geometry: batch 8, 60 tokens, d_model 256, d_inner 1024, d_state 16.
//!
//! Each runs the report's own model (a dense state matrix) and a Mamba-2 of the same sizes that reads a time series.
mod common;

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::{AdamW, Optimizer, ParamsAdamW};
use rstest::rstest;

use common::{Params, error, is_finite, normal};
use shapelock::model::mamba2::{Config, Head, Mamba2};
use shapelock::model::{DenseSsm, DenseSsmConfig};

const B: usize = 8;
const L: usize = 60;
const D: usize = 256;
const I: usize = 1024;
const OUTPUTS: usize = 1;

#[derive(Clone, Copy, Debug)]
enum Kind {
    Dense,
    Mamba2,
}

enum Model {
    Dense(DenseSsm),
    Mamba2(Box<Mamba2>),
}

impl Model {
    fn new(kind: Kind, d: usize, params: &Params, device: &Device) -> Result<Self> {
        let vb = params.builder(DType::F32, device);
        match kind {
            Kind::Dense => {
                let config = DenseSsmConfig { d_model: d, expand: 4, d_state: 16 };
                DenseSsm::new(&config, vb).map(Self::Dense)
            }
            Kind::Mamba2 => Mamba2::new(&config(d), vb).map(|model| Self::Mamba2(Box::new(model))),
        }
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        match self {
            Self::Dense(model) => model.forward(x),
            Self::Mamba2(model) => model.forward(x),
        }
    }
}

impl Kind {
    const fn outputs(self) -> usize {
        match self {
            Self::Dense => I,
            Self::Mamba2 => OUTPUTS,
        }
    }
}

fn config(d: usize) -> Config {
    let text = format!(
        r#"{{"d_model": {d}, "n_layer": 2, "expand": 4, "d_state": 16, "headdim": 64, "chunk_size": 16}}"#
    );
    let config: Config = serde_json::from_str(&text).expect("the configuration is valid");
    Config { head: Head::Outputs(OUTPUTS), ..config }
}

fn input(b: usize, l: usize, d: usize, device: &Device) -> Result<Tensor> {
    normal(&[b, l, d], 1, DType::F32, device)
}

#[rstest]
fn test_mamba2_simple_forward_pass(#[values(Kind::Dense, Kind::Mamba2)] kind: Kind) -> Result<()> {
    let model = Model::new(kind, D, &Params::seeded(176), &Device::Cpu)?;
    let y = model.forward(&input(B, L, D, &Device::Cpu)?)?;
    assert_eq!(y.dims(), [B, L, kind.outputs()]);
    assert!(is_finite(&y)?);
    assert!(y.abs()?.mean_all()?.to_scalar::<f32>()? > 1e-3, "the output is all but zero");
    Ok(())
}

/// The last batch is smaller; each row is what it is alone.
#[rstest]
fn test_mamba2_batch_shapes(
    #[values(Kind::Dense, Kind::Mamba2)] kind: Kind,
    #[values(1, 3, 8)] b: usize,
) -> Result<()> {
    let model = Model::new(kind, D, &Params::seeded(176), &Device::Cpu)?;
    let x = input(b, L, D, &Device::Cpu)?;
    let y = model.forward(&x)?;
    assert_eq!(y.dims(), [b, L, kind.outputs()]);
    for row in 0..b {
        let alone = model.forward(&x.narrow(0, row, 1)?)?;
        let measured = error(&y.narrow(0, row, 1)?, &alone)?;
        assert!(measured <= 1e-5, "row {row} of {b} is off by {measured:e} from itself alone");
    }
    Ok(())
}

#[cfg_attr(not(feature = "cuda"), ignore = "needs a CUDA device: run with --features cuda")]
#[rstest]
fn test_mamba2_cuda_device(#[values(Kind::Dense, Kind::Mamba2)] kind: Kind) -> Result<()> {
    let cuda = Device::new_cuda(0)?;
    let on_cpu = Model::new(kind, D, &Params::seeded(176), &Device::Cpu)?;
    let on_cuda = Model::new(kind, D, &Params::seeded(176), &cuda)?;
    let expected = on_cpu.forward(&input(B, L, D, &Device::Cpu)?)?;
    let actual = on_cuda.forward(&input(B, L, D, &cuda)?)?;
    assert!(actual.device().is_cuda());
    let measured = error(&actual.to_device(&Device::Cpu)?, &expected)?;
    assert!(measured <= 1e-4, "CUDA is off by {measured:e} from the CPU");
    Ok(())
}

/// Lengths that are no multiple of the chunk; what is read later changes nothing before it.
#[rstest]
fn test_mamba2_sequence_lengths(
    #[values(Kind::Dense, Kind::Mamba2)] kind: Kind,
    #[values(1, 3, 4, 59, 60, 61, 64)] l: usize,
) -> Result<()> {
    let model = Model::new(kind, D, &Params::seeded(176), &Device::Cpu)?;
    let x = input(3, 64, D, &Device::Cpu)?;
    let y = model.forward(&x.narrow(1, 0, l)?)?;
    assert_eq!(y.dims(), [3, l, kind.outputs()]);
    let of_longer = model.forward(&x)?.narrow(1, 0, l)?;
    let measured = error(&y, &of_longer)?;
    assert!(measured <= 1e-5, "the first {l} of 64 tokens are off by {measured:e}");
    Ok(())
}

#[rstest]
fn test_mamba2_gradient_flow(#[values(Kind::Dense, Kind::Mamba2)] kind: Kind) -> Result<()> {
    let params = Params::seeded(176);
    let model = Model::new(kind, D, &params, &Device::Cpu)?;
    let y = model.forward(&input(B, L, D, &Device::Cpu)?)?;
    let weights = normal(y.dims(), 2, DType::F32, &Device::Cpu)?;
    let gradients = (y * weights)?.sum_all()?.backward()?;
    let vars = params.vars();
    let expected = match kind {
        Kind::Dense => 5,
        Kind::Mamba2 => 2 * 9 + 3,
    };
    assert_eq!(vars.len(), expected, "{:?}", vars.keys());
    for (name, var) in &vars {
        let gradient = gradients.get(var).unwrap_or_else(|| panic!("{name} has no gradient"));
        assert_eq!(gradient.dims(), var.dims(), "{name}");
        assert!(is_finite(gradient)?, "the gradient of {name} is not finite");
        let largest = gradient.abs()?.flatten_all()?.max(0)?.to_scalar::<f32>()?;
        assert!(largest > 0., "the gradient of {name} is zero");
    }
    Ok(())
}

/// A few steps at a smaller width halve the loss.
#[rstest]
fn test_mamba2_training_loop_simple(#[values(Kind::Dense, Kind::Mamba2)] kind: Kind) -> Result<()> {
    let d = 32;
    let params = Params::seeded(176);
    let model = Model::new(kind, d, &params, &Device::Cpu)?;
    let x = input(4, 20, d, &Device::Cpu)?;
    let outputs = model.forward(&x)?.dim(2)?;
    let target = normal(&[4, 20, outputs], 3, DType::F32, &Device::Cpu)?;
    let loss = |model: &Model| (model.forward(&x)? - &target)?.sqr()?.mean_all();

    let settings = ParamsAdamW { lr: 1e-2, ..ParamsAdamW::default() };
    let mut optimizer = AdamW::new(params.vars().into_values().collect(), settings)?;
    let first = loss(&model)?.to_scalar::<f32>()?;
    for _ in 0..30 {
        optimizer.backward_step(&loss(&model)?)?;
    }
    let last = loss(&model)?.to_scalar::<f32>()?;
    assert!(last < first / 2., "the loss went from {first} to {last}");
    Ok(())
}
