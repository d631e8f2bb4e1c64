//! Trains a small Mamba-2 on selective copying (Gu and Dao 2023): of 64 tokens, most are noise; the model has to give the
//! few that are data, in their order, when the marks at the end ask for them.
//!
//! `RAYON_NUM_THREADS=1 cargo run --release --example selective_copy -- [--save FILE] [--resume FILE]`
//!
//! It takes less than two minutes of one core: tensors this small gain nothing from more.
use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use candle_core::{D, DType, Device, Tensor};
use candle_nn::loss::cross_entropy;
use indicatif::{ProgressBar, ProgressStyle};
use rand::seq::index::sample;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use shapelock::model::mamba2::{Config, Mamba2, Weights};
use shapelock::model::train::{AdamW, AdamWConfig, Schedule, Training};

/// Tokens of a sequence, the marks included.
const LENGTH: usize = 64;
/// Data tokens, and marks that ask for them.
const DATA: usize = 4;
const VOCABULARY: u32 = 16;
const NOISE: u32 = 0;
const MARK: u32 = 1;
const BATCH: usize = 16;
const STEPS: u64 = 2000;
const GOAL: f64 = 0.99;
/// A run that is this good ends early.
const ENOUGH: f64 = 0.998;
const STEPS_BETWEEN_TESTS: u64 = 100;
const HELD_OUT_SEED: u64 = u64::MAX;

fn main() -> Result<(), Box<dyn Error>> {
    let files = Files::parse()?;
    let config: Config = serde_json::from_value(serde_json::json!({
        "d_model": 32, "n_layer": 2, "vocab_size": VOCABULARY, "d_state": 16, "headdim": 16, "chunk_size": 16,
    }))?;
    let weights = Weights::with_deviation(&config, DType::F32, &Device::Cpu, 1, 0.1)?;
    let model = Mamba2::new(&config, weights.builder())?;
    let optimizer = AdamW::new(weights.trained(&config)?, AdamWConfig::default())?;
    let schedule = Schedule { peak: 1e-2, floor: 1e-4, warmup: 20, total: STEPS };
    let mut training = Training { optimizer, schedule, clip: Some(1.) };
    if let Some(path) = &files.resume {
        training.resume(path)?;
    }

    let start = Instant::now();
    let bar = ProgressBar::new(STEPS).with_style(ProgressStyle::with_template(
        "{bar:30} {pos}/{len} steps, {elapsed} of {duration}, {msg}",
    )?);
    bar.set_position(training.optimizer.steps());
    while training.optimizer.steps() < STEPS {
        let seed = training.optimizer.steps();
        let step = training.step([loss(&model, seed)])?;
        bar.inc(1);
        bar.set_message(format!("loss {:.3}, norm {:.2}", step.loss, step.norm));
        if step.number % STEPS_BETWEEN_TESTS == 0 && accuracy(&model)? >= ENOUGH {
            break;
        }
    }
    bar.finish();
    if let Some(path) = &files.save {
        training.save(path)?;
    }

    let accuracy = accuracy(&model)?;
    let seconds = start.elapsed().as_secs();
    println!("{:.2} % of the held-out data tokens are right, after {seconds} s", 100. * accuracy);
    if accuracy < GOAL {
        return Err(format!("expected at least {:.0} %", 100. * GOAL).into());
    }
    Ok(())
}

/// Where a run is saved to and resumed from.
#[derive(Default)]
struct Files {
    save: Option<PathBuf>,
    resume: Option<PathBuf>,
}

impl Files {
    fn parse() -> Result<Self, Box<dyn Error>> {
        let mut files = Self::default();
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let file = arguments.next().map(PathBuf::from);
            let file = file.ok_or_else(|| format!("{argument}: expected a file"))?;
            match argument.as_str() {
                "--save" => files.save = Some(file),
                "--resume" => files.resume = Some(file),
                _ => {
                    return Err(format!("{argument}: expected --save FILE or --resume FILE").into());
                }
            }
        }
        Ok(files)
    }
}

/// Sequences (b, l) and the data tokens that the marks ask for (b, DATA).
fn batch(seed: u64) -> candle_core::Result<(Tensor, Tensor)> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (mut ids, mut wanted) = (vec![], vec![]);
    for _ in 0..BATCH {
        let mut row = [NOISE; LENGTH];
        row[LENGTH - DATA..].fill(MARK);
        let mut places = sample(&mut random, LENGTH - DATA, DATA).into_vec();
        places.sort_unstable();
        for place in places {
            row[place] = random.random_range(MARK + 1..VOCABULARY);
            wanted.push(row[place]);
        }
        ids.extend(row);
    }
    let ids = Tensor::from_vec(ids, (BATCH, LENGTH), &Device::Cpu)?;
    Ok((ids, Tensor::from_vec(wanted, (BATCH, DATA), &Device::Cpu)?))
}

/// What the model answers to the marks (b, DATA, v).
fn answers(model: &Mamba2, ids: &Tensor) -> candle_core::Result<Tensor> {
    model.forward(ids)?.narrow(1, LENGTH - DATA, DATA)
}

fn loss(model: &Mamba2, seed: u64) -> candle_core::Result<Tensor> {
    let (ids, wanted) = batch(seed)?;
    cross_entropy(&answers(model, &ids)?.flatten(0, 1)?, &wanted.flatten_all()?)
}

/// The share of data tokens that are right in sequences that no step has seen.
fn accuracy(model: &Mamba2) -> candle_core::Result<f64> {
    let mut right = 0.;
    let batches = 8;
    for index in 0..batches {
        let (ids, wanted) = batch(HELD_OUT_SEED - index)?;
        let answers = answers(model, &ids)?.argmax(D::Minus1)?; // (b, DATA)
        right += answers.eq(&wanted)?.to_dtype(DType::F64)?.mean_all()?.to_scalar::<f64>()?;
    }
    Ok(right / batches as f64)
}
