//! The fused core is the definition: values, and the gradients of every parameter, of the input and of the first state.
mod common;

use std::collections::BTreeMap;

use candle_core::{DType, Device, Result, Tensor, Var};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use rstest::rstest;
use serde_json::json;

use common::{Params, error, normal};
use shapelock::model::mamba2::{Config, LayerState, Mamba2, Tokens};
use shapelock::scan::Scan;

/// One model of one layer, and what it reads.
#[derive(Clone, Debug)]
struct Shape {
    b: usize,
    l: usize,
    /// Heads of a group.
    r: usize,
    p: usize,
    g: usize,
    n: usize,
    k: usize,
    /// Features that go past the state space.
    mlp: usize,
    /// Conv bias, norm, D for each feature, dt limits, a first state, resets, padding.
    options: [bool; 7],
    seed: u64,
}

impl Shape {
    fn config(&self, scan: Scan) -> Config {
        let [conv_bias, rmsnorm, d_has_hdim, limits, ..] = self.options;
        let s = self.r * self.g * self.p;
        let limit = if limits { json!([0.3, 1.2]) } else { json!([0.0, null]) };
        let config = json!({
            "d_model": s + self.mlp, "n_layer": 1, "expand": 1, "d_ssm": s, "headdim": self.p, "ngroups": self.g,
            "d_state": self.n, "d_conv": self.k, "conv_bias": conv_bias, "rmsnorm": rmsnorm,
            "d_has_hdim": d_has_hdim, "dt_limit": limit, "head": {"outputs": 3},
        });
        let config: Config = serde_json::from_value(config).expect("the configuration is valid");
        Config { scan, ..config }
    }

    /// A mark for about one token in nine.
    fn reset(&self) -> Result<Tensor> {
        let draws = normal(&[self.b, self.l], self.seed + 3, DType::F64, &Device::Cpu)?;
        draws.gt(1.2)
    }

    /// Rows that are padded at the end, and in the last row at the start.
    fn mask(&self) -> Result<Tensor> {
        let real = |row: usize, t: usize| {
            let length = (self.l * (row + 1)).div_ceil(self.b + 1);
            if row + 1 == self.b { t >= self.l - length } else { t < length }
        };
        let mask = (0..self.b * self.l).map(|at| u8::from(real(at / self.l, at % self.l)));
        Tensor::from_vec(mask.collect::<Vec<_>>(), (self.b, self.l), &Device::Cpu)
    }

    /// The output, the last state, and the gradients of all, by name.
    fn run(&self, scan: Scan, dtype: DType) -> Result<BTreeMap<String, Tensor>> {
        let [.., state, reset, mask] = self.options;
        let params = Params::seeded(self.seed);
        let model = Mamba2::new(&self.config(scan), params.builder(dtype, &Device::Cpu))?;
        let draw = |shape: &[usize], salt| {
            Var::from_tensor(&normal(shape, self.seed + salt, dtype, &Device::Cpu)?)
        };
        let dims = model.dims();
        // Time first in memory, so that the rows of the input are strided.
        let input = draw(&[self.l, self.b, dims.d], 1)?;
        let window = draw(&[self.b, dims.k - 1, dims.conv()], 2)?;
        let ssm = draw(&[self.b, dims.h, dims.p, dims.n], 4)?;
        let start = match state {
            true => {
                let (window, ssm) = (window.as_tensor().clone(), ssm.as_tensor().clone());
                model.state_of(vec![LayerState { window, ssm }])?
            }
            false => model.zero_state(self.b)?,
        };
        let (reset, mask) =
            (reset.then(|| self.reset()).transpose()?, mask.then(|| self.mask()).transpose()?);
        let tokens = Tokens { reset: reset.as_ref(), mask: mask.as_ref() };
        let (output, last) = model.forward_from(&input.transpose(0, 1)?, &start, tokens)?;
        let last = &last.layers()[0];
        let weigh = |t: &Tensor| (t * normal(t.dims(), 9, dtype, &Device::Cpu)?)?.sum_all();
        let loss = ((weigh(&output)? + weigh(&last.ssm)?)? + weigh(&last.window)?)?;
        let gradients = loss.backward()?;
        let mut vars = params.vars();
        vars.insert("input".into(), input);
        if state {
            vars.extend([("window".into(), window), ("ssm".into(), ssm)]);
        }
        let mut all = BTreeMap::new();
        for (name, var) in vars.into_iter().filter(|(_, var)| var.elem_count() > 0) {
            let gradient = gradients.get(&var).cloned().unwrap_or(var.zeros_like()?);
            all.insert(format!("gradient of {name}"), gradient);
        }
        all.extend([("output".into(), output), ("last state".into(), last.ssm.clone())]);
        Ok(all)
    }

    fn apart(&self, dtype: DType, values: f64, gradients: f64) -> Result<Option<String>> {
        let (actual, expected) =
            (self.run(Scan::Fused, dtype)?, self.run(Scan::Sequential, dtype)?);
        for (name, expected) in &expected {
            let measured = error(&actual[name], expected)?;
            let gate = if name.starts_with("gradient") { gradients } else { values };
            if measured.is_nan() || measured > gate {
                return Ok(Some(format!("{name} is off by {measured:e}, allowed {gate:e}")));
            }
        }
        Ok(None)
    }
}

