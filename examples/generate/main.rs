//! Goes on from a prompt with the model of a checkpoint folder, printing each token as soon as it is drawn: as text where
//! there is a tokenizer, else as its id.
//!
//! ```text
//! cargo run --release --example generate -- FOLDER --tokenizer tokenizer.json --prompt "Once upon a time"
//! cargo run --release --example generate -- FOLDER --ids 12,92,8 --temperature 0.8 --top-k 40 --top-p 0.95 --seed 1
//! ```
mod text;

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
    #[arg(long, value_delimiter = ',', required_unless_present = "prompt")]
    ids: Vec<u32>,
    /// The prompt as text.
    #[arg(long, requires = "tokenizer", conflicts_with = "ids")]
    prompt: Option<String>,
    /// The `tokenizer.json` that reads the prompt and prints text; without it, token ids are printed.
    #[arg(long, value_name = "FILE")]
    tokenizer: Option<PathBuf>,
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

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let Arguments { folder, ids, prompt, tokenizer, tokens, temperature, top_k, top_p, seed, bf16 } =
        Arguments::parse();
    let tokenizer = tokenizer.as_deref().map(text::load).transpose()?;
    let ids = match (&tokenizer, prompt) {
        (Some(tokenizer), Some(prompt)) => text::encode(tokenizer, &prompt)?,
        _ => ids,
    };
    let dtype = if bf16 { DType::BF16 } else { DType::F32 };
    let (config, weights) = checkpoint::load(&folder, dtype, &Device::Cpu)?;
    let model = Mamba2::new(&config, weights.builder())?;

    let sampling = Sampling { temperature, top_k, top_p, seed };
    let drawn = model.generate(&ids, sampling)?.take(tokens);
    let mut out = std::io::stdout().lock();
    let mut print = |text: &str| {
        out.write_all(text.as_bytes())?;
        out.flush()
    };
    match &tokenizer {
        Some(tokenizer) => text::stream(tokenizer, &ids, drawn, &mut print)?,
        None => {
            for token in drawn {
                print(&format!("{} ", token?))?;
            }
        }
    }
    print("\n")?;
    Ok(())
}
