//! Mamba-2 against reference data: transformers in f32, and the recurrence in f64 with its gradients, which is the truth.
//!
//! `golden/generate.py` makes the data and says where the implementations differ.
mod common;

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;

use candle_core::{D, DType, Device, Result, Tensor, safetensors};
use candle_nn::loss::cross_entropy;
use rstest::rstest;

use common::error;
use shapelock::model::mamba2::{Config, DtLimit, Mamba2, Tokens, Weights, checkpoint};
use shapelock::scan::Scan;

/// Of max|a − b| / max|b| for each tensor, in f32.
const GATE: f64 = 5e-6;

/// The one logits in f32 that miss the gate: by 3 %, in the associative scan, at token 5 of row 2.
///
/// The last layer's gated norm divides by almost nothing there: rounding the weights moves the truth by 3e-6, and
/// transformers is off it by 7e-6, which is what they are held to.
const MISSED: (&str, &str, Scan, DType) = ("g4", "b3s8.logits", Scan::Associative, DType::F32);

struct Set {
    name: &'static str,
    config: Config,
    weights: Weights,
    truth: HashMap<String, Tensor>,
    transformers: HashMap<String, Tensor>,
    misses: RefCell<Vec<String>>,
}

impl Set {
    fn load(name: &'static str, dtype: DType) -> Result<Self> {
        let (config, weights) = checkpoint::load(&folder(name), dtype, &Device::Cpu)
            .map_err(candle_core::Error::wrap)?;
        let (truth, transformers) = (read(name, "truth64")?, read(name, "hf")?);
        Ok(Self { name, config, weights, truth, transformers, misses: RefCell::default() })
    }

    fn model(&self, scan: Scan) -> Result<Mamba2> {
        Mamba2::new(&Config { scan, ..self.config.clone() }, self.weights.builder())
    }

    /// Prints the measured error beside the gate, and notes a miss.
    fn hold(&self, what: &str, actual: &Tensor, expected: &Tensor, gate: f64) -> Result<()> {
        let measured = error(actual, expected)?;
        let verdict = if measured <= gate { "" } else { ", MISSED" };
        println!("{} {what}: {measured:.1e}, gate {gate:.0e}{verdict}", self.name);
        if measured > gate {
            self.misses.borrow_mut().push(format!("{what} is off by {measured:e}"));
        }
        Ok(())
    }

    /// How far transformers is off the truth.
    fn error_of_transformers(&self, key: &str) -> Result<f64> {
        error(&self.transformers[key], &self.truth[key])
    }

    /// Fails with all that missed its gate.
    fn judge(self) -> Result<()> {
        let misses = self.misses.into_inner();
        assert!(misses.is_empty(), "{} misses its gates:\n{}", self.name, misses.join("\n"));
        Ok(())
    }
}

fn folder(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "golden", name].iter().collect()
}

fn read(name: &str, file: &str) -> Result<HashMap<String, Tensor>> {
    safetensors::load(folder(name).join(format!("{file}.safetensors")), &Device::Cpu)
}

#[rstest]
fn logits_are_the_truths(
    #[values("g1", "g2", "g4")] name: &'static str,
    #[values(Scan::Sequential, Scan::Chunked, Scan::Associative, Scan::Fused)] scan: Scan,
    #[values(DType::F32, DType::F64)] dtype: DType,
) -> Result<()> {
    let set = Set::load(name, dtype)?;
    let model = set.model(scan)?;
    for case in ["b1s1", "b1s7", "b1s8", "b1s17", "b3s1", "b3s7", "b3s8", "b3s17"] {
        let logits = model.forward(&set.transformers[&format!("{case}.input_ids")])?;
        let key = format!("{case}.logits");
        let theirs = set.error_of_transformers(&key)?;
        let missed = MISSED == (name, key.as_str(), scan, dtype);
        let (gate, known) = if missed { (theirs, ", known to miss 5e-6") } else { (GATE, "") };
        let what = format!("{key} by {scan:?} in {dtype:?}{known}, transformers {theirs:.1e}");
        set.hold(&what, &logits, &set.truth[&key], gate)?;
    }
    set.judge()
}

#[rstest]
fn loss_and_gradients_are_the_truths(
    #[values("g1", "g2", "g4")] name: &'static str,
    #[values(Scan::Sequential, Scan::Chunked, Scan::Associative, Scan::Fused)] scan: Scan,
    #[values(DType::F32, DType::F64)] dtype: DType,
) -> Result<()> {
    let set = Set::load(name, dtype)?;
    let ids = &set.transformers["b3s17.input_ids"];
    let logits = set.model(scan)?.forward(ids)?;
    let (before, after) = (logits.narrow(1, 0, 16)?, ids.narrow(1, 1, 16)?);
    let loss = cross_entropy(&before.flatten(0, 1)?, &after.flatten_all()?)?;
    set.hold("loss", &loss.reshape(1)?, &set.truth["b3s17.loss_f64"], GATE)?;

    let gradients = loss.backward()?;
    let expected = set.truth.iter().filter_map(|(key, expected)| {
        key.strip_prefix("b3s17.grad.").map(|parameter| (parameter, expected))
    });
    let mut held = 0;
    for (parameter, expected) in expected {
        let gradient = gradients.get(&set.weights.vars()[parameter]);
        let gradient = gradient.unwrap_or_else(|| panic!("{parameter} has no gradient"));
        // How far the truth moves by the weights' rounding alone says how near the gate an f32 model can come.
        let moved = set.truth[&format!("b3s17.moved.{parameter}")].to_vec1::<f32>()?[0];
        let what =
            format!("gradient of {parameter} in {dtype:?}, which rounding moves by {moved:.1e}");
        set.hold(&what, gradient, expected, GATE)?;
        held += 1;
    }
    assert_eq!(held, set.weights.vars().len(), "the truth has a gradient for every parameter");
    set.judge()
}

