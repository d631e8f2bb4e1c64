//! What a right case says once it is read.
use std::path::Path;

use rstest::rstest;
use serde_json::json;
use shapelock::harness::case::{
    Case, CasePath, DType, DeviceKind, Filter, Lock, Pattern, discover,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Every field once.
const WHOLE: &str = include_str!("toy/whole.yaml");

fn read(yaml: &str) -> Result<Case, Box<dyn std::error::Error>> {
    Ok(Case::parse(Path::new("cases/toy/a.yaml"), CasePath::new("toy::a")?, yaml.as_bytes())?)
}

#[test]
fn every_field_is_read() -> Outcome {
    let case = read(WHOLE)?;
    assert_eq!(case.path.to_string(), "toy::a");
    assert_eq!((case.subject.as_str(), case.why.as_str()), ("toy", "a reason on two lines"));
    assert_eq!(case.seed, 176);
    assert_eq!(json!(case.config_of(&case.variants[1])), json!({"d": 16, "n": 2}));
    assert_eq!(case.matrix.dtypes, [DType::F32, DType::F64]);
    assert_eq!(case.matrix.devices, [DeviceKind::Cpu, DeviceKind::Cuda]);
    assert!(matches!(case.except[1].value, Filter::When(_)));
    let shapes = case.shapes.iter().map(|one| format!("{} {}", one.pattern, one.axes));
    assert_eq!(
        shapes.collect::<Vec<_>>(),
        ["input (b, l, d)", "scan.h (b, n)", "layers.*.mixer.x (b, l, n·d)", "loss ()", "one (1)"]
    );
    assert_eq!(case.zero_gradient[0].when.to_string(), "l == 1");
    assert_eq!(case.checks.as_ref().map(Vec::len), Some(2));
    assert_eq!(case.tolerance("scans", DType::F64), Some(1e-5));
    assert_eq!(case.tolerance("batch", DType::F32), Some(0.0));
    assert_eq!(case.tolerance("batch", DType::F16), None);
    let repeated = case.broadcast.iter().map(ToString::to_string);
    assert_eq!(repeated.collect::<Vec<_>>(), ["states", "layers.*.y"]);
    assert!(case.keeps_f32.iter().any(|kept| kept.matches("layers.0.scan")));
    assert_eq!(case.tags, ["quick", "report-1"]);
    assert_eq!(case.lock, Lock::Named);
    assert_eq!(case.expect.map(|expect| expect.error), Some("mismatch in (8, 60)".to_owned()));
    let fault = case.fault.ok_or("a fault")?;
    assert_eq!((fault.at("shapes"), fault.at("batch")), (Some("states"), Some("states")));
    assert_eq!(fault.twin.map(|twin| twin.value), Some("toy_right".to_owned()));
    assert_eq!(case.reference.map(|other| other.value), Some("toy_plain".to_owned()));
    assert_eq!(fault.alive_in, Some("candle 0.11.1".to_owned()));
    assert_eq!(fault.cause, Some("joined on axis 0".to_owned()));
    assert_eq!((case.budget, case.max_points), (512 << 20, 100));
    Ok(())
}

#[test]
fn each_check_may_find_a_fault_at_a_step_of_its_own() -> Outcome {
    let yaml = "subject: toy\nwhy: a reason\ncaught_by: [gradcheck, batch]\nat: {batch: conv}\n";
    let fault = read(yaml)?.fault.ok_or("a fault")?;
    assert_eq!((fault.at("gradcheck"), fault.at("batch")), (None, Some("conv")));
    Ok(())
}

/// Another version may have mended the fault, or have it still: the case is to say what was seen.
#[test]
fn a_fault_of_a_library_is_one_of_the_version_in_use() -> Outcome {
    let lock = include_str!("../Cargo.lock");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/zoo");
    let cases = discover(&root).cases.into_iter().map(|found| Case::load(&found.file, found.path));
    let mut bound = 0;
    for case in cases {
        let case = case?;
        let Some(alive_in) = case.fault.and_then(|fault| fault.alive_in) else { continue };
        let (library, version) = alive_in.split_once(' ').ok_or("a library and its version")?;
        let locked = format!("name = \"{library}-core\"\nversion = \"{version}\"");
        assert!(lock.contains(&locked), "{}: Cargo.lock has another {library}", case.path);
        bound += 1;
    }
    assert!(bound >= 8, "{bound} cases are bound to a version");
    Ok(())
}

#[test]
fn a_path_leads_to_its_line() -> Outcome {
    let case = read(WHOLE)?;
    let at = |path: &[&str]| {
        let at = case.locate(path);
        (at.line, at.column)
    };
    assert_eq!(at(&["config", "n"]), (6, 16));
    assert_eq!(at(&["matrix", "batch", "1"]), (12, 14));
    assert_eq!(at(&["shapes", "scan.h"]), (24, 3));
    assert_eq!(at(&["variants", "wide", "missing"]), (10, 3));
    assert_eq!(at(&["missing"]), (2, 1));
    Ok(())
}

#[test]
fn what_is_not_written_has_a_default() -> Outcome {
    let case = read("subject: toy\nwhy: a reason\n")?;
    assert!(case.config.is_empty() && case.shapes.is_empty() && case.checks.is_none());
    assert_eq!(case.seed, 0);
    assert_eq!(case.variants.len(), 1);
    assert_eq!((case.variants[0].name.as_str(), case.variants[0].at), ("plain", None));
    assert_eq!(case.matrix.dtypes, [DType::F32]);
    assert_eq!(case.matrix.devices, [DeviceKind::Cpu]);
    assert_eq!((case.budget, case.max_points), (4 << 30, 10_000));
    assert_eq!(case.lock, Lock::All);
    assert!(case.expect.is_none() && case.fault.is_none());
    Ok(())
}

#[test]
fn the_examples_of_the_format_are_right() -> Outcome {
    let page = include_str!("../cases/README.md");
    let blocks = page.split("```yaml\n").skip(1).filter_map(|block| block.split("```").next());
    let cases: Vec<_> = blocks.filter(|block| block.starts_with("subject:")).collect();
    assert_eq!(cases.len(), 3);
    for case in cases {
        read(case)?;
    }
    let table = page.split("### Checks").next().unwrap_or_default();
    let fields = table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    for (field, _) in fields {
        assert!(WHOLE.contains(&format!("\n{field}:")), "`{field}` is in no test");
    }
    Ok(())
}

#[rstest]
#[case("1", json!(1))]
#[case("-1", json!(-1))]
#[case("0x10", json!(16))]
#[case("1e-5", json!(1e-5))]
#[case("18446744073709551615", json!(u64::MAX))]
#[case("true", json!(true))]
#[case("no", json!("no"))]
#[case("~", json!(null))]
#[case("", json!(null))]
#[case("'1'", json!("1"))]
#[case("1 2", json!("1 2"))]
#[case("a: b", json!({"a": "b"}))]
#[case("[a, [1, {b: null}]]", json!(["a", [1, {"b": null}]]))]
#[case("{__float__: Infinity}", json!({"__float__": "Infinity"}))]
fn a_config_is_json(#[case] yaml: &str, #[case] value: serde_json::Value) -> Outcome {
    let text = format!("subject: toy\nwhy: a reason\nconfig:\n  key:\n    {yaml}\n");
    assert_eq!(read(&text)?.config.get("key"), Some(&value));
    Ok(())
}

#[rstest]
#[case("\u{feff}subject: toy\r\nwhy: a reason\r\nseed: 7\r\n")]
#[case("---\nsubject: toy\nwhy: a reason\nseed: 7\n...\n")]
#[case("{subject: toy, why: a reason, seed: 7}")]
fn a_file_may_be_written_in_each_usual_way(#[case] yaml: &str) -> Outcome {
    assert_eq!(read(yaml)?.seed, 7);
    Ok(())
}

#[rstest]
#[case("scan.h", "scan.h", true)]
#[case("scan.h", "scan.h.x", false)]
#[case("layers.*.mixer.x", "layers.0.mixer.x", true)]
#[case("layers.*.mixer.x", "layers.mixer.x", false)]
#[case("*", "states", true)]
#[case("*", "scan.h", false)]
fn a_pattern_meets_a_name(#[case] pattern: &str, #[case] name: &str, #[case] meets: bool) {
    assert_eq!(Pattern::new(pattern).map(|pattern| pattern.matches(name)), Ok(meets));
}
