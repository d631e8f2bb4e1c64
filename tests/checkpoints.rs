//! Checkpoints of every published layout are read, and what does not fit is listed in one error.
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use candle_core::{DType, Device, Tensor, safetensors};
use rstest::rstest;

use shapelock::model::mamba2::checkpoint::{self, CheckpointError, Problem};
use shapelock::model::mamba2::{Config, Mamba2, Weights};

type Tensors = HashMap<String, Tensor>;

fn golden(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "golden", name].iter().collect()
}

fn tensors(name: &str) -> Tensors {
    safetensors::load(golden(name).join("model.safetensors"), &Device::Cpu).unwrap()
}

/// A folder with the configuration of the set `name` and the given tensors.
fn folder(name: &str, tensors: &Tensors) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::copy(golden(name).join("config.json"), dir.path().join("config.json")).unwrap();
    safetensors::save(tensors, dir.path().join("model.safetensors")).unwrap();
    dir
}

fn load(dir: &Path) -> std::result::Result<(Config, Weights), CheckpointError> {
    checkpoint::load(dir, DType::F32, &Device::Cpu)
}

fn logits(dir: &Path) -> Vec<f32> {
    let (config, weights) = load(dir).unwrap();
    let model = Mamba2::new(&config, weights.builder()).unwrap();
    let ids = Tensor::new(&[[1u32, 5, 9, 3, 3, 0, 7]], &Device::Cpu).unwrap();
    model.forward(&ids).unwrap().flatten_all().unwrap().to_vec1().unwrap()
}

fn problems(dir: &Path) -> Vec<Problem> {
    match load(dir) {
        Err(CheckpointError::Mismatch { problems, .. }) => problems,
        other => panic!("expected tensors that do not fit, got {:?}", other.map(|_| "a model")),
    }
}

#[test]
fn a_pickle_of_state_spaces_is_the_same_model() {
    assert_eq!(logits(&golden("state_spaces")), logits(&golden("g4")));
}

/// A folder with the configuration of the set `views` and one of its pickles.
fn views(pickle: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let copy = |from, to| std::fs::copy(golden("views").join(from), dir.path().join(to)).unwrap();
    copy("config.json", "config.json");
    copy(pickle, "pytorch_model.bin");
    dir
}

#[test]
fn a_pickle_of_views_of_one_storage_is_the_same_model() {
    let dir = views("pytorch_model.bin");
    assert_eq!(logits(dir.path()), logits(&golden("views")));
}

#[rstest]
#[case("beyond.bin", "expected within the 316 elements of its storage, actual 4 from element 315")]
#[case(
    "hostile.bin",
    "expected within the 316 elements of its storage, actual 4 from element 1099511627776"
)]
fn a_view_that_leads_out_of_its_storage_is_an_error(#[case] pickle: &str, #[case] message: &str) {
    let error = load(views(pickle).path()).unwrap_err();
    assert!(matches!(error, CheckpointError::Format { .. }), "{error}");
    assert!(error.to_string().ends_with(message), "{error}");
}

#[rstest]
#[case::codestral(|key: &str| format!("model.{key}"))]
#[case::state_spaces(|key: &str| key.replace("embeddings", "embedding"))]
fn other_keys_are_the_same_model(#[case] rename: fn(&str) -> String) {
    let renamed = tensors("g1").into_iter().map(|(key, t)| (rename(&key), t)).collect();
    assert_eq!(logits(folder("g1", &renamed).path()), logits(&golden("g1")));
}

#[test]
fn shards_are_the_same_model() {
    let dir = folder("g1", &tensors("g1"));
    let path = |name: &str| dir.path().join(name);
    std::fs::remove_file(path("model.safetensors")).unwrap();
    let mut shards = [Tensors::new(), Tensors::new()];
    let mut map = BTreeMap::new();
    for (index, (key, tensor)) in tensors("g1").into_iter().enumerate() {
        map.insert(key.clone(), format!("shard-{}.safetensors", index % 2));
        shards[index % 2].insert(key, tensor);
    }
    for (index, shard) in shards.iter().enumerate() {
        safetensors::save(shard, path(&format!("shard-{index}.safetensors"))).unwrap();
    }
    let index = serde_json::json!({"metadata": {}, "weight_map": map}).to_string();
    std::fs::write(path("model.safetensors.index.json"), &index).unwrap();
    assert_eq!(logits(dir.path()), logits(&golden("g1")));

    // An index may not reach out of its folder, nor name a shard that is not there.
    let outside = index.replace("shard-0", "../shard-0");
    std::fs::write(path("model.safetensors.index.json"), outside).unwrap();
    let error = load(dir.path()).unwrap_err().to_string();
    assert!(error.ends_with("../shard-0.safetensors: expected a file beside the index"), "{error}");
    std::fs::write(path("model.safetensors.index.json"), &index).unwrap();
    std::fs::remove_file(path("shard-1.safetensors")).unwrap();
    assert!(matches!(load(dir.path()), Err(CheckpointError::File { .. })));
}

#[rstest]
fn a_saved_checkpoint_is_the_same_model(#[values("g1", "g2", "g4")] name: &str) {
    let dir = tempfile::tempdir().unwrap();
    let (config, weights) = load(&golden(name)).unwrap();
    checkpoint::save(dir.path(), &config, &weights).unwrap();
    let (again, _) = load(dir.path()).unwrap();
    assert_eq!(again, config);
    assert_eq!(logits(dir.path()), logits(&golden(name)));
    let left = std::fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(left, 2, "only the configuration and the weights are left in the folder");
}

