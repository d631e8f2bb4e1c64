//! Loading published checkpoints and saving new ones.
//!
//! A checkpoint is a folder with a `config.json` and one of `model.safetensors`, `model.safetensors.index.json` with its
//! shards, or `pytorch_model.bin`. Nothing is read before every tensor's name, shape and dtype has been held against the
//! configuration, so a file of hostile sizes allocates nothing.

mod error;
mod keys;
mod source;
mod write;

pub use error::{CheckpointError, Problem};

use std::collections::BTreeMap;
use std::path::Path;

use candle_core::{DType, Device, Tensor, Var};

use super::{Config, Parameter, Weights};
use keys::Found;
use source::Source;

/// Loads the configuration and the weights of the checkpoint in the folder `dir`, for a model in `dtype`.
///
/// A_log, D and dt_bias are kept in at least f32. Keys may be Hugging Face's, those of state-spaces, or Codestral's with
/// a leading `model.`; an `lm_head.weight` beside tied embeddings must equal them.
///
/// # Errors
/// A [`CheckpointError`]: a file that is absent, corrupt or cut short; a configuration that is refused; or all tensors
/// that are missing, left over, of another shape or of no float dtype, in one list.
pub fn load(
    dir: &Path,
    dtype: DType,
    device: &Device,
) -> Result<(Config, Weights), CheckpointError> {
    let config = source::read_config(dir)?;
    let sources = source::open(dir)?;
    let expected = config.parameters()?;
    let found = keys::found(&sources)?;
    let problems = keys::compare(&config, &expected, &found);
    if !problems.is_empty() {
        return Err(CheckpointError::Mismatch { path: dir.into(), problems });
    }
    let mut vars = BTreeMap::new();
    for parameter in &expected {
        let Some(found) = found.get(&parameter.name) else {
            continue;
        };
        let tensor = read(&sources, found)?;
        let wanted =
            if parameter.in_full_precision() { super::norm::at_least_f32(dtype) } else { dtype };
        let tensor = tensor.to_dtype(wanted)?.to_device(device)?;
        vars.insert(parameter.name.clone(), Var::from_tensor(&tensor)?);
    }
    check_tied_head(dir, &config, &sources, &found)?;
    Ok((config, Weights::of(vars, dtype, device)))
}

/// Saves a checkpoint that Hugging Face loads: `model.safetensors` and `config.json` in the folder `dir`.
///
/// # Errors
/// A configuration that transformers has no words for, weights that are not the configuration's, or a file that cannot be
/// written.
pub fn save(dir: &Path, config: &Config, weights: &Weights) -> Result<(), CheckpointError> {
    let value = config.to_hugging_face()?;
    let (mut tensors, mut problems) = (vec![], vec![]);
    for Parameter { name, shape } in config.parameters()? {
        match weights.vars().get(&name) {
            None => problems.push(Problem::Missing { name, shape }),
            Some(var) if var.dims() != shape => {
                let actual = var.dims().to_vec();
                problems.push(Problem::Shape { name, expected: shape, actual });
            }
            Some(var) => tensors.push((name, var.as_tensor().clone())),
        }
    }
    if !problems.is_empty() {
        return Err(CheckpointError::Mismatch { path: dir.into(), problems });
    }
    source::write(dir, &value, tensors)
}

fn read(sources: &[Source], found: &Found) -> Result<Tensor, CheckpointError> {
    let [place, ..] = found.places.as_slice() else {
        return Err(CheckpointError::format(Path::new(""), "no place holds the tensor"));
    };
    match sources.get(place.source) {
        Some(source) => source.read(&place.key),
        None => Err(CheckpointError::format(Path::new(""), "no file holds the tensor")),
    }
}

/// A head beside tied embeddings is a copy of them, or the checkpoint contradicts its configuration.
fn check_tied_head(
    dir: &Path,
    config: &Config,
    sources: &[Source],
    found: &BTreeMap<String, Found>,
) -> Result<(), CheckpointError> {
    let (Some(head), true) = (found.get(keys::HEAD), config.tie_embeddings) else {
        return Ok(());
    };
    let Some(embeddings) = found.get(keys::EMBEDDINGS) else {
        return Ok(());
    };
    let (head, embeddings) = (read(sources, head)?, read(sources, embeddings)?);
    let differs = head.to_dtype(DType::F32)?.ne(&embeddings.to_dtype(DType::F32)?)?;
    if differs.to_dtype(DType::F32)?.sum_all()?.to_scalar::<f32>()? > 0. {
        let problems = vec![Problem::Untied];
        return Err(CheckpointError::Mismatch { path: dir.into(), problems });
    }
    Ok(())
}
