//! Saving a run and taking it up again.
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use candle_core::{Device, Tensor, safetensors};

use super::{AdamW, TrainError};

/// Writes every weight, both its moments and the number of steps.
pub(super) fn save(path: &Path, optimizer: &AdamW) -> Result<(), TrainError> {
    let mut tensors = HashMap::new();
    for (name, slot) in optimizer.slots() {
        let of_slot = [slot.var.as_tensor(), &slot.first, &slot.second];
        for (part, tensor) in PARTS.into_iter().zip(of_slot) {
            tensors.insert(key(part, name), tensor.to_device(&Device::Cpu)?.contiguous()?);
        }
    }
    let steps = Tensor::new(&[optimizer.steps() as i64], &Device::Cpu)?;
    tensors.insert(STEPS.into(), steps);
    // candle's writer writes beside the file and renames, so that a run which is killed leaves the last save whole.
    safetensors::save(&tensors, path).map_err(|error| saved(path, error))
}

pub(super) fn load(path: &Path, optimizer: &mut AdamW) -> Result<(), TrainError> {
    let bytes = std::fs::read(path).map_err(|error| saved(path, error))?;
    let mut tensors =
        safetensors::load_buffer(&bytes, &Device::Cpu).map_err(|error| saved(path, error))?;
    let steps = match tensors.remove(STEPS).map(|steps| steps.to_vec1::<i64>()) {
        Some(Ok(steps)) if steps.len() == 1 && steps[0] >= 0 => steps[0] as u64,
        _ => return Err(saved(path, "expected a number of steps, found none")),
    };
    let mut restored = BTreeMap::new();
    for (name, slot) in optimizer.slots() {
        let mut take = |part: &str, like: &Tensor| {
            let key = key(part, name);
            match tensors.remove(&key) {
                Some(tensor) if tensor.dims() == like.dims() && tensor.dtype() == like.dtype() => {
                    Ok(tensor.to_device(like.device())?)
                }
                Some(tensor) => Err(saved(path, differs(&key, like, &tensor))),
                None => Err(saved(path, format!("{key}: expected {:?}, found none", like.dims()))),
            }
        };
        let [weight, first, second] = PARTS;
        let parts = [
            take(weight, slot.var.as_tensor())?,
            take(first, &slot.first)?,
            take(second, &slot.second)?,
        ];
        restored.insert(name.clone(), parts);
    }
    if let Some(key) = tensors.keys().min() {
        return Err(saved(path, format!("{key}: is of another model")));
    }
    Ok(optimizer.restore(steps, restored)?)
}

fn differs(key: &str, expected: &Tensor, actual: &Tensor) -> String {
    format!(
        "{key}: expected {:?} of {:?}, actual {:?} of {:?}",
        expected.dims(),
        expected.dtype(),
        actual.dims(),
        actual.dtype()
    )
}

fn saved(path: &Path, message: impl std::fmt::Display) -> TrainError {
    // candle's errors print a backtrace behind their first line where backtraces are on.
    let message = message.to_string().lines().next().unwrap_or_default().to_string();
    TrainError::Saved { path: path.into(), message }
}

fn key(part: &str, name: &str) -> String {
    format!("{part}.{name}")
}

const PARTS: [&str; 3] = ["weight", "first", "second"];
const STEPS: &str = "steps";
