//! Turns any Mamba-2 checkpoint into one that Hugging Face loads, and writes this crate's logits for a few tokens beside
//! it, so that another implementation can be held against them.
//!
//! `cargo run --release --example convert -- FROM TO`
use std::error::Error;
use std::path::Path;

use candle_core::{DType, Device, Tensor};
use shapelock::model::mamba2::{Mamba2, checkpoint};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, to] = arguments.as_slice() else {
        return Err("expected two folders: convert FROM TO".into());
    };
    let (config, weights) = checkpoint::load(Path::new(from), DType::F32, &Device::Cpu)?;
    checkpoint::save(Path::new(to), &config, &weights)?;

    let vocabulary = config.dims()?.v as u32;
    let ids: Vec<u32> = (0..2 * 17).map(|at| at * 7919 % vocabulary).collect();
    let ids = Tensor::from_vec(ids, (2, 17), &Device::Cpu)?; // (b, l)
    let logits = Mamba2::new(&config, weights.builder())?.forward(&ids)?; // (b, l, v)
    let tensors = [("ids", ids.to_dtype(DType::I64)?), ("logits", logits)];
    candle_core::safetensors::save(&tensors.into(), Path::new(to).join("logits.safetensors"))?;
    println!("{to}: {} parameters", weights.vars().len());
    Ok(())
}
