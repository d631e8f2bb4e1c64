//! Tokens are drawn as the sampling says, by the seed alone, and generation goes on as a whole forward pass would.
mod common;
#[path = "../examples/generate/text.rs"]
mod text;

use std::path::Path;

use candle_core::{D, DType, Device, Result, Tensor};
use rstest::rstest;

use common::Params;
use common::small::config;
use shapelock::model::mamba2::{Mamba2, Sampler, Sampling};
use shapelock::scan::Scan;

const LOGITS: [f32; 5] = [1., 3., 2., 3., -1.];

/// How often each of the tokens is drawn.
fn counts(sampling: Sampling) -> [usize; 5] {
    let mut sampler = Sampler::new(sampling).unwrap();
    let mut counts = [0; 5];
    for _ in 0..20_000 {
        counts[sampler.sample(&LOGITS).unwrap() as usize] += 1;
    }
    counts
}

#[rstest]
#[case::all(Sampling { temperature: 1., ..Sampling::GREEDY }, 0..5)]
#[case::hot(Sampling { temperature: 3., ..Sampling::GREEDY }, 0..5)]
#[case::three(Sampling { temperature: 1., top_k: Some(3), ..Sampling::GREEDY }, 1..4)]
#[case::nucleus(Sampling { temperature: 1., top_p: Some(0.7), ..Sampling::GREEDY }, 1..4)]
fn tokens_are_drawn_by_their_probability(
    #[case] sampling: Sampling,
    #[case] drawn: std::ops::Range<usize>,
) {
    let weight = |token: usize| (f64::from(LOGITS[token]) / sampling.temperature).exp();
    // Of the nucleus, the two likeliest reach 0.7 and are all that is left.
    let left: Vec<usize> = match sampling.top_p {
        Some(_) => vec![1, 3],
        None => drawn.collect(),
    };
    let all: f64 = left.iter().map(|token| weight(*token)).sum();
    for (token, count) in counts(sampling).into_iter().enumerate() {
        let expected = if left.contains(&token) { weight(token) / all } else { 0. };
        let actual = count as f64 / 20_000.;
        assert!((actual - expected).abs() < 0.015, "token {token}: {actual} of {expected}");
    }
}

#[test]
fn the_likeliest_token_is_taken_at_zero_temperature() {
    let mut sampler = Sampler::new(Sampling::GREEDY).unwrap();
    assert_eq!(sampler.sample(&LOGITS), Some(1), "of equals the first");
    assert_eq!(sampler.sample(&[f32::NAN, -1., f32::NEG_INFINITY]), Some(1));
    assert_eq!(sampler.sample(&[f32::NAN]), None);
    assert_eq!(sampler.sample(&[]), None);
}

#[rstest]
#[case(Sampling { temperature: -1., ..Sampling::GREEDY }, "config: temperature: expected 0 or more, actual -1")]
#[case(Sampling { top_k: Some(0), ..Sampling::GREEDY }, "config: top_k: expected at least 1, actual 0")]
#[case(Sampling { top_p: Some(1.5), ..Sampling::GREEDY }, "config: top_p: expected above 0 and at most 1, actual 1.5")]
fn settings_out_of_bounds_are_refused(#[case] sampling: Sampling, #[case] message: &str) {
    assert_eq!(Sampler::new(sampling).unwrap_err().to_string(), message);
}

/// é is two tokens: neither alone is text, and the second gives both.
#[test]
fn text_streams_in_whole_characters() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join("tokenizer");
    let tokenizer = text::load(&folder.join("tokenizer.json")).unwrap();
    let prompt = text::encode(&tokenizer, "café").unwrap();
    assert_eq!(prompt, [7, 3, 4, 5]);

    let drawn = [8u32, 3, 4, 5, 0, 6, 2].map(Ok::<_, candle_core::Error>);
    let mut pieces = vec![];
    let write = |piece: &str| {
        pieces.push(piece.to_string());
        Ok(())
    };
    text::stream(&tokenizer, &prompt, drawn.into_iter(), write).unwrap();
    assert_eq!(pieces, [" ca", "f", "é", " ", "a"]);

    let error = text::load(&folder.join("none.json")).unwrap_err().to_string();
    assert!(error.starts_with(&folder.join("none.json").display().to_string()), "{error}");
}

#[test]
fn a_seed_decides_every_token() -> Result<()> {
    let model = Mamba2::new(
        &config(2, Scan::Chunked),
        Params::seeded(5).builder(DType::F32, &Device::Cpu),
    )?;
    let tokens = |seed| {
        let sampling = Sampling { temperature: 1., seed, ..Sampling::GREEDY };
        model.generate(&[1, 2, 3], sampling)?.take(12).collect::<Result<Vec<_>>>()
    };
    assert_eq!(tokens(7)?, tokens(7)?);
    assert_ne!(tokens(7)?, tokens(8)?);
    Ok(())
}

#[test]
fn greedy_generation_is_what_whole_passes_give() -> Result<()> {
    let model = Mamba2::new(
        &config(2, Scan::Chunked),
        Params::seeded(5).builder(DType::F32, &Device::Cpu),
    )?;
    let mut ids = vec![1u32, 2, 3];
    let generated = model.generate(&ids, Sampling::GREEDY)?.take(10).collect::<Result<Vec<_>>>()?;
    for token in generated {
        let logits = model.forward(&Tensor::new(ids.as_slice(), &Device::Cpu)?.unsqueeze(0)?)?;
        let last = logits.narrow(1, ids.len() - 1, 1)?.flatten_all()?;
        assert_eq!(token, last.argmax(D::Minus1)?.to_scalar::<u32>()?);
        ids.push(token);
    }
    assert!(model.generate(&[], Sampling::GREEDY).is_err());
    assert!(model.generate(&[99], Sampling::GREEDY).is_err());
    Ok(())
}
