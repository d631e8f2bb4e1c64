//! Goes on from a prompt with the model of a checkpoint folder, printing each token as soon as it is drawn.
//!
//! `cargo run --release --example generate -- FOLDER --ids 12,92,8 [--tokens 32] [--temperature 0.8] [--top-k 40]
//! [--top-p 0.95] [--seed 1] [--bf16]`
use std::error::Error;
use std::io::Write;
use std::path::PathBuf;

use candle_core::{DType, Device};
use clap::Parser;
use shapelock::model::mamba2::{Mamba2, Sampling, checkpoint};

#[derive(Parser)]
struct Arguments {
    /// The folder with `config.json` and the weights.
    folder: PathBuf,
    /// The token ids of the prompt.
    #[arg(long, value_delimiter = ',', required = true)]
    ids: Vec<u32>,
    /// How many tokens to draw.
    #[arg(long, default_value_t = 32)]
    tokens: usize,
    /// What the logits are divided by; at 0 the likeliest token is taken.
    #[arg(long, default_value_t = 0.)]
    temperature: f64,
    /// Draw only from that many of the likeliest tokens.
    #[arg(long)]
    top_k: Option<usize>,
    /// Draw only from the likeliest tokens that together reach this probability.
    #[arg(long)]
    top_p: Option<f64>,
    /// Equal seeds draw equal tokens.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Keep the weights in bf16.
    #[arg(long)]
    bf16: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    let Arguments { folder, ids, tokens, temperature, top_k, top_p, seed, bf16 } =
        Arguments::parse();
    let dtype = if bf16 { DType::BF16 } else { DType::F32 };
    let (config, weights) = checkpoint::load(&folder, dtype, &Device::Cpu)?;
    let model = Mamba2::new(&config, weights.builder())?;

    let sampling = Sampling { temperature, top_k, top_p, seed };
    let mut out = std::io::stdout().lock();
    for token in model.generate(&ids, sampling)?.take(tokens) {
        write!(out, "{} ", token?)?;
        out.flush()?;
    }
    writeln!(out)?;
    Ok(())
}