/// Half precision and full, side by side, keep their dtypes.
#[test]
fn a_half_precision_checkpoint_keeps_its_dtypes() {
    let (dir, again) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (config, weights) = checkpoint::load(&golden("g2"), DType::BF16, &Device::Cpu).unwrap();
    checkpoint::save(dir.path(), &config, &weights).unwrap();
    let (config, reread) = checkpoint::load(dir.path(), DType::BF16, &Device::Cpu).unwrap();
    checkpoint::save(again.path(), &config, &reread).unwrap();
    let bytes =
        |dir: &tempfile::TempDir| std::fs::read(dir.path().join("model.safetensors")).unwrap();
    assert_eq!(bytes(&dir), bytes(&again));
    let saved = safetensors::load(dir.path().join("model.safetensors"), &Device::Cpu).unwrap();
    assert_eq!(saved["backbone.layers.0.mixer.A_log"].dtype(), DType::F32);
    assert_eq!(saved["backbone.norm_f.weight"].dtype(), DType::BF16);
}

#[test]
fn all_that_does_not_fit_is_listed_at_once() {
    let mut changed = tensors("g1");
    changed.remove("backbone.norm_f.weight");
    changed.insert(
        "backbone.layers.2.mixer.D".into(),
        Tensor::zeros(4, DType::F32, &Device::Cpu).unwrap(),
    );
    let wide = Tensor::zeros((80, 1, 5), DType::F32, &Device::Cpu).unwrap();
    changed.insert("backbone.layers.1.mixer.conv1d.weight".into(), wide);
    let ids = Tensor::zeros(4, DType::I64, &Device::Cpu).unwrap();
    changed.insert("backbone.layers.0.mixer.D".into(), ids);
    let again = changed["lm_head.weight"].clone();
    changed.insert("model.lm_head.weight".into(), again);
    let lines: Vec<_> =
        problems(folder("g1", &changed).path()).iter().map(Problem::to_string).collect();
    assert_eq!(
        lines,
        [
            "dtype     backbone.layers.0.mixer.D: expected floats, actual I64",
            "shape     backbone.layers.1.mixer.conv1d.weight: expected [80, 1, 4], actual [80, 1, 5]",
            "missing   backbone.norm_f.weight: expected [32]",
            "repeated  lm_head.weight: as lm_head.weight and model.lm_head.weight",
            "extra     backbone.layers.2.mixer.D: actual [4]",
        ]
    );
}

#[test]
fn a_tied_head_must_be_the_embeddings() {
    let mut with_head = tensors("g4");
    let embeddings = with_head["backbone.embeddings.weight"].clone();
    with_head.insert("lm_head.weight".into(), embeddings.clone());
    assert_eq!(logits(folder("g4", &with_head).path()), logits(&golden("g4")));
    with_head.insert("lm_head.weight".into(), (embeddings * 2.).unwrap());
    assert_eq!(problems(folder("g4", &with_head).path()), [Problem::Untied]);
}

/// Cut anywhere, a file is an error and never a panic or a model.
#[rstest]
fn a_file_cut_short_is_an_error(
    #[values(("g1", "model.safetensors"), ("state_spaces", "pytorch_model.bin"))] (set, file): (
        &str,
        &str,
    ),
    #[values(0, 1, 7, 8, 9, 100, 1000, 20_000, 70_000)] length: usize,
) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::copy(golden(set).join("config.json"), dir.path().join("config.json")).unwrap();
    let bytes = std::fs::read(golden(set).join(file)).unwrap();
    std::fs::write(dir.path().join(file), &bytes[..length.min(bytes.len() - 1)]).unwrap();
    let error = load(dir.path()).expect_err("a file cut short is no model");
    assert!(matches!(error, CheckpointError::Format { .. }), "{error}");
    assert!(error.to_string().contains(file), "{error}");
}

#[rstest]
#[case::header_longer_than_the_file(u64::MAX.to_le_bytes().to_vec())]
#[case::header_of_gigabytes([&(1u64 << 40).to_le_bytes()[..], b"{}"].concat())]
#[case::no_json([&8u64.to_le_bytes()[..], b"not json"].concat())]
#[case::a_tensor_beyond_the_file({
    let header = br#"{"a":{"dtype":"F32","shape":[1099511627776],"data_offsets":[0,4398046511104]}}"#;
    [&(header.len() as u64).to_le_bytes()[..], header].concat()
})]
fn hostile_sizes_are_errors(#[case] bytes: Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::copy(golden("g1").join("config.json"), dir.path().join("config.json")).unwrap();
    std::fs::write(dir.path().join("model.safetensors"), bytes).unwrap();
    assert!(matches!(load(dir.path()), Err(CheckpointError::Format { .. })));
}

#[test]
fn a_folder_without_weights_says_what_was_looked_for() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(load(dir.path()), Err(CheckpointError::File { .. })));
    std::fs::copy(golden("g1").join("config.json"), dir.path().join("config.json")).unwrap();
    let error = load(dir.path()).unwrap_err().to_string();
    let expected = "expected one of model.safetensors, model.safetensors.index.json, pytorch_model.bin, found none";
    assert!(error.ends_with(expected), "{error}");
}
