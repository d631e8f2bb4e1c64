//! Planted faults: what each change does to a tensor, and what becomes of faults in a model with one that nothing sees.

use std::path::Path;

use candle_core::{DType, Device, Result, Tensor, Var};
use candle_nn::VarBuilder;
use rstest::rstest;
use shapelock::dims::Dims;
use shapelock::faults::{Change, Ground, Hunt, Score, Site, Verdict, sites};
use shapelock::harness::case::{Case, CasePath};
use shapelock::harness::check::Check;
use shapelock::harness::registry::Registry;
use shapelock::harness::subject::{ConfigProblem, Input, Inputs, Model, Outputs, Subject};
use shapelock::tap;

/// [[1, 2, 3], [4, 5, 6]]
fn numbers() -> Result<Tensor> {
    Tensor::arange(1f64, 7., &Device::Cpu)?.reshape((2, 3))
}

#[rstest]
#[case(Change::Swapped(0, 1), &[3, 2], &[1., 4., 2., 5., 3., 6.])]
#[case(Change::Merged(0), &[6], &[1., 2., 3., 4., 5., 6.])]
#[case(Change::Dropped(0), &[3], &[1., 2., 3.])]
#[case(Change::Extra(1), &[2, 1, 3], &[1., 2., 3., 4., 5., 6.])]
#[case(Change::Repeated(1), &[2, 6], &[1., 2., 3., 1., 2., 3., 4., 5., 6., 4., 5., 6.])]
#[case(Change::Joined(0, 1), &[1, 6], &[1., 2., 3., 4., 5., 6.])]
#[case(Change::Joined(1, 0), &[6, 1], &[1., 4., 2., 5., 3., 6.])]
#[case(Change::WithoutFirst(1), &[2, 2], &[2., 3., 5., 6.])]
#[case(Change::WithoutLast(0), &[1, 3], &[1., 2., 3.])]
#[case(Change::Spread(0), &[2, 2, 3], &[1., 2., 3., 4., 5., 6., 1., 2., 3., 4., 5., 6.])]
#[case(Change::Regrouped(0, 1), &[2, 3], &[1., 4., 2., 5., 3., 6.])]
#[case(Change::Reversed(1), &[2, 3], &[3., 2., 1., 6., 5., 4.])]
#[case(Change::Rolled(1), &[2, 3], &[3., 1., 2., 6., 4., 5.])]
#[case(Change::Averaged(0), &[2, 3], &[2.5, 3.5, 4.5, 2.5, 3.5, 4.5])]
#[case(Change::Copied(1), &[2, 3], &[1., 1., 1., 4., 4., 4.])]
#[case(Change::Ahead(1), &[2, 3], &[2., 3., 3., 5., 6., 6.])]
#[case(Change::Behind(1), &[2, 3], &[1., 1., 2., 4., 4., 5.])]
#[case(Change::Reset, &[2, 3], &[0.; 6])]
fn a_change_moves_elements(
    #[case] change: Change,
    #[case] shape: &[usize],
    #[case] values: &[f64],
) -> Result<()> {
    let changed = change.of(&numbers()?)?.expect("it changes something");
    assert_eq!(
        (changed.dims(), changed.flatten_all()?.to_vec1::<f64>()?.as_slice()),
        (shape, values)
    );
    Ok(())
}

/// ⟨f(x), g⟩ = ⟨x, fᵀ(g)⟩: the gradient of each change that moves or adds elements is that of what it does.
#[test]
fn the_gradient_of_a_change_is_its_own() -> Result<()> {
    let x = Var::randn(0f64, 1., (2, 3, 4), &Device::Cpu)?;
    let product = |a: &Tensor, b: &Tensor| (a * b)?.sum_all()?.to_scalar::<f64>();
    let linear =
        |change: &Change| !matches!(change, Change::NotANumber | Change::Detached | Change::Format);
    let changes: Vec<Change> = Change::all(3).into_iter().filter(linear).collect();
    for change in &changes {
        let Some(y) = change.of(x.as_tensor())? else { panic!("{change} changes nothing") };
        let g = Tensor::randn(0f64, 1., y.shape(), &Device::Cpu)?;
        let gradients = (&y * &g)?.sum_all()?.backward()?;
        let back = gradients.get(&x).unwrap_or_else(|| panic!("{change} has no gradient"));
        let (forth, back) = (product(&y, &g)?, product(x.as_tensor(), back)?);
        let error = (forth - back).abs() / forth.abs().max(1.);
        assert!(error <= 1e-12, "{change}: {forth} and {back} are {error:e} apart, allowed 1e-12");
    }
    assert!(changes.len() > 40, "{} changes of three axes", changes.len());
    Ok(())
}