#[rstest]
fn hidden_states_are_transformers_and_the_truths(
    #[values("g1", "g2", "g4")] name: &'static str,
    #[values(DType::F32, DType::F64)] dtype: DType,
) -> Result<()> {
    let set = Set::load(name, dtype)?;
    let model = set.model(Scan::Chunked)?;
    for case in ["b1s1", "b1s17", "b3s7", "b3s8", "b3s17"] {
        let hidden = model.hidden_states(&set.transformers[&format!("{case}.input_ids")])?;
        assert_eq!(hidden.len(), set.config.n_layer + 1);
        for (index, hidden) in hidden.iter().enumerate() {
            let key = format!("{case}.hidden.{index}");
            let theirs = set.error_of_transformers(&key)?;
            let what = format!("{key} in {dtype:?}, transformers {theirs:.1e}");
            set.hold(&what, hidden, &set.truth[&key], GATE)?;
            // What is itself further off the truth than the gate allows cannot judge.
            if theirs <= GATE {
                set.hold(&format!("{key} of transformers"), hidden, &set.transformers[&key], GATE)?;
            }
        }
    }
    set.judge()
}

#[rstest]
fn states_are_transformers(#[values("g1", "g2", "g4")] name: &'static str) -> Result<()> {
    let set = Set::load(name, DType::F32)?;
    let model = set.model(Scan::Chunked)?;
    let ids = &set.transformers["b1s17.input_ids"];
    let (_, state) = model.forward_from(ids, &model.zero_state(1)?, Tokens::default())?;
    for (layer, state) in state.layers().iter().enumerate() {
        let key = format!("b1s17.state.ssm.{layer}");
        set.hold(&key, &state.ssm, &set.transformers[&key], GATE)?;
        let key = format!("b1s17.state.conv.{layer}");
        // transformers keeps channels first, and one column more than a next token reads.
        let columns =
            set.transformers[&key].narrow(2, 1, set.config.d_conv - 1)?.transpose(1, 2)?;
        set.hold(&key, &state.window, &columns, GATE)?;
    }
    set.judge()
}

/// The prompt is read at once, then token by token.
#[rstest]
#[case("b1s1")]
#[case("b1s2")]
#[case("b1s3")]
#[case("b3s7")]
#[case("b1s17")]
fn greedy_tokens_are_transformers(
    #[values("g1", "g2", "g4")] name: &'static str,
    #[case] case: &str,
) -> Result<()> {
    let set = Set::load(name, DType::F32)?;
    let model = set.model(Scan::Chunked)?;
    let prompt = &set.transformers[&format!("greedy.{case}.prompt")];
    let expected = &set.transformers[&format!("greedy.{case}.tokens")];
    let (b, l) = prompt.dims2()?;
    let (logits, mut state) =
        model.forward_from(prompt, &model.zero_state(b)?, Tokens::default())?;
    let mut logits = logits.narrow(1, l - 1, 1)?.squeeze(1)?;
    let mut tokens = vec![prompt.to_dtype(DType::U32)?];
    for _ in 0..16 {
        let next = logits.argmax(D::Minus1)?; // (b)
        (logits, state) = model.step(&next, &state)?;
        tokens.push(next.unsqueeze(1)?);
    }
    let tokens = Tensor::cat(&tokens, 1)?;
    assert_eq!(tokens.to_vec2::<u32>()?, expected.to_dtype(DType::U32)?.to_vec2::<u32>()?);
    Ok(())
}

/// A limit of dt holds for whole sequences and for single steps.
#[rstest]
fn limits_of_dt_hold(#[values("g1", "g2", "g4")] name: &'static str) -> Result<()> {
    let mut set = Set::load(name, DType::F32)?;
    set.config.dt_limit = DtLimit { min: 0.02, max: 0.2 };
    let variants = read(name, "variants")?;
    let (ids, expected) = (&variants["b2s17.input_ids"], &variants["dtlimit_0.02_0.2.logits"]);
    let model = set.model(Scan::Chunked)?;
    set.hold("limited logits", &model.forward(ids)?, expected, GATE)?;

    let mut state = model.zero_state(2)?;
    let mut steps = vec![];
    for t in 0..17 {
        let (logits, next) = model.step(&ids.narrow(1, t, 1)?.squeeze(1)?, &state)?;
        steps.push(logits);
        state = next;
    }
    set.hold("limited logits by step", &Tensor::stack(&steps, 1)?, expected, GATE)?;
    set.judge()
}

/// In half precision the scan, the norms' sums and the residual stay in f32.
#[rstest]
#[case(DType::BF16, 3e-2)]
#[case(DType::F16, 4e-3)]
fn half_precision_is_near(
    #[values("g1", "g2", "g4")] name: &'static str,
    #[case] dtype: DType,
    #[case] gate: f64,
) -> Result<()> {
    let set = Set::load(name, dtype)?;
    for (parameter, var) in set.weights.vars() {
        let in_full = ["A_log", "D", "dt_bias"].iter().any(|last| parameter.ends_with(last));
        assert_eq!(var.dtype(), if in_full { DType::F32 } else { dtype }, "{parameter}");
    }
    let model = set.model(Scan::Chunked)?;
    let ids = &set.transformers["b3s17.input_ids"];
    let (logits, state) = model.forward_from(ids, &model.zero_state(3)?, Tokens::default())?;
    assert_eq!((logits.dtype(), state.layers()[0].ssm.dtype()), (dtype, DType::F32));
    set.hold(&format!("{dtype:?} logits"), &logits, &set.truth["b3s17.logits"], gate)?;
    set.judge()
}
