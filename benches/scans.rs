//! How long each scan takes in a model, forward, and forward and backward.
//!
//! The scans take turns, so that what else the machine does meets all of them alike: compare the ratios. Run it with
//! `cargo bench --bench scans`; a first argument that is a number is how many rounds to take.
use std::time::{Duration, Instant};

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::{VarBuilder, VarMap};
use serde_json::json;
use shapelock::model::mamba2::{Config, Mamba2};
use shapelock::scan::Scan;

/// One geometry, and the scans with their chunk length.
struct Geometry {
    name: &'static str,
    config: serde_json::Value,
    b: usize,
    l: usize,
    scans: &'static [(Scan, usize)],
}

fn main() -> Result<()> {
    let rounds = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(5);
    let small = Geometry {
        name: "bug report: d=256 i=1024 n=16, 4 layers, b=8 l=60",
        config: json!({"d_model": 256, "expand": 4, "d_state": 16, "n_layer": 4}),
        b: 8,
        l: 60,
        scans: &[(Scan::Fused, 16), (Scan::Chunked, 16), (Scan::Sequential, 16)],
    };
    let large = Geometry {
        name: "130m sizes: d=768 i=1536 n=128, 2 of 24 layers, b=1 l=512",
        config: json!({"d_model": 768, "expand": 2, "d_state": 128, "n_layer": 2}),
        b: 1,
        l: 512,
        scans: &[(Scan::Fused, 64), (Scan::Chunked, 64)],
    };
    for geometry in [small, large] {
        measure(&geometry, rounds)?;
    }
    Ok(())
}

fn measure(geometry: &Geometry, rounds: usize) -> Result<()> {
    println!("{}", geometry.name);
    let vars = VarMap::new();
    let models: Vec<_> = geometry.scans.iter().map(|scan| model(geometry, &vars, *scan)).collect();
    let models = models.into_iter().collect::<Result<Vec<_>>>()?;
    let d = models[0].dims().d;
    let input = Tensor::randn(0f32, 1., (geometry.b, geometry.l, d), &Device::Cpu)?;
    for backward in [false, true] {
        let mut times = vec![vec![]; models.len()];
        for _ in 0..=rounds {
            for (times, model) in times.iter_mut().zip(&models) {
                times.push(pass(model, &input, backward)?);
            }
        }
        // The first round warms caches and threads.
        let medians: Vec<_> = times.iter_mut().map(|times| median(&mut times[1..])).collect();
        let what = if backward { "forward + backward" } else { "forward" };
        for ((scan, _), median) in geometry.scans.iter().zip(&medians) {
            let ratio = median.as_secs_f64() / medians[0].as_secs_f64();
            println!("  {what:18} {scan:?}: {:.2} ms, ×{ratio:.2}", median.as_secs_f64() * 1e3);
        }
    }
    Ok(())
}

fn model(geometry: &Geometry, vars: &VarMap, (scan, chunk_size): (Scan, usize)) -> Result<Mamba2> {
    let mut config = geometry.config.clone();
    config["head"] = json!({"outputs": 1});
    let config: Config = serde_json::from_value(config).map_err(candle_core::Error::wrap)?;
    let vb = VarBuilder::from_varmap(vars, DType::F32, &Device::Cpu);
    Mamba2::new(&Config { scan, chunk_size, ..config }, vb)
}

fn pass(model: &Mamba2, input: &Tensor, backward: bool) -> Result<Duration> {
    let start = Instant::now();
    let output = model.forward(input)?;
    if backward {
        output.sqr()?.mean_all()?.backward()?;
    }
    Ok(start.elapsed())
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
