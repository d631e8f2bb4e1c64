//! The schema that editors check cases by: it takes every case of the repository, and refuses what a schema can refuse.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use jsonschema::Validator;
use rstest::rstest;
use serde_json::Value;
use shapelock::harness::case::{CasePath, discover};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Wrong cases that fit the schema, and what knows better.
const BEYOND: &[(&str, &str)] = &[
    ("anchor_and_alias", "a file of YAML with anchors is the same data as one without"),
    ("condition_nowhere", "which points there are is known to the plan"),
    ("config_not_finite", "JSON has no infinity, so that an editor sees nothing there"),
    ("config_refused", "the subject reads its configuration"),
    ("config_unknown_key", "the subject reads its configuration"),
    ("fault_at_another_check", "two fields are compared"),
    ("filter_drops_reference", "which points there are is known to the plan"),
    ("filter_idle", "which points there are is known to the plan"),
    ("filter_leaves_nothing", "which points there are is known to the plan"),
    ("key_twice", "YAML as data has the key once"),
    ("key_twice_in_config", "YAML as data has the key once"),
    ("merge_key", "a subject may have any key"),
    ("points_too_many", "which points there are is known to the plan"),
    ("shape_symbol_unknown", "the subject has the dims"),
    ("size_unknown", "the subject has the sizes"),
    ("tag_of_yaml", "a file of YAML with tags is the same data as one without"),
    ("too_deep", "a configuration may be anything"),
];

fn printed() -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shapelock"));
    let output = command.current_dir(ROOT).arg("schema").output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

fn validator() -> Validator {
    let text = fs::read_to_string(Path::new(ROOT).join("cases/schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&text).unwrap();
    jsonschema::draft7::new(&schema).expect("a schema")
}

/// What the schema finds wrong with a file, `None` where it is no YAML at all.
fn faults(validator: &Validator, file: &Path) -> Option<Vec<String>> {
    let text = fs::read_to_string(file).ok()?;
    let value: Value = serde_yaml::from_str(&text).ok()?;
    Some(validator.iter_errors(&value).map(|error| error.to_string()).collect())
}

#[test]
fn the_schema_beside_the_cases_is_what_the_command_prints() {
    let file = Path::new(ROOT).join("cases/schema.json");
    let kept = fs::read_to_string(&file).unwrap_or_default();
    let told = "make it anew: cargo run -- schema > cases/schema.json";
    assert!(kept == printed(), "{told}");
}

/// Each refers to the schema from where it lies, so that an editor finds it.
#[rstest]
#[case("cases")]
#[case("examples/candle-transformers/cases")]
fn every_case_fits_the_schema_and_names_it(#[case] folder: &str) {
    let validator = validator();
    let found = discover(&Path::new(ROOT).join(folder)).cases;
    assert!(!found.is_empty());
    for case in found {
        let faults = faults(&validator, &case.file).expect("YAML");
        assert!(faults.is_empty(), "{}: {faults:#?}", case.path);
        let text = fs::read_to_string(&case.file).unwrap();
        let line = case.path.schema_line();
        // Those of an example use the one schema of the repository.
        let line = if folder == "cases" { line } else { line.replace("./", "../../../cases/") };
        assert!(text.starts_with(&line), "{}: its first line should be {line}", case.path);
    }
}

#[test]
fn a_case_with_every_field_fits_the_schema() {
    let faults = faults(&validator(), &Path::new(ROOT).join("tests/toy/whole.yaml"));
    assert_eq!(faults, Some(Vec::new()));
}

#[rstest]
fn a_wrong_case_is_refused_as_far_as_a_schema_can_know(
    #[files("tests/bad_cases/*.yaml")] file: PathBuf,
) {
    let name = file.file_stem().unwrap().to_string_lossy().into_owned();
    let beyond = BEYOND.iter().find(|(known, _)| *known == name);
    let fits = faults(&validator(), &file).is_some_and(|faults| faults.is_empty());
    match beyond {
        Some((_, reason)) => {
            assert!(fits, "{name} is refused: strike it; it was said that {reason}")
        }
        None => assert!(!fits, "{name} fits the schema"),
    }
}

/// A field that is wrong is refused at that field, and not because all of the file is.
#[rstest]
#[case("checks: [shape]", "\"shape\" is not one of")]
#[case("matrix: {batch: [0]}", "not")]
#[case("matrix: {batch: [1], dtype: [float32]}", "\"float32\" is not one of")]
#[case("tolerance: {scans: {f23: 1}}", "not valid under any")]
#[case("twin: mine", "\"caught_by\" is a required property")]
#[case("expect: {at: states}", "\"error\" is a required property")]
#[case("seed: -1", "-1 is less than the minimum of 0")]
fn a_fault_has_its_reason(#[case] line: &str, #[case] reason: &str) {
    let value: Value =
        serde_yaml::from_str(&format!("subject: toy\nwhy: a reason\n{line}\n")).unwrap();
    let told: Vec<String> =
        validator().iter_errors(&value).map(|error| error.to_string()).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains(reason), "{told:?}");
}

#[test]
fn the_line_leads_up_to_the_folder_of_all_cases() {
    let line = |name| CasePath::new(name).unwrap().schema_line();
    assert_eq!(line("short"), "# yaml-language-server: $schema=./schema.json\n");
    assert_eq!(line("zoo::rows::short"), "# yaml-language-server: $schema=../../schema.json\n");
}
