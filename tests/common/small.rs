//! Small Mamba-2 models in f64, whole and in pieces.
use candle_core::{DType, Device, Result, Tensor};

use super::{Params, error};
use shapelock::model::mamba2::{Config, Mamba2, State, Tokens};
use shapelock::scan::Scan;

pub const L: usize = 17;
pub const V: u32 = 20;
const EXACT: f64 = 1e-12;

pub fn config(g: usize, scan: Scan) -> Config {
    let text = format!(
        r#"{{"d_model": 16, "n_layer": 2, "vocab_size": {V}, "pad_vocab_size_multiple": 1, "d_state": 5, "headdim": 8,
            "ngroups": {g}, "chunk_size": 4, "tie_embeddings": false}}"#
    );
    let config: Config = serde_json::from_str(&text).expect("the configuration is valid");
    Config { scan, ..config }
}

pub fn model(g: usize, scan: Scan) -> Result<Mamba2> {
    Mamba2::new(&config(g, scan), Params::seeded(5).builder(DType::F64, &Device::Cpu))
}

/// A model of time series, whose input carries a gradient.
pub fn series(params: &Params, scan: Scan) -> Result<Mamba2> {
    let text = r#"{"d_model": 16, "n_layer": 2, "d_state": 5, "headdim": 8, "ngroups": 2, "chunk_size": 4,
                   "head": {"outputs": 3}}"#;
    let config: Config = serde_json::from_str(text).expect("the configuration is valid");
    Mamba2::new(&Config { scan, ..config }, params.builder(DType::F64, &Device::Cpu))
}

/// Reads the pieces one after another: all outputs, and the last state.
pub fn in_pieces(model: &Mamba2, input: &Tensor, lengths: &[usize]) -> Result<(Tensor, State)> {
    let mut state = model.zero_state(input.dim(0)?)?;
    let (mut start, mut outputs) = (0, vec![]);
    for length in lengths {
        let piece = input.narrow(1, start, *length)?;
        let (output, next) = model.forward_from(&piece, &state, Tokens::default())?;
        outputs.push(output);
        (state, start) = (next, start + length);
    }
    Ok((Tensor::cat(&outputs, 1)?, state))
}

pub fn assert_near(what: &str, actual: &Tensor, expected: &Tensor) -> Result<()> {
    let measured = error(actual, expected)?;
    assert!(measured <= EXACT, "{what} is off by {measured:e}, allowed {EXACT:e}");
    Ok(())
}

pub fn assert_same_state(what: &str, actual: &State, expected: &State) -> Result<()> {
    for (layer, (actual, expected)) in actual.layers().iter().zip(expected.layers()).enumerate() {
        assert_near(&format!("{what}: scan state of layer {layer}"), &actual.ssm, &expected.ssm)?;
        assert_near(&format!("{what}: window of layer {layer}"), &actual.window, &expected.window)?;
    }
    Ok(())
}
