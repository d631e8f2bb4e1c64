//! What a right case says once it is read, and the points that it comes to.
mod toy;

use std::path::Path;

use rstest::rstest;
use serde_json::json;
use shapelock::harness::case::{
    Case, CaseErrors, CasePath, DType, DeviceKind, Filter, Lock, Pattern,
};
use shapelock::harness::plan::{Environment, Plan, absent, plan};
use toy::Toy;

type Outcome = Result<(), Box<dyn std::error::Error>>;

const WHOLE: &str = r#"
subject: toy   # comments are fine
why: >-
  a reason on
  two lines
config: {d: 8, n: 2}
seed: 176
variants:
  plain: {}
  wide: {d: 16}
matrix:
  batch: [8, 1]
  seq: [60, 1, 59]
  dtype: [f32, f64]
  device: [cpu, cuda]
except:
  - {batch: 1, seq: 1}
  - b == 8 and l == 59
only:
  - {dtype: f32}
  - {variant: wide, device: cpu}
shapes:
  input: b l d
  scan.h: b n
  layers.*.mixer.x: b l (n d)
  loss: ()
  one: 1
zero_gradient: {A: l == 1}
checks: [shapes, batch]
tolerance:
  scans: 1e-5
  batch: {f32: 0, f64: 1e-12}
tags: [quick, report-1]
lock: named
expect: {error: "mismatch in (8, 60)", at: states}
twin: toy_right
caught_by: [shapes]
at: states
cause: joined on axis 0
budget: 512 MiB
max_points: 100
"#;

fn read(yaml: &str) -> Result<Case, Box<dyn std::error::Error>> {
    Ok(Case::parse(
        Path::new("cases/toy/a.yaml"),
        CasePath::new("toy::a")?,
        yaml.as_bytes(),
    )?)
}

fn planned(yaml: &str) -> Result<Plan, Box<dyn std::error::Error>> {
    Ok(plan(&read(yaml)?, &Toy)?)
}

