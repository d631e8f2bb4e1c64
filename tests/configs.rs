//! Both forms of `config.json` are read, what no model here can be is refused by its field, and sizes are derived once.
use rstest::rstest;
use serde_json::{Value, json};

use shapelock::model::mamba2::{Config, DtLimit};

fn with(mut base: Value, field: &str, value: Value) -> String {
    match field.split_once('.') {
        Some((outer, inner)) => base[outer][inner] = value,
        None => base[field] = value,
    }
    base.to_string()
}

fn hugging_face() -> Value {
    json!({"model_type": "mamba2", "hidden_size": 32, "num_hidden_layers": 2, "num_heads": 4, "head_dim": 16,
           "state_size": 8, "n_groups": 2, "vocab_size": 64})
}

fn state_spaces() -> Value {
    json!({"d_model": 32, "n_layer": 2, "vocab_size": 61, "ssm_cfg": {"layer": "Mamba2", "headdim": 16}})
}

#[rstest]
#[case::of_transformers_5(r#"[0.0, {"__float__": "Infinity"}]"#, 0., f64::INFINITY)]
#[case::of_transformers_4("[0.0, Infinity]", 0., f64::INFINITY)]
#[case::quoted(r#"[0.0, "Infinity"]"#, 0., f64::INFINITY)]
#[case::null("null", 0., f64::INFINITY)]
#[case::null_bound("[0.001, null]", 0.001, f64::INFINITY)]
#[case::numbers("[0.02, 0.2]", 0.02, 0.2)]
fn limits_of_dt_are_read_in_every_form(#[case] text: &str, #[case] min: f64, #[case] max: f64) {
    let without = hugging_face().to_string();
    let text = format!("{{\"time_step_limit\": {text}, {}", &without[1..]);
    assert_eq!(Config::from_json(&text).unwrap().dt_limit, DtLimit { min, max });
}

#[test]
fn an_infinity_inside_a_string_is_left_alone() {
    let text = with(hugging_face(), "_name_or_path", json!("to \"Infinity\" and \\"));
    assert_eq!(Config::from_json(&text).unwrap().dt_limit, DtLimit::default());
}

#[rstest]
#[case("model_type", json!("mamba"), "expected mamba2, actual mamba")]
#[case("hidden_act", json!("gelu"), "expected silu, actual gelu")]
#[case("num_heads", json!(5), "expected num_heads·head_dim = expand·hidden_size, actual 5·16 and 2·32")]
#[case("head_dim", json!(u64::MAX), "expected num_heads·head_dim = expand·hidden_size")]
#[case("n_groups", json!(3), "h=4 heads are not a multiple of it: actual 3")]
#[case("n_groups", json!(0), "expected 1 to 1048576, actual 0")]
#[case("num_hidden_layers", json!(u32::MAX), "expected 1 to 1048576, actual 4294967295")]
#[case("vocab_size", json!(-1), "invalid value: integer `-1`")]
#[case("layer_norm_epsilon", json!(0.), "expected a positive number, actual 0")]
#[case("time_step_limit", json!([0.2, 0.1]), "expected 0 <= min <= max with max > 0, actual [0.2, 0.1]")]
#[case("time_step_limit", json!([0.1]), "expected [min, max], actual [0.1]")]
fn a_hugging_face_config_is_refused_by_its_field(
    #[case] field: &str,
    #[case] value: Value,
    #[case] message: &str,
) {
    let error = Config::from_json(&with(hugging_face(), field, value)).unwrap_err();
    assert!(error.to_string().contains(message), "{error}");
}

#[rstest]
#[case("ssm_cfg.layer", json!("Mamba1"), "ssm_cfg.layer: expected Mamba2, actual Mamba1")]
#[case("ssm_cfg.norm_before_gate", json!(true), "ssm_cfg.norm_before_gate: ")]
#[case("ssm_cfg.dt_rank", json!(4), "unknown field `dt_rank`")]
#[case("ssm_cfg.d_ssm", json!(65), "d_ssm: expected 1 to i=64, actual 65")]
#[case("ssm_cfg.d_ssm", json!(24), "headdim: d_ssm=24 is not a multiple of it: actual 16")]
#[case("attn_layer_idx", json!([1]), "attn_layer_idx: attention layers are not supported")]
#[case("d_intermediate", json!(64), "d_intermediate: an MLP between the layers is not supported")]
#[case("rms_norm", json!(false), "rms_norm: a LayerNorm before the layers is not supported")]
fn a_state_spaces_config_is_refused_by_its_field(
    #[case] field: &str,
    #[case] value: Value,
    #[case] message: &str,
) {
    let error = Config::from_json(&with(state_spaces(), field, value)).unwrap_err();
    assert!(error.to_string().contains(message), "{error}");
}

#[test]
fn sizes_are_derived_once() {
    let text = with(state_spaces(), "ssm_cfg.d_ssm", json!(48));
    let dims = Config::from_json(&text).unwrap().dims().unwrap();
    assert_eq!((dims.i, dims.s, dims.h, dims.mlp()), (64, 48, 3, 16));
    assert_eq!(dims.conv(), 48 + 2 * 128);
    assert_eq!(dims.in_proj(), 2 * 64 + 2 * 128 + 3);
    assert_eq!(dims.v, 64, "61 tokens are padded to a multiple of the reference's 8");
}

/// What transformers has no option for is not written.
#[rstest]
#[case("d_ssm", json!(48))]
#[case("d_has_hdim", json!(true))]
#[case("rmsnorm", json!(false))]
#[case("head", json!({"outputs": 2}))]
fn transformers_config_is_not_written_for_other_models(#[case] field: &str, #[case] value: Value) {
    let base = json!({"d_model": 32, "n_layer": 2, "vocab_size": 61, "headdim": 16});
    let config: Config = serde_json::from_str(&with(base, field, value)).unwrap();
    assert_eq!(config.to_hugging_face().unwrap_err().field, field);
}

#[rstest]
#[case(DtLimit::default())]
#[case(DtLimit { min: 0.01, max: f64::INFINITY })]
#[case(DtLimit { min: 0., max: 0.5 })]
fn what_is_written_is_read_back(#[case] dt_limit: DtLimit) {
    let config = Config::from_json(&hugging_face().to_string()).unwrap();
    let config = Config { dt_limit, ..config };
    let own: Config = serde_json::from_str(&serde_json::to_string(&config).unwrap()).unwrap();
    assert_eq!(own, config);
    let again = Config::from_json(&config.to_hugging_face().unwrap().to_string()).unwrap();
    let same = again.dt_limit.min == dt_limit.min
        && again.dt_limit.max.min(f64::MAX) == dt_limit.max.min(f64::MAX);
    assert!(same, "{:?}", again.dt_limit);
}
