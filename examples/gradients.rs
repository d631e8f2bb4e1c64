//! Holds loss and gradients against sets of reference data that `tests/golden/generate.py --development` made: for each
//! parameter, the largest max|a − b| / max|b| over sets and scans, the worst last.
//!
//! `cargo run --example gradients -- FOLDER/*`
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::path::Path;

use candle_core::{DType, Device, Tensor, safetensors};
use candle_nn::loss::cross_entropy;
use shapelock::model::mamba2::{Config, Mamba2, checkpoint};
use shapelock::scan::Scan;

fn main() -> Result<(), Box<dyn Error>> {
    let mut worst: BTreeMap<String, (f64, String)> = BTreeMap::new();
    for folder in std::env::args().skip(1) {
        let mut worst_of_set = 0f64;
        for (parameter, scan, error) in errors(Path::new(&folder))? {
            worst_of_set = worst_of_set.max(error);
            let place = worst.entry(parameter).or_default();
            if error > place.0 {
                *place = (error, format!("{folder}, {scan:?}"));
            }
        }
        println!("{worst_of_set:.1e}  {folder}");
    }
    let mut worst: Vec<_> = worst.into_iter().collect();
    worst.sort_by(|(_, (a, _)), (_, (b, _))| a.total_cmp(b));
    for (parameter, (error, place)) in worst {
        println!("{error:.1e}  {parameter} ({place})");
    }
    Ok(())
}

type Errors = Vec<(String, Scan, f64)>;

/// The error of the loss and of each gradient, by each scan, in f32.
fn errors(folder: &Path) -> Result<Errors, Box<dyn Error>> {
    let read = |file: &str| safetensors::load(folder.join(file), &Device::Cpu);
    let (truth, transformers) = (read("truth64.safetensors")?, read("hf.safetensors")?);
    let (config, weights) = checkpoint::load(folder, DType::F32, &Device::Cpu)?;
    let ids = &transformers["b3s17.input_ids"];
    let mut errors = vec![];
    for scan in Scan::ALL {
        let model = Mamba2::new(&Config { scan, ..config.clone() }, weights.builder())?;
        let (before, after) = (model.forward(ids)?.narrow(1, 0, 16)?, ids.narrow(1, 1, 16)?);
        let loss = cross_entropy(&before.flatten(0, 1)?, &after.flatten_all()?)?;
        let gradients = loss.backward()?;
        errors.push(("loss".into(), scan, error(&loss.reshape(1)?, &truth["b3s17.loss_f64"])?));
        for (parameter, expected) in of_gradients(&truth) {
            let gradient = gradients.get(&weights.vars()[parameter]);
            let gradient = gradient.ok_or_else(|| format!("{parameter} has no gradient"))?;
            errors.push((parameter.into(), scan, error(gradient, expected)?));
        }
    }
    Ok(errors)
}

fn of_gradients(truth: &HashMap<String, Tensor>) -> impl Iterator<Item = (&str, &Tensor)> {
    truth.iter().filter_map(|(key, t)| key.strip_prefix("b3s17.grad.").map(|key| (key, t)))
}

/// max|a − b| / max|b|.
fn error(a: &Tensor, b: &Tensor) -> candle_core::Result<f64> {
    let (a, b) = (a.to_dtype(DType::F64)?, b.to_dtype(DType::F64)?);
    let largest = |t: Tensor| t.abs()?.max_all()?.to_scalar::<f64>();
    Ok(largest((a - &b)?)? / largest(b)?)
}