#[test]
fn every_field_is_read() -> Outcome {
    let case = read(WHOLE)?;
    assert_eq!(case.path.to_string(), "toy::a");
    assert_eq!(
        (case.subject.as_str(), case.why.as_str()),
        ("toy", "a reason on two lines")
    );
    assert_eq!(case.seed, 176);
    assert_eq!(
        json!(case.config_of(&case.variants[1])),
        json!({"d": 16, "n": 2})
    );
    assert_eq!(case.matrix.dtypes, [DType::F32, DType::F64]);
    assert_eq!(case.matrix.devices, [DeviceKind::Cpu, DeviceKind::Cuda]);
    assert!(matches!(case.except[1].value, Filter::When(_)));
    let shapes = case
        .shapes
        .iter()
        .map(|one| format!("{} {}", one.pattern, one.axes));
    assert_eq!(
        shapes.collect::<Vec<_>>(),
        [
            "input (b, l, d)",
            "scan.h (b, n)",
            "layers.*.mixer.x (b, l, n·d)",
            "loss ()",
            "one (1)"
        ]
    );
    assert_eq!(case.zero_gradient[0].when.to_string(), "l == 1");
    assert_eq!(case.checks.as_ref().map(Vec::len), Some(2));
    assert_eq!(case.tolerance("scans", DType::F64), Some(1e-5));
    assert_eq!(case.tolerance("batch", DType::F32), Some(0.0));
    assert_eq!(case.tolerance("batch", DType::F16), None);
    assert_eq!(case.tags, ["quick", "report-1"]);
    assert_eq!(case.lock, Lock::Named);
    assert_eq!(
        case.expect.map(|expect| expect.error),
        Some("mismatch in (8, 60)".to_owned())
    );
    let fault = case.fault.ok_or("a fault")?;
    assert_eq!(
        fault.twin.map(|twin| twin.value),
        Some("toy_right".to_owned())
    );
    assert_eq!(fault.cause, Some("joined on axis 0".to_owned()));
    assert_eq!((case.budget, case.max_points), (512 << 20, 100));
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
    assert_eq!(
        (case.variants[0].name.as_str(), case.variants[0].at),
        ("plain", None)
    );
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
    let blocks = page
        .split("```yaml\n")
        .skip(1)
        .filter_map(|block| block.split("```").next());
    let cases: Vec<_> = blocks
        .filter(|block| block.starts_with("subject:"))
        .collect();
    assert_eq!(cases.len(), 3);
    for case in cases {
        read(case)?;
    }
    let fields = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    for (field, _) in fields.take_while(|(field, _)| *field != "b l n") {
        assert!(
            WHOLE.contains(&format!("\n{field}:")),
            "`{field}` is in no test"
        );
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

#[test]
fn points_are_named_and_ordered() -> Outcome {
    let plan = planned(
        "subject: toy\nwhy: a reason\nconfig: {n: 2}\n\
         matrix: {seq: [60, 1], device: [cpu, metal], batch: [8, 3], dtype: [f32, f64]}\n",
    )?;
    let [variant] = &plan.variants[..] else {
        return Err("one variant".into());
    };
    let names: Vec<_> = variant
        .points
        .iter()
        .map(|point| point.name.as_str())
        .collect();
    assert_eq!(
        names[..5],
        [
            "b8-l60-f32-cpu",
            "b8-l1-f32-cpu",
            "b3-l60-f32-cpu",
            "b3-l1-f32-cpu",
            "b8-l60-f64-cpu"
        ]
    );
    assert_eq!((names.len(), names.last()), (16, Some(&"b3-l1-f64-metal")));
    let reference = &variant.points[0];
    assert_eq!(reference.dims.to_string(), "b=8 l=60 d=4 n=2");
    assert_eq!(
        reference.sizes,
        [("batch".to_owned(), 8), ("seq".to_owned(), 60)]
    );
    assert_eq!(variant.dims_of_config.to_string(), "d=4 n=2");
    Ok(())
}

#[test]
fn filters_hold_for_the_points_they_name() -> Outcome {
    let plan = planned(WHOLE)?;
    let names = |index: usize| {
        let points = plan.variants[index].points.iter();
        points.map(|point| point.name.as_str()).collect::<Vec<_>>()
    };
    // `only` keeps f32, and of `wide` everything on the CPU.
    let f32_cpu = [
        "b8-l60-f32-cpu",
        "b8-l1-f32-cpu",
        "b1-l60-f32-cpu",
        "b1-l59-f32-cpu",
    ];
    let f64_cpu = f32_cpu.map(|name| name.replace("f32", "f64"));
    let f32_cuda = f32_cpu.map(|name| name.replace("cpu", "cuda"));
    assert_eq!(
        names(0),
        [&f32_cpu.map(str::to_owned)[..], &f32_cuda].concat()
    );
    assert_eq!(
        names(1),
        [&f32_cpu.map(str::to_owned)[..], &f64_cpu, &f32_cuda].concat()
    );
    Ok(())
}

#[test]
fn a_size_of_zero_is_for_an_expected_error() -> Outcome {
    let yaml = "subject: toy\nwhy: a reason\nmatrix: {batch: [8], seq: [0]}\n";
    assert!(read(yaml).is_err_and(|error| error.downcast_ref::<CaseErrors>().is_some()));
    let plan = planned(&format!("{yaml}expect: {{error: sequence is empty}}\n"))?;
    assert_eq!(plan.variants[0].points[0].name, "b8-l0-f32-cpu");
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
    assert_eq!(
        Pattern::new(pattern).map(|pattern| pattern.matches(name)),
        Ok(meets)
    );
}

fn machine(visible: Option<&str>) -> Environment {
    Environment {
        cuda_feature: true,
        metal_feature: true,
        cuda_node: true,
        macos: true,
        cuda_visible_devices: visible.map(str::to_owned),
    }
}

#[rstest]
#[case(DeviceKind::Cpu, Environment::default(), None)]
#[case(
    DeviceKind::Cuda,
    Environment::default(),
    Some("built without the feature `cuda`")
)]
#[case(
    DeviceKind::Metal,
    Environment::default(),
    Some("built without the feature `metal`")
)]
#[case(DeviceKind::Cuda, machine(None), None)]
#[case(DeviceKind::Cuda, machine(Some("1,0")), None)]
#[case(DeviceKind::Cuda, machine(Some("GPU-8932f937")), None)]
#[case(
    DeviceKind::Cuda,
    machine(Some("")),
    Some("CUDA_VISIBLE_DEVICES hides every device")
)]
#[case(
    DeviceKind::Cuda,
    machine(Some("-1,0")),
    Some("CUDA_VISIBLE_DEVICES hides every device")
)]
#[case(DeviceKind::Metal, machine(Some("")), None)]
#[case(
    DeviceKind::Cuda,
    Environment { cuda_node: false, ..machine(None) },
    Some("no CUDA device: no /dev/nvidia0")
)]
#[case(
    DeviceKind::Metal,
    Environment { macos: false, ..machine(None) },
    Some("no Metal device: not macOS")
)]
fn a_device_is_there_or_there_is_a_reason(
    #[case] device: DeviceKind,
    #[case] environment: Environment,
    #[case] reason: Option<&str>,
) {
    assert_eq!(absent(device, &environment).as_deref(), reason);
}
