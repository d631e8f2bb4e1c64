//! The keys of a checkpoint, held against the parameters of its configuration.
use std::collections::BTreeMap;

use candle_core::DType;

use super::source::Source;
use super::{CheckpointError, Problem};
use crate::model::mamba2::{Config, Parameter};

/// What the files hold under one of Hugging Face's names.
pub(super) struct Found {
    pub(super) shape: Vec<usize>,
    /// None where candle has no such dtype.
    pub(super) dtype: Option<DType>,
    pub(super) places: Vec<Place>,
}

/// Where a tensor lies.
pub(super) struct Place {
    /// Index of the file.
    pub(super) source: usize,
    /// Its key there.
    pub(super) key: String,
}

/// Every tensor of the files under Hugging Face's names.
pub(super) fn found(sources: &[Source]) -> Result<BTreeMap<String, Found>, CheckpointError> {
    let mut all: BTreeMap<String, Found> = BTreeMap::new();
    for (index, source) in sources.iter().enumerate() {
        for (key, shape, dtype) in source.tensors() {
            let place = Place { source: index, key: key.clone() };
            let found =
                all.entry(canonical(&key)).or_insert(Found { shape, dtype, places: vec![] });
            found.places.push(place);
        }
    }
    Ok(all)
}

/// All that is missing, left over, repeated, of another shape or of no float dtype.
pub(super) fn compare(
    config: &Config,
    expected: &[Parameter],
    found: &BTreeMap<String, Found>,
) -> Vec<Problem> {
    let mut problems = vec![];
    for Parameter { name, shape } in expected {
        match found.get(name) {
            None => problems.push(Problem::Missing { name: name.clone(), shape: shape.clone() }),
            Some(found) => problems.extend(differences(name, shape, found)),
        }
    }
    let names: std::collections::BTreeSet<_> =
        expected.iter().map(|parameter| &parameter.name).collect();
    let embeddings = expected.iter().find(|parameter| parameter.name == EMBEDDINGS);
    for (name, found) in found.iter().filter(|(name, _)| !names.contains(name)) {
        match embeddings {
            Some(embeddings) if name == HEAD && config.tie_embeddings => {
                problems.extend(differences(name, &embeddings.shape, found));
            }
            _ => problems.push(Problem::Extra { name: name.clone(), shape: found.shape.clone() }),
        }
    }
    problems
}

fn differences(name: &str, shape: &[usize], found: &Found) -> Vec<Problem> {
    let mut problems = vec![];
    if found.shape != shape {
        problems.push(Problem::Shape {
            name: name.into(),
            expected: shape.into(),
            actual: found.shape.clone(),
        });
    }
    match found.dtype {
        Some(DType::F32 | DType::F64 | DType::F16 | DType::BF16) => {}
        Some(dtype) => {
            problems.push(Problem::DType { name: name.into(), actual: format!("{dtype:?}") })
        }
        None => problems.push(Problem::DType { name: name.into(), actual: "unknown".into() }),
    }
    if found.places.len() > 1 {
        let keys = found.places.iter().map(|place| place.key.clone()).collect();
        problems.push(Problem::Repeated { name: name.into(), keys });
    }
    problems
}

/// Hugging Face's name of a key: without Codestral's prefix, and with its plural of the embedding.
fn canonical(key: &str) -> String {
    match key.strip_prefix("model.").unwrap_or(key) {
        "backbone.embedding.weight" => EMBEDDINGS.into(),
        name => name.into(),
    }
}

pub(super) const EMBEDDINGS: &str = "backbone.embeddings.weight";
pub(super) const HEAD: &str = "lm_head.weight";
