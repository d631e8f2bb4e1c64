//! Every Mamba-2 scan agrees with the definition, in values and in the gradient of every input.
mod common;

use candle_core::{DType, Device, Result, Tensor, Var};
use rstest::rstest;

use common::{error, is_finite, normal};
use shapelock::scan::{Inputs, Output, Scan};

/// Chunks shorter than most lengths tried, so that whole, partial and single chunks occur.
const Q: usize = 16;
const H: usize = 4;
const P: usize = 3;
const N: usize = 5;

/// One set of inputs, each a variable.
struct Case {
    vars: Vec<(&'static str, Var)>,
    reset: Option<Tensor>,
}

impl Case {
    fn new(b: usize, l: usize, g: usize, dtype: DType) -> Result<Self> {
        let shapes: [(&str, Vec<usize>); 7] = [
            ("x", vec![b, l, H, P]),
            ("dt", vec![b, l, H]),
            ("A", vec![H]),
            ("B", vec![b, l, g, N]),
            ("C", vec![b, l, g, N]),
            ("D", vec![H]),
            ("state", vec![b, H, P, N]),
        ];
        let mut vars = vec![];
        for (index, (name, shape)) in shapes.into_iter().enumerate() {
            let values = normal(&shape, 7 * l as u64 + index as u64, DType::F64, &Device::Cpu)?;
            let values = match name {
                "dt" => shapelock::model::softplus(&(values - 1.)?)?,
                "A" => values.exp()?.neg()?,
                _ => values,
            };
            vars.push((name, Var::from_tensor(&values.to_dtype(dtype)?)?));
        }
        Ok(Self { vars, reset: None })
    }

    fn inputs(&self) -> Inputs<'_> {
        let of = |name| self.vars.iter().find(|(other, _)| *other == name).unwrap().1.as_tensor();
        let inputs = Inputs::new(of("x"), of("dt"), of("A"), of("B"), of("C"));
        Inputs { d: Some(of("D")), state: Some(of("state")), reset: self.reset.as_ref(), ..inputs }
    }

