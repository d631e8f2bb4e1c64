//! Faults that published implementations of Mamba-2 have or had, each as a faulty core beside the right one.
//!
//! Each is off by more than any rounding where it shows, and is the right model where it cannot: that is how it was
//! missed.
mod common;

use std::sync::Arc;

use candle_core::{D, DType, Device, Result, Tensor};
use rstest::rstest;

use common::{Params, error, ids, is_finite};
use shapelock::model::mamba2::{
    Config, Core, CoreInputs, CoreParams, DtLimit, LayerState, Mamba2, PlainCore, State, Tokens,
};
use shapelock::scan::{Inputs, Output, Scan};

const L: usize = 13;
const V: u32 = 20;
/// Far above rounding in f64.
const SHOWS: f64 = 1e-6;
const HIDDEN: f64 = 1e-12;

type Faulty = fn(&CoreInputs) -> Result<(Tensor, LayerState)>;

#[derive(Debug)]
struct Twin(Faulty);

impl Core for Twin {
    fn run(&self, inputs: &CoreInputs) -> Result<(Tensor, LayerState)> {
        (self.0)(inputs)
    }
}

/// Hugging Face before 5.23, and candle: the gated norm runs over all groups at once.
fn full_width_norm(inputs: &CoreInputs) -> Result<(Tensor, LayerState)> {
    let Some(weight) = &inputs.params.norm_weight else { return PlainCore.run(inputs) };
    let params = CoreParams { norm_weight: None, ..inputs.params.clone() };
    let (gated, state) = PlainCore.run(&CoreInputs { params: &params, ..*inputs })?;
    let root = (gated.sqr()?.mean_keepdim(D::Minus1)? + inputs.config.norm_eps)?.sqrt()?;
    Ok((gated.broadcast_div(&root)?.broadcast_mul(weight)?, state))
}

/// candle: a second prefill does not read the window that the first one left.
fn forgotten_window(inputs: &CoreInputs) -> Result<(Tensor, LayerState)> {
    let state =
        LayerState { window: inputs.state.window.zeros_like()?, ssm: inputs.state.ssm.clone() };
    PlainCore.run(&CoreInputs { state: &state, ..*inputs })
}

/// Hugging Face 5.24: padding after the tokens is read into the cache.
fn padding_in_the_cache(inputs: &CoreInputs) -> Result<(Tensor, LayerState)> {
    let mut layout = inputs.layout.clone();
    layout.lengths = None;
    PlainCore.run(&CoreInputs { layout: &layout, ..*inputs })
}

/// The reference and Hugging Face: a single step does not clamp dt.
fn unlimited_step(inputs: &CoreInputs) -> Result<(Tensor, LayerState)> {
    let single = inputs.zxbcdt.dim(1)? == 1;
    let dt_limit = if single { DtLimit::default() } else { inputs.config.dt_limit };
    let config = Config { dt_limit, ..inputs.config.clone() };
    PlainCore.run(&CoreInputs { config: &config, ..*inputs })
}

/// candle: the graph is cut before the core.
fn cut_graph(inputs: &CoreInputs) -> Result<(Tensor, LayerState)> {
    PlainCore.run(&CoreInputs { zxbcdt: &inputs.zxbcdt.detach(), ..*inputs })
}

fn model(core: Faulty, g: usize, params: &Params) -> Result<Mamba2> {
    let text = format!(
        r#"{{"d_model": 16, "n_layer": 2, "vocab_size": {V}, "d_state": 5, "headdim": 8, "ngroups": {g},
            "chunk_size": 4, "dt_limit": [0.02, 0.2]}}"#
    );
    let config: Config = serde_json::from_str(&text).expect("the configuration is valid");
    let vb = params.builder(DType::F64, &Device::Cpu);
    Mamba2::with_core(&config, Arc::new(Twin(core)), vb)
}

/// How far the faulty twin is from the right model in one use of both.
fn off(core: Faulty, g: usize, reading: fn(&Mamba2) -> Result<Tensor>) -> Result<f64> {
    let right: Faulty = |inputs| PlainCore.run(inputs);
    let [right, faulty] =
        [right, core].map(|core| model(core, g, &Params::seeded(5)).and_then(|m| reading(&m)));
    error(&faulty?, &right?)
}

fn whole(model: &Mamba2) -> Result<Tensor> {
    model.forward(&ids(&[2, L], V, 1)?)
}

fn read_on(model: &Mamba2, first: usize) -> Result<(Tensor, State)> {
    let ids = ids(&[2, L], V, 1)?;
    let (_, state) =
        model.forward_from(&ids.narrow(1, 0, first)?, &model.zero_state(2)?, Tokens::default())?;
    model.forward_from(&ids.narrow(1, first, L - first)?, &state, Tokens::default())
}

fn in_two(model: &Mamba2) -> Result<Tensor> {
    read_on(model, 7).map(|(output, _)| output)
}

fn last_by_step(model: &Mamba2) -> Result<Tensor> {
    read_on(model, L - 1).map(|(output, _)| output)
}

/// One row in two is padded; what is read is the step after.
fn step_after_padding(model: &Mamba2) -> Result<Tensor> {
    let mask: Vec<u8> = (0..2 * L).map(|at| u8::from(at != L - 1 && at != L - 2)).collect();
    let mask = Tensor::from_vec(mask, (2, L), &Device::Cpu)?;
    let (_, state) =
        model.forward_from(&ids(&[2, L], V, 1)?, &model.zero_state(2)?, Tokens::padded(&mask))?;
    model.step(&ids(&[2], V, 3)?, &state).map(|(output, _)| output)
}

