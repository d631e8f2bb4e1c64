//! The points that a case comes to, and the devices that are there to run them.
mod toy;

use std::path::Path;

use rstest::rstest;
use shapelock::harness::case::{Case, CaseErrors, CasePath, DeviceKind};
use shapelock::harness::plan::{Environment, Plan, absent, plan};
use toy::Toy;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn read(yaml: &str) -> Result<Case, Box<dyn std::error::Error>> {
    Ok(Case::parse(Path::new("cases/toy/a.yaml"), CasePath::new("toy::a")?, yaml.as_bytes())?)
}

fn planned(yaml: &str) -> Result<Plan, Box<dyn std::error::Error>> {
    Ok(plan(&read(yaml)?, &Toy)?)
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
    let names: Vec<_> = variant.points.iter().map(|point| point.name.as_str()).collect();
    assert_eq!(
        names[..5],
        ["b8-l60-f32-cpu", "b8-l1-f32-cpu", "b3-l60-f32-cpu", "b3-l1-f32-cpu", "b8-l60-f64-cpu"]
    );
    assert_eq!((names.len(), names.last()), (16, Some(&"b3-l1-f64-metal")));
    let reference = &variant.points[0];
    assert_eq!(reference.dims.to_string(), "b=8 l=60 d=4 n=2");
    assert_eq!(reference.sizes, [("batch".to_owned(), 8), ("seq".to_owned(), 60)]);
    assert_eq!(variant.dims_of_config.to_string(), "d=4 n=2");
    Ok(())
}

#[test]
fn filters_hold_for_the_points_they_name() -> Outcome {
    let plan = planned(include_str!("toy/whole.yaml"))?;
    let names = |index: usize| {
        let points = plan.variants[index].points.iter();
        points.map(|point| point.name.as_str()).collect::<Vec<_>>()
    };
    // `only` keeps f32, and of `wide` everything on the CPU.
    let f32_cpu = ["b8-l60-f32-cpu", "b8-l1-f32-cpu", "b1-l60-f32-cpu", "b1-l59-f32-cpu"];
    let f64_cpu = f32_cpu.map(|name| name.replace("f32", "f64"));
    let f32_cuda = f32_cpu.map(|name| name.replace("cpu", "cuda"));
    assert_eq!(names(0), [&f32_cpu.map(str::to_owned)[..], &f32_cuda].concat());
    assert_eq!(names(1), [&f32_cpu.map(str::to_owned)[..], &f64_cpu, &f32_cuda].concat());
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
#[case(DeviceKind::Cuda, Environment::default(), Some("built without the feature `cuda`"))]
#[case(DeviceKind::Metal, Environment::default(), Some("built without the feature `metal`"))]
#[case(DeviceKind::Cuda, machine(None), None)]
#[case(DeviceKind::Cuda, machine(Some("1,0")), None)]
#[case(DeviceKind::Cuda, machine(Some("GPU-8932f937")), None)]
#[case(DeviceKind::Cuda, machine(Some("")), Some("CUDA_VISIBLE_DEVICES hides every device"))]
#[case(DeviceKind::Cuda, machine(Some("-1,0")), Some("CUDA_VISIBLE_DEVICES hides every device"))]
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
