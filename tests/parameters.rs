//! The parameters that a configuration lists are those its model asks for, at every published size and option.
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use candle_core::{DType, Device, Result, Shape, Tensor};
use candle_nn::Init;
use candle_nn::var_builder::{SimpleBackend, VarBuilder};
use rstest::rstest;
use serde_json::Value;

use shapelock::model::mamba2::{Config, Head, Mamba2};

/// Records what a model asks for and makes nothing of its size.
#[derive(Clone, Default)]
struct Requests(Arc<Mutex<BTreeMap<String, Vec<usize>>>>);

impl SimpleBackend for Requests {
    fn get(
        &self,
        shape: Shape,
        name: &str,
        _: Init,
        dtype: DType,
        device: &Device,
    ) -> Result<Tensor> {
        self.0.lock().unwrap().insert(name.into(), shape.dims().to_vec());
        Tensor::zeros((), dtype, device)?.broadcast_as(shape)
    }

    fn get_unchecked(&self, name: &str, _: DType, _: &Device) -> Result<Tensor> {
        candle_core::bail!("{name} is asked for without a shape")
    }

    fn contains_tensor(&self, _: &str) -> bool {
        true
    }
}

fn requests(config: &Config) -> BTreeMap<String, Vec<usize>> {
    let requests = Requests::default();
    let vb = VarBuilder::from_backend(Box::new(requests.clone()), DType::F32, Device::Cpu);
    Mamba2::new(config, vb).unwrap();
    requests.0.lock().unwrap().clone()
}

fn listed(config: &Config) -> BTreeMap<String, Vec<usize>> {
    let parameters = config.parameters().unwrap();
    parameters.into_iter().map(|parameter| (parameter.name, parameter.shape)).collect()
}

#[rstest]
#[case::plain(r#"{"d_model": 32, "n_layer": 2, "vocab_size": 20}"#)]
#[case::untied(r#"{"d_model": 32, "n_layer": 2, "vocab_size": 20, "tie_embeddings": false}"#)]
#[case::biases(
    r#"{"d_model": 32, "n_layer": 2, "vocab_size": 20, "bias": true, "conv_bias": false}"#
)]
#[case::no_norm(r#"{"d_model": 32, "n_layer": 2, "vocab_size": 20, "rmsnorm": false}"#)]
#[case::d_per_dim(r#"{"d_model": 32, "n_layer": 2, "vocab_size": 20, "d_has_hdim": true}"#)]
#[case::inner_mlp(r#"{"d_model": 64, "n_layer": 2, "vocab_size": 20, "d_ssm": 64}"#)]
#[case::series(r#"{"d_model": 32, "n_layer": 2, "head": {"outputs": 3}}"#)]
fn the_listed_parameters_are_those_a_model_asks_for(#[case] text: &str) {
    let config: Config = serde_json::from_str(text).unwrap();
    assert_eq!(requests(&config), listed(&config));
    if config.head == Head::Lm {
        assert_eq!(listed(&config)["backbone.embeddings.weight"], [32, config.d_model]);
    }
}

fn table_of_transformers() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "golden", "published.json"].iter().collect()
}

/// Every parameter of the published sizes has the shape that transformers gives it.
#[rstest]
fn published_sizes_are_transformers(#[values("130m", "370m", "780m", "1.3b", "2.7b")] size: &str) {
    let table = std::fs::read_to_string(table_of_transformers()).unwrap();
    let table: BTreeMap<String, Value> = serde_json::from_str(&table).unwrap();
    let entry = &table[size];
    let config = Config::from_json(&entry["config"].to_string()).unwrap();
    let shapes: BTreeMap<String, Vec<usize>> =
        serde_json::from_value(entry["shapes"].clone()).unwrap();
    let mut expected = BTreeMap::new();
    for (name, shape) in shapes {
        for layer in 0..config.n_layer {
            expected.insert(name.replace("layers.*", &format!("layers.{layer}")), shape.clone());
        }
    }
    assert_eq!(listed(&config), expected);
    assert_eq!(requests(&config), expected);
}