#[rstest]
#[case::full_width_norm(full_width_norm, 2, whole, 1, whole)]
#[case::forgotten_window(forgotten_window, 1, in_two, 1, whole)]
#[case::padding_in_the_cache(padding_in_the_cache, 1, step_after_padding, 1, in_two)]
#[case::unlimited_step(unlimited_step, 1, last_by_step, 1, whole)]
fn a_faulty_core_shows_and_hides(
    #[case] core: Faulty,
    #[case] g: usize,
    #[case] shows: fn(&Mamba2) -> Result<Tensor>,
    #[case] g_hidden: usize,
    #[case] hides: fn(&Mamba2) -> Result<Tensor>,
) -> Result<()> {
    let measured = off(core, g, shows)?;
    assert!(measured > SHOWS, "the fault is off by {measured:e} where it has to show");
    let measured = off(core, g_hidden, hides)?;
    assert!(measured <= HIDDEN, "the fault is off by {measured:e} where it has to hide");
    Ok(())
}

/// The values are right, and most weights have no gradient.
#[test]
fn a_cut_graph_shows_in_the_gradients() -> Result<()> {
    assert!(off(cut_graph, 2, whole)? <= HIDDEN);
    let params = Params::seeded(5);
    let gradients = whole(&model(cut_graph, 2, &params)?)?.sqr()?.sum_all()?.backward()?;
    let severed: Vec<_> = params
        .vars()
        .into_iter()
        .filter(|(_, var)| gradients.get(var).is_none())
        .map(|(name, _)| name)
        .collect();
    let expected: Vec<_> = [0, 1]
        .iter()
        .flat_map(|layer| {
            ["mixer.in_proj.weight", "norm.weight"]
                .map(|name| format!("backbone.layers.{layer}.{name}"))
        })
        .collect();
    assert_eq!(severed, expected);
    Ok(())
}

/// Hugging Face before 4.57: head j reads group j mod g and not ⌊j / (h/g)⌋.
fn tiled_groups(inputs: &Inputs) -> Result<Output> {
    let repeats = inputs.x.dim(2)? / inputs.bmat.dim(2)?;
    let (bmat, cmat) =
        (inputs.bmat.repeat((1, 1, repeats, 1))?, inputs.cmat.repeat((1, 1, repeats, 1))?);
    Scan::Sequential.run(&Inputs { bmat: &bmat, cmat: &cmat, ..*inputs }, 4)
}

/// Hugging Face 4.44: no state passes from chunk to chunk.
fn chunks_apart(inputs: &Inputs) -> Result<Output> {
    let l = inputs.x.dim(1)?;
    let marks = (0..l).map(|t| u8::from(t > 0 && t % 4 == 0)).collect::<Vec<_>>();
    let reset = Tensor::from_vec(marks, (1, l), &Device::Cpu)?.repeat((inputs.x.dim(0)?, 1))?;
    Scan::Sequential.run(&Inputs { reset: Some(&reset), ..*inputs }, 4)
}

#[rstest]
#[case::tiled_groups(tiled_groups, (2, 8), (1, 8))]
#[case::chunks_apart(chunks_apart, (1, 8), (1, 4))]
fn a_faulty_scan_shows_and_hides(
    #[case] faulty: fn(&Inputs) -> Result<Output>,
    #[case] (g, l): (usize, usize),
    #[case] (g_hidden, l_hidden): (usize, usize),
) -> Result<()> {
    let off = |g: usize, l: usize| {
        let random = |shape: &[usize], seed| common::normal(shape, seed, DType::F64, &Device::Cpu);
        let (x, dt, a) = (
            random(&[2, l, 4, 3], 1)?,
            random(&[2, l, 4], 2)?.abs()?,
            random(&[4], 3)?.abs()?.neg()?,
        );
        let (b, c) = (random(&[2, l, g, 5], 4)?, random(&[2, l, g, 5], 5)?);
        let inputs = Inputs::new(&x, &dt, &a, &b, &c);
        error(&faulty(&inputs)?.y, &Scan::Chunked.run(&inputs, 4)?.y)
    };
    assert!(off(g, l)? > SHOWS);
    assert!(off(g_hidden, l_hidden)? <= HIDDEN);
    Ok(())
}

/// candle: softplus as log(1 + eˣ) is infinite from 89 in f32, and has no digit left at −20.
#[test]
fn a_naive_softplus_shows_at_both_ends() -> Result<()> {
    let x = Tensor::new(&[-20f32, 0., 100.], &Device::Cpu)?;
    let naive = (x.exp()? + 1.)?.log()?;
    assert!(!is_finite(&naive)?);
    assert_eq!(naive.to_vec1::<f32>()?[0], 0.);
    let right = shapelock::model::softplus(&x)?.to_vec1::<f32>()?;
    for (actual, x) in right.into_iter().zip([-20f64, 0., 100.]) {
        let expected = x.exp().ln_1p();
        assert!((f64::from(actual) / expected - 1.).abs() < 2e-7, "softplus({x}) = {actual}");
    }
    Ok(())
}