#[test]
fn other_changes_keep_the_values_or_none() -> Result<()> {
    let x = Var::from_tensor(&numbers()?.to_dtype(DType::F32)?)?;
    let x = (x.as_tensor() * 1.)?;
    let of =
        |change: Change| Ok::<_, candle_core::Error>(change.of(&x)?.expect("it changes something"));
    let values = |t: &Tensor| t.to_dtype(DType::F64)?.flatten_all()?.to_vec1::<f64>();
    assert!(!of(Change::Detached)?.track_op());
    assert_eq!(of(Change::Format)?.dtype(), DType::F64);
    assert!(!of(Change::Strided)?.is_contiguous());
    for change in [Change::Detached, Change::Format, Change::Strided] {
        assert_eq!(values(&of(change)?)?, values(&x)?, "{change}");
    }
    assert!(values(&of(Change::NotANumber)?)?.into_iter().all(f64::is_nan));
    Ok(())
}

/// x (b, l, d) → 2·x, with a tap that is on the way and one whose tensor nobody reads.
struct Doubling;

impl Subject for Doubling {
    type Config = serde_json::Map<String, serde_json::Value>;

    fn name(&self) -> &str {
        "doubling"
    }

    fn dims(&self, _: &Self::Config) -> std::result::Result<Dims, ConfigProblem> {
        Ok(Dims::new().with("d", 4))
    }

    fn inputs(&self, _: &Self::Config) -> Vec<Input> {
        vec![Input::floats("input", "b l d")]
    }

    fn build(&self, _: &Self::Config, _: VarBuilder<'static>) -> Result<Box<dyn Model>> {
        Ok(Box::new(|inputs: &Inputs| {
            let x = tap("doubled", (inputs.get("input")? * 2.)?)?; // (b, l, d)
            tap("beside", x.sqr()?)?; // (b, l, d)
            Ok(Outputs::new().with("output", x))
        }))
    }
}

fn hunted(text: &str) -> (Vec<(Site, Verdict)>, Registry) {
    let subjects = Registry::new().with(Doubling);
    let path = CasePath::new("toys::doubling").unwrap();
    let case = Case::parse(Path::new("doubling.yaml"), path, text.as_bytes()).unwrap();
    let grounds = Ground::of(&case, &subjects, None).unwrap();
    let hunt = Hunt::new(&subjects, &grounds);
    let sites = sites(&grounds).unwrap();
    (sites.into_iter().map(|site| (site.clone(), hunt.verdict(&site))).collect(), subjects)
}

const DOUBLING: &str = "\
subject: doubling
why: to plant faults
matrix: {batch: [2, 1], seq: [3]}
shapes: {output: b l d}
";

#[test]
fn a_fault_is_found_by_what_comes_of_it() {
    let (found, _) = hunted(DOUBLING);
    let of = |tap: &str, change: Change| {
        let is = |(site, _): &&(Site, Verdict)| site.tap == tap && site.change == change;
        found.iter().find(is).map(|(_, verdict)| verdict.clone()).unwrap()
    };
    let killed = |verdict: Verdict| match verdict {
        Verdict::Killed { check, step, .. } => Some((check, step)),
        _ => None,
    };
    let at = |check, step: &str| Some((check, Some(step.to_owned())));
    assert_eq!(killed(of("doubled", Change::Swapped(0, 1))), at(Check::Shapes, "output"));
    // The tap that is changed is no detector of its own fault: the next one is.
    assert_eq!(killed(of("doubled", Change::NotANumber)), at(Check::Finite, "beside"));
    assert_eq!(killed(of("doubled", Change::Rolled(0))), at(Check::Batch, "beside"));
    // Without a reference nobody knows what the values should be.
    assert!(matches!(of("doubled", Change::Reversed(2)), Verdict::Survived { equal: false, .. }));
    // What nobody reads changes nothing, whatever happens to it.
    let beside = found.iter().filter(|(site, _)| site.tap == "beside");
    let unlike =
        beside.filter(|(_, verdict)| !matches!(verdict, Verdict::Survived { equal: true, .. }));
    assert_eq!(unlike.map(|(site, _)| site.change.to_string()).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn the_score_is_told() {
    let (found, _) = hunted(DOUBLING);
    let mut score = Score::default();
    let lines: Vec<String> = found.iter().map(|(site, verdict)| score.add(site, verdict)).collect();
    let on_the_way = lines.iter().filter(|line| line.contains("doubled"));
    let on_the_way: Vec<&str> = on_the_way.map(String::as_str).collect();
    assert!(!score.is_good());
    insta::assert_snapshot!(format!("{}\n\n{}", on_the_way.join("\n"), score.text()));
}

/// A check that fails by itself proves nothing about faults.
#[test]
fn a_check_that_fails_without_a_fault_finds_none() {
    let (found, _) = hunted(&DOUBLING.replace("b l d}", "b d l}"));
    let by_shapes =
        |verdict: &Verdict| matches!(verdict, Verdict::Killed { check: Check::Shapes, .. });
    let trouble = |verdict: &Verdict| matches!(verdict, Verdict::Trouble(text) if text.starts_with("shapes of"));
    assert!(!found.iter().any(|(_, verdict)| by_shapes(verdict)));
    assert!(found.iter().any(|(_, verdict)| trouble(verdict)));
}