fn shapes() -> impl Strategy<Value = Shape> {
    let lengths = prop_oneof![4 => 1..12usize, 3 => 12..140usize, 1 => 140..301usize];
    let sizes = (1..4usize, lengths, 1..4usize, 1..4usize);
    // Rows of more than one vector, and blocks of more than one row.
    let features = prop_oneof![3 => 1..9usize, 1 => 15..34usize];
    let states = prop_oneof![3 => 1..12usize, 1 => 15..34usize];
    let rest = (features, states, 1..6usize, 0..2usize, any::<[bool; 7]>(), 0..1000u64);
    (sizes, rest).prop_map(|((b, l, r, g), (p, n, k, mlp, options, seed))| Shape {
        b,
        l,
        r,
        p,
        g,
        n,
        k,
        mlp: 4 * mlp,
        options,
        seed,
    })
}

#[rstest]
#[case::f32(DType::F32, 1e-5, 1e-4)]
#[case::f64(DType::F64, 1e-10, 1e-10)]
fn the_fused_core_is_the_definition(
    #[case] dtype: DType,
    #[case] values: f64,
    #[case] gradients: f64,
) {
    let config =
        ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let property = |shape: Shape| {
        let apart = shape.apart(dtype, values, gradients);
        let apart = apart.map_err(|error| TestCaseError::fail(error.to_string()))?;
        apart.map_or(Ok(()), |apart| Err(TestCaseError::fail(apart)))
    };
    if let Err(error) = TestRunner::new_with_rng(config, rng).run(&shapes(), property) {
        panic!("{error}");
    }
}

const LARGE: Shape = Shape {
    b: 3,
    l: 90,
    r: 2,
    p: 16,
    g: 2,
    n: 16,
    k: 4,
    mlp: 0,
    options: [true, true, false, false, true, true, false],
    seed: 7,
};

#[test]
fn the_number_of_threads_changes_no_bit() -> Result<()> {
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("a pool of few threads").install(|| LARGE.run(Scan::Fused, DType::F32))
    };
    let alone = run(1)?;
    for threads in [2, 3] {
        for (name, other) in run(threads)? {
            let bits = |t: &Tensor| {
                let values = t.flatten_all()?.to_vec1::<f32>()?;
                Ok::<_, candle_core::Error>(
                    values.into_iter().map(f32::to_bits).collect::<Vec<_>>(),
                )
            };
            assert_eq!(bits(&alone[&name])?, bits(&other)?, "{name} with {threads} threads");
        }
    }
    Ok(())
}

#[rstest]
fn half_precision_is_scanned_in_full(
    #[values(DType::BF16, DType::F16)] dtype: DType,
) -> Result<()> {
    let shape = Shape { options: [true, true, false, false, false, false, false], ..LARGE };
    let run = |scan| {
        let params = Params::seeded(3);
        let model = Mamba2::new(&shape.config(scan), params.builder(dtype, &Device::Cpu))?;
        let input = normal(&[3, 20, model.dims().d], 1, DType::F32, &Device::Cpu)?;
        let state = model.zero_state(3)?;
        model.forward_from(&input.to_dtype(dtype)?, &state, Tokens::default())
    };
    let ((fused, state), (definition, last)) = (run(Scan::Fused)?, run(Scan::Sequential)?);
    assert_eq!((fused.dtype(), state.layers()[0].ssm.dtype()), (dtype, DType::F32));
    assert!(error(&state.layers()[0].ssm, &last.layers()[0].ssm)? <= 1e-5);
    // The projection after the core rounds: one unit of the coarser dtype.
    assert!(error(&fused, &definition)? <= 1. / 128.);
    Ok(())
}

/// What is no number stays in its row and in its future, and is not made one.
#[test]
fn what_is_no_number_stays_none() -> Result<()> {
    let shape = Shape { l: 9, options: [true; 7], ..LARGE };
    let shape = Shape { options: [true, true, false, true, false, false, false], ..shape };
    let params = Params::seeded(3);
    let model = Mamba2::new(&shape.config(Scan::Fused), params.builder(DType::F32, &Device::Cpu))?;
    let input = normal(&[3, 9, model.dims().d], 1, DType::F32, &Device::Cpu)?;
    let mut values = input.flatten_all()?.to_vec1::<f32>()?;
    values[(9 + 4) * model.dims().d] = f32::NAN; // row 1, token 4
    let output = model.forward(&Tensor::from_vec(values, input.shape(), &Device::Cpu)?)?;
    let output = output.to_vec3::<f32>()?;
    for (row, tokens) in output.iter().enumerate() {
        for (t, token) in tokens.iter().enumerate() {
            let is_none = token.iter().all(|value| value.is_nan());
            assert_eq!(is_none, row == 1 && t >= 4, "row {row}, token {t}: {token:?}");
        }
    }
    Ok(())
}

#[test]
fn auto_is_the_fast_scan_of_the_device() -> Result<()> {
    assert_eq!(Scan::Auto.on(&Device::Cpu), Scan::Fused);
    let (auto, fused) = (LARGE.run(Scan::Auto, DType::F32)?, LARGE.run(Scan::Fused, DType::F32)?);
    assert_eq!(error(&auto["output"], &fused["output"])?, 0.);
    Ok(())
}