    /// The outputs, and the gradient of every input under a loss that weighs each output by its own number.
    fn run(&self, scan: Scan) -> Result<(Output, Vec<(&'static str, Tensor)>)> {
        let output = scan.run(&self.inputs(), Q)?;
        let weigh = |t: &Tensor| (t * normal(t.dims(), 3, t.dtype(), t.device())?)?.sum_all();
        let gradients = (weigh(&output.y)? + weigh(&output.state)?)?.backward()?;
        let mut named = vec![];
        for (name, var) in &self.vars {
            let gradient =
                gradients.get(var).unwrap_or_else(|| panic!("{scan:?}: {name} has no gradient"));
            assert!(is_finite(gradient)?, "{scan:?}: the gradient of {name} is not finite");
            named.push((*name, gradient.clone()));
        }
        Ok((output, named))
    }

    fn assert_agrees(&self, scan: Scan, tolerance: f64) -> Result<()> {
        let (expected, expected_gradients) = self.run(Scan::Sequential)?;
        let (actual, actual_gradients) = self.run(scan)?;
        let values = [("y", actual.y, expected.y), ("final state", actual.state, expected.state)];
        let gradients = actual_gradients.into_iter().zip(expected_gradients);
        let gradients = gradients.map(|((name, actual), (_, expected))| (name, actual, expected));
        for (name, actual, expected) in values.into_iter().chain(gradients) {
            let measured = error(&actual, &expected)?;
            assert!(
                measured <= tolerance,
                "{scan:?}: {name} is off by {measured:e}, allowed {tolerance:e}"
            );
        }
        Ok(())
    }
}

#[rstest]
fn scans_agree_with_the_definition(
    #[values(Scan::Chunked, Scan::Associative, Scan::Fused)] scan: Scan,
    #[values(1, 3, 8)] b: usize,
    #[values(1, 3, 4, 59, 60, 61, 64)] l: usize,
    #[values(1, 2)] g: usize,
    #[values((DType::F32, 1e-5), (DType::F64, 1e-11))] (dtype, tolerance): (DType, f64),
) -> Result<()> {
    Case::new(b, l, g, dtype)?.assert_agrees(scan, tolerance)
}

#[rstest]
#[case::first_token(&[0])]
#[case::inside_a_chunk(&[5])]
#[case::at_a_chunk(&[16])]
#[case::two_in_a_chunk(&[17, 20])]
#[case::last_token(&[36])]
#[case::in_a_row(&[3, 4, 5, 31, 32, 33])]
fn scans_agree_over_resets(
    #[values(Scan::Chunked, Scan::Associative, Scan::Fused)] scan: Scan,
    #[values(1, 2)] g: usize,
    #[case] starts: &[usize],
) -> Result<()> {
    let (b, l) = (3, 37);
    let mut case = Case::new(b, l, g, DType::F64)?;
    // The middle row is left alone, so that a reset which reaches another row shows.
    let marks = (0..b * l).map(|at| u8::from(at / l != 1 && starts.contains(&(at % l))));
    case.reset = Some(Tensor::from_vec(marks.collect::<Vec<_>>(), (b, l), &Device::Cpu)?);
    case.assert_agrees(scan, 1e-11)
}

#[rstest]
fn a_reset_is_a_new_sequence(
    #[values(Scan::Sequential, Scan::Chunked, Scan::Associative, Scan::Fused)] scan: Scan,
    #[values(1, 7, 16, 30)] start: usize,
) -> Result<()> {
    let l = 31;
    let mut case = Case::new(2, l, 2, DType::F64)?;
    let marks = (0..2 * l).map(|at| u8::from(at % l == start));
    case.reset = Some(Tensor::from_vec(marks.collect::<Vec<_>>(), (2, l), &Device::Cpu)?);
    let packed = scan.run(&case.inputs(), Q)?;

    let inputs = case.inputs();
    let tail = |t: &Tensor| t.narrow(1, start, l - start);
    let (x, dt, bmat, cmat) =
        (tail(inputs.x)?, tail(inputs.dt)?, tail(inputs.bmat)?, tail(inputs.cmat)?);
    let alone = Inputs { d: inputs.d, ..Inputs::new(&x, &dt, inputs.a, &bmat, &cmat) };
    let alone = scan.run(&alone, Q)?;
    assert!(error(&tail(&packed.y)?, &alone.y)? <= 1e-12);
    assert!(error(&packed.state, &alone.state)? <= 1e-12);
    Ok(())
}

/// Step sizes of a hundred overflow e^dt; decays underflow to zero.
#[rstest]
fn long_steps_stay_finite(
    #[values(Scan::Sequential, Scan::Chunked, Scan::Associative, Scan::Fused)] scan: Scan,
    #[values(DType::F32, DType::F64)] dtype: DType,
) -> Result<()> {
    let mut case = Case::new(2, 37, 2, dtype)?;
    for (name, var) in &mut case.vars {
        if *name == "dt" {
            *var = Var::from_tensor(&(var.as_tensor() + 100.)?)?;
        }
    }
    let (output, _) = case.run(scan)?;
    assert!(is_finite(&output.y)? && is_finite(&output.state)?);
    case.assert_agrees(scan, if dtype == DType::F32 { 1e-5 } else { 1e-11 })
}

#[rstest]
#[case::rank("x", &[2, 8, 4], "x: expected (b, l, h, p), actual [2, 8, 4], with ")]
#[case::empty("x", &[2, 0, 4, 3], "x: l is 0 in (b, l, h, p) = [2, 0, 4, 3]: a scan needs at least one")]
#[case::groups("B", &[2, 8, 3, 5], "h=4 heads are not a multiple of g=3 groups")]
#[case::dt("dt", &[2, 8, 3], "dt: expected (b, l, h), actual [2, 8, 3], with b=2 l=8 h=4 p=3 g=2 n=5")]
#[case::c("C", &[2, 8, 1, 5], "C: expected (b, l, g, n), actual [2, 8, 1, 5], with b=2 l=8 h=4 p=3 g=2 n=5")]
#[case::d("D", &[3], "D: expected (h) or (h, p), actual [3], with b=2 l=8 h=4 p=3 g=2 n=5")]
#[case::state("state", &[1, 4, 3, 5], "state: expected (b, h, p, n), actual [1, 4, 3, 5], with b=2 l=8 h=4 p=3 g=2 n=5")]
fn a_scan_names_the_argument_that_does_not_fit(
    #[case] name: &str,
    #[case] shape: &[usize],
    #[case] message: &str,
) -> Result<()> {
    let mut case = Case::new(2, 8, 2, DType::F32)?;
    for (other, var) in &mut case.vars {
        if *other == name {
            *var = Var::zeros(shape, DType::F32, &Device::Cpu)?;
        }
    }
    let error = case.inputs().check().unwrap_err();
    assert_eq!(error.to_string(), message);
    Ok(())
}

#[test]
fn a_scan_refuses_other_dtypes_and_empty_chunks() -> Result<()> {
    let mut case = Case::new(2, 8, 2, DType::F32)?;
    case.vars[2].1 = Var::zeros(H, DType::F64, &Device::Cpu)?;
    let error = case.inputs().check().unwrap_err().to_string();
    assert_eq!(error, "A: expected F32, actual F64: cast it before the scan");
    let case = Case::new(2, 8, 2, DType::BF16)?;
    assert!(
        case.inputs().check().unwrap_err().to_string().starts_with("the scan runs in f32 or f64")
    );
    let case = Case::new(2, 8, 2, DType::F32)?;
    assert!(Scan::Chunked.run(&case.inputs(), 0).is_err());
    Ok(())
}
