//! Writing a safetensors file as PyTorch's loaders want it.
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use candle_core::{DType, Tensor};
use serde_json::{Map, Value, json};

use super::CheckpointError;

/// Writes the tensors to `path`, which is never left half written.
///
/// candle's own writer leaves out the format's `__metadata__`, without which some versions of transformers refuse the
/// file.
///
/// # Errors
/// A file that cannot be written, or a dtype that the format has no name for.
pub(super) fn safetensors(
    path: &Path,
    mut tensors: Vec<(String, Tensor)>,
) -> Result<(), CheckpointError> {
    // The wider dtypes first, so that every tensor starts at a multiple of its own size.
    let width = |tensor: &Tensor| tensor.dtype().size_in_bytes();
    tensors.sort_by(|(a, x), (b, y)| width(y).cmp(&width(x)).then_with(|| a.cmp(b)));
    let header = header(path, &tensors)?;

    let unfinished = path.with_extension("unfinished");
    let of_file = || CheckpointError::file(&unfinished);
    let mut file = BufWriter::new(File::create(&unfinished).map_err(of_file())?);
    file.write_all(&(header.len() as u64).to_le_bytes()).map_err(of_file())?;
    file.write_all(header.as_bytes()).map_err(of_file())?;
    for (_, tensor) in &tensors {
        tensor.write_bytes(&mut file)?;
    }
    file.flush().map_err(of_file())?;
    std::fs::rename(&unfinished, path).map_err(CheckpointError::file(path))
}

/// The header: where each tensor's bytes lie, padded to a multiple of eight bytes.
fn header(path: &Path, tensors: &[(String, Tensor)]) -> Result<String, CheckpointError> {
    let mut entries = Map::new();
    entries.insert("__metadata__".into(), json!({"format": "pt"}));
    let mut start = 0;
    for (name, tensor) in tensors {
        let end = start + tensor.elem_count() * tensor.dtype().size_in_bytes();
        let entry: Value = json!({
            "dtype": dtype_name(path, name, tensor.dtype())?,
            "shape": tensor.dims(),
            "data_offsets": [start, end],
        });
        entries.insert(name.clone(), entry);
        start = end;
    }
    let mut text = Value::Object(entries).to_string();
    text.push_str(&" ".repeat(text.len().next_multiple_of(8) - text.len()));
    Ok(text)
}

fn dtype_name(path: &Path, name: &str, dtype: DType) -> Result<&'static str, CheckpointError> {
    match dtype {
        DType::F64 => Ok("F64"),
        DType::F32 => Ok("F32"),
        DType::F16 => Ok("F16"),
        DType::BF16 => Ok("BF16"),
        other => {
            Err(CheckpointError::format(path, format!("{name}: expected floats, actual {other:?}")))
        }
    }
}
