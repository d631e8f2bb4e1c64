//! The files of a checkpoint.
use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Component, Path, PathBuf};

use candle_core::pickle::{PthTensors, TensorInfo};
use candle_core::safetensors::BufferedSafetensors;
use candle_core::{DType, Device, Tensor};
use serde::Deserialize;
use serde_json::Value;

use super::CheckpointError;
use crate::model::mamba2::Config;

/// One file with tensors.
pub(super) struct Source {
    path: PathBuf,
    file: File,
}

enum File {
    Safetensors(BufferedSafetensors),
    Pickle(PthTensors),
}

pub(super) fn read_config(dir: &Path) -> Result<Config, CheckpointError> {
    let path = dir.join(CONFIG);
    let text = std::fs::read_to_string(&path).map_err(CheckpointError::file(&path))?;
    Ok(Config::from_json(&text)?)
}

/// Opens the weights in `dir`: one file, the shards of an index, or a pickle.
pub(super) fn open(dir: &Path) -> Result<Vec<Source>, CheckpointError> {
    let [single, index, pickle] = [SINGLE, INDEX, PICKLE].map(|name| dir.join(name));
    if single.is_file() {
        return Ok(vec![Source::safetensors(single)?]);
    }
    if index.is_file() {
        let shards = shards(&index)?;
        return shards.into_iter().map(|shard| Source::safetensors(dir.join(shard))).collect();
    }
    if pickle.is_file() {
        return Ok(vec![Source::pickle(pickle)?]);
    }
    let expected = [SINGLE, INDEX, PICKLE].join(", ");
    Err(CheckpointError::Absent { path: dir.into(), expected })
}

pub(super) fn write(
    dir: &Path,
    config: &Value,
    tensors: Vec<(String, Tensor)>,
) -> Result<(), CheckpointError> {
    std::fs::create_dir_all(dir).map_err(CheckpointError::file(dir))?;
    super::write::safetensors(&dir.join(SINGLE), tensors)?;
    let path = dir.join(CONFIG);
    std::fs::write(&path, format!("{config:#}\n")).map_err(CheckpointError::file(&path))
}

impl Source {
    fn safetensors(path: PathBuf) -> Result<Self, CheckpointError> {
        let bytes = std::fs::read(&path).map_err(CheckpointError::file(&path))?;
        match BufferedSafetensors::new(bytes) {
            Ok(file) => Ok(Self { path, file: File::Safetensors(file) }),
            Err(error) => Err(CheckpointError::format(&path, error)),
        }
    }

    /// candle's reader of pickles indexes into what the file says, so a corrupt one panics: that is an error here.
    fn pickle(path: PathBuf) -> Result<Self, CheckpointError> {
        match catch_unwind(AssertUnwindSafe(|| PthTensors::new(&path, None))) {
            Ok(Ok(file)) => Ok(Self { path, file: File::Pickle(file) }),
            Ok(Err(error)) => Err(CheckpointError::format(&path, error)),
            Err(_) => Err(CheckpointError::format(&path, "the pickle is corrupt")),
        }
    }

    /// Key, shape and dtype of each tensor, in the order of the keys.
    pub(super) fn tensors(&self) -> Vec<(String, Vec<usize>, Option<DType>)> {
        let mut all: Vec<_> = match &self.file {
            File::Safetensors(file) => file
                .tensors()
                .into_iter()
                .map(|(key, view)| (key, view.shape().to_vec(), view.dtype().try_into().ok()))
                .collect(),
            File::Pickle(file) => file
                .tensor_infos()
                .values()
                .map(|info| (info.name.clone(), info.layout.dims().to_vec(), Some(info.dtype)))
                .collect(),
        };
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }

    /// Reads one tensor, whose shape has been checked.
    pub(super) fn read(&self, key: &str) -> Result<Tensor, CheckpointError> {
        let tensor = match &self.file {
            File::Safetensors(file) => file.load(key, &Device::Cpu).map(Some),
            File::Pickle(file) => {
                let checked = file.tensor_infos().get(key).map_or(Ok(()), check_extent);
                checked.map_err(|message| CheckpointError::format(&self.path, message))?;
                file.get(key)
            }
        };
        match tensor {
            Ok(Some(tensor)) => Ok(tensor),
            Ok(None) => Err(CheckpointError::format(&self.path, format!("{key}: not found"))),
            Err(error) => Err(CheckpointError::format(&self.path, format!("{key}: {error}"))),
        }
    }
}

/// A tensor of a pickle is a view of a storage, from any element on, that must not lead out of it.
fn check_extent(info: &TensorInfo) -> Result<(), String> {
    // candle keeps a layout of bytes' offset and elements' extents.
    let start = info.layout.start_offset() / info.dtype.size_in_bytes();
    let elements = info.layout.shape().elem_count();
    match start.checked_add(elements) {
        Some(end) if end <= info.storage_size => Ok(()),
        _ => Err(format!(
            "{}: expected within the {} elements of its storage, actual {elements} from element {start}",
            info.name, info.storage_size
        )),
    }
}

/// The shards that an index names, each once; only files beside the index are opened.
fn shards(index: &Path) -> Result<BTreeSet<String>, CheckpointError> {
    #[derive(Deserialize)]
    struct Index {
        weight_map: HashMap<String, String>,
    }
    let text = std::fs::read_to_string(index).map_err(CheckpointError::file(index))?;
    let index_of_file: Index =
        serde_json::from_str(&text).map_err(|error| CheckpointError::format(index, error))?;
    let shards: BTreeSet<_> = index_of_file.weight_map.into_values().collect();
    let beside = |shard: &&String| {
        let mut components = Path::new(shard.as_str()).components();
        matches!((components.next(), components.next()), (Some(Component::Normal(_)), None))
    };
    match shards.iter().find(|shard| !beside(shard)) {
        Some(shard) => Err(CheckpointError::format(
            index,
            format!("{shard}: expected a file beside the index"),
        )),
        None => Ok(shards),
    }
}

const CONFIG: &str = "config.json";
const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";
const PICKLE: &str = "pytorch_model.bin";
