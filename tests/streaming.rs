//! A whole sequence equals any split of it and single steps, and a state is never silently another one.
mod common;

use candle_core::{DType, Device, Result, Tensor, Var};
use rstest::rstest;

use common::small::{L, V, assert_near, assert_same_state, config, in_pieces, model, series};
use common::{Params, ids, is_finite, normal};
use shapelock::model::mamba2::{Config, Mamba2, Tokens};
use shapelock::scan::Scan;

#[rstest]
fn every_split_is_the_whole(
    #[values(1, 2)] g: usize,
    #[values(Scan::Sequential, Scan::Chunked, Scan::Associative, Scan::Fused)] scan: Scan,
) -> Result<()> {
    let model = model(g, scan)?;
    let input = ids(&[2, L], V, 1)?;
    let (whole, last) = in_pieces(&model, &input, &[L])?;
    let two = (1..L).map(|first| vec![first, L - first]);
    let three = (1..L).flat_map(|first| {
        (1..L - first).map(move |second| vec![first, second, L - first - second])
    });
    for lengths in two.chain(three) {
        let (outputs, state) = in_pieces(&model, &input, &lengths)?;
        assert_near(&format!("{lengths:?}"), &outputs, &whole)?;
        assert_same_state(&format!("{lengths:?}"), &state, &last)?;
    }
    Ok(())
}

#[rstest]
fn single_steps_are_the_whole(
    #[values(1, 2)] g: usize,
    #[values(Scan::Sequential, Scan::Chunked, Scan::Associative, Scan::Fused)] scan: Scan,
    #[values(0, 1, 2, 3, 10)] prefill: usize,
) -> Result<()> {
    let model = model(g, scan)?;
    let input = ids(&[2, L], V, 1)?;
    let (whole, last) = in_pieces(&model, &input, &[L])?;
    let mut state = match prefill {
        0 => model.zero_state(2)?,
        _ => in_pieces(&model, &input.narrow(1, 0, prefill)?, &[prefill])?.1,
    };
    for t in prefill..L {
        let (output, next) = model.step(&input.narrow(1, t, 1)?.squeeze(1)?, &state)?;
        assert_near(&format!("step {t}"), &output, &whole.narrow(1, t, 1)?.squeeze(1)?)?;
        state = next;
    }
    assert_same_state("after the last step", &state, &last)
}

/// The gradient of a later output reaches back through the state.
#[rstest]
fn gradients_flow_through_the_state(
    #[values(Scan::Sequential, Scan::Chunked, Scan::Associative, Scan::Fused)] scan: Scan,
) -> Result<()> {
    let params = Params::seeded(5);
    let model = series(&params, scan)?;
    let x = Var::from_tensor(&normal(&[2, L, 16], 1, DType::F64, &Device::Cpu)?)?;
    let gradients = |lengths: &[usize]| {
        let (output, state) = in_pieces(&model, &x, lengths)?;
        let weigh = |t: &Tensor| (t * normal(t.dims(), 2, DType::F64, &Device::Cpu)?)?.sum_all();
        let loss = (weigh(&output)? + weigh(&state.layers()[1].ssm)?)?.backward()?;
        let of = |var: &Var| loss.get(var).cloned().expect("every variable has a gradient");
        Ok::<_, candle_core::Error>((of(&x), params.vars().values().map(of).collect::<Vec<_>>()))
    };
    let (of_x, of_params) = gradients(&[L])?;
    let (of_x_split, of_params_split) = gradients(&[5, 1, 11])?;
    assert_near("the input's gradient", &of_x_split, &of_x)?;
    for ((name, _), (split, whole)) in
        params.vars().iter().zip(of_params_split.iter().zip(&of_params))
    {
        assert_near(name, split, whole)?;
    }
    Ok(())
}

#[test]
fn rows_of_a_state_are_selected_reordered_and_reset() -> Result<()> {
    let model = model(2, Scan::Chunked)?;
    let input = ids(&[3, L], V, 1)?;
    let (whole, _) = in_pieces(&model, &input, &[L])?;
    let (_, state) = in_pieces(&model, &input.narrow(1, 0, 9)?, &[9])?;
    let rest = input.narrow(1, 9, L - 9)?.contiguous()?;

    let rows = Tensor::new(&[2u32, 0, 2], &Device::Cpu)?;
    let rest_of_rows = rest.index_select(&rows, 0)?;
    let (output, _) =
        model.forward_from(&rest_of_rows, &state.select(&[2, 0, 2])?, Tokens::default())?;
    assert_near("selected rows", &output, &whole.index_select(&rows, 0)?.narrow(1, 9, L - 9)?)?;

    let (output, _) = model.forward_from(&rest, &state.reset(&[1])?, Tokens::default())?;
    let (anew, _) = in_pieces(&model, &rest, &[L - 9])?;
    assert_near("the row that is reset", &output.narrow(0, 1, 1)?, &anew.narrow(0, 1, 1)?)?;
    assert_near(
        "a row beside it",
        &output.narrow(0, 2, 1)?,
        &whole.narrow(0, 2, 1)?.narrow(1, 9, L - 9)?,
    )?;

    let error = state.select(&[3]).unwrap_err().to_string();
    assert!(error.contains("rows: expected indices below b=3, actual 3"), "{error}");
    assert!(state.reset(&[7]).is_err());
    Ok(())
}

#[rstest]
#[case::batch(2, DType::F64, "batch size: expected 2, actual 3")]
#[case::dtype(3, DType::F32, "dtype: expected F32, actual F64")]
fn a_state_of_another_kind_is_refused(
    #[case] b: usize,
    #[case] dtype: DType,
    #[case] message: &str,
) -> Result<()> {
    let state = model(2, Scan::Chunked)?.zero_state(3)?;
    let other =
        Mamba2::new(&config(2, Scan::Chunked), Params::seeded(5).builder(dtype, &Device::Cpu))?;
    let error = other.forward_from(&ids(&[b, L], V, 1)?, &state, Tokens::default()).unwrap_err();
    assert!(error.to_string().contains(message), "{error}");
    Ok(())
}

#[test]
fn a_state_of_another_model_is_refused() -> Result<()> {
    let state = model(1, Scan::Chunked)?.zero_state(3)?;
    let error =
        model(2, Scan::Chunked)?.forward_from(&ids(&[3, L], V, 1)?, &state, Tokens::default());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("of another model"), "{error}");
    Ok(())
}

/// Steps of a hundred: e^dt overflows f32, decays underflow; values and gradients stay finite.
#[rstest]
fn a_huge_dt_bias_stays_finite(
    #[values(Scan::Sequential, Scan::Chunked, Scan::Associative, Scan::Fused)] scan: Scan,
    #[values(DType::F32, DType::F64)] dtype: DType,
) -> Result<()> {
    let params = Params::seeded(5);
    let model = Mamba2::new(&config(2, scan), params.builder(dtype, &Device::Cpu))?;
    for (name, var) in params.vars() {
        if name.ends_with("dt_bias") {
            var.set(&(var.as_tensor() + 100.)?)?;
        }
    }
    let logits = model.forward(&ids(&[2, L], V, 1)?)?;
    assert!(is_finite(&logits)?);
    let gradients = logits.sqr()?.mean_all()?.backward()?;
    for (name, var) in params.vars() {
        let gradient = gradients.get(&var).unwrap_or_else(|| panic!("{name} has no gradient"));
        assert!(is_finite(gradient)?, "the gradient of {name} is not finite");
    }
    Ok(())
}

/// Options of the reference that no published checkpoint uses: split anywhere they are the whole too.
#[rstest]
#[case::inner_mlp(r#""d_ssm": 16"#)]
#[case::d_per_dim(r#""d_has_hdim": true"#)]
#[case::no_norm(r#""rmsnorm": false"#)]
#[case::narrow_conv(r#""d_conv": 1"#)]
#[case::wide_conv(r#""d_conv": 7"#)]
#[case::no_conv_bias(r#""conv_bias": false, "bias": true"#)]
fn options_of_the_reference_split_anywhere(#[case] option: &str) -> Result<()> {
    let text = format!(
        r#"{{"d_model": 16, "n_layer": 2, "d_state": 5, "headdim": 8, "chunk_size": 4, "head": {{"outputs": 3}}, {option}}}"#
    );
    let config: Config = serde_json::from_str(&text).expect("the configuration is valid");
    let params = Params::seeded(5);
    let model = Mamba2::new(&config, params.builder(DType::F64, &Device::Cpu))?;
    let x = normal(&[2, L, 16], 1, DType::F64, &Device::Cpu)?;
    let (whole, last) = in_pieces(&model, &x, &[L])?;
    for lengths in [vec![1, 16], vec![3, 1, 13], vec![8, 9]] {
        let (outputs, state) = in_pieces(&model, &x, &lengths)?;
        assert_near(option, &outputs, &whole)?;
        for (actual, expected) in state.layers().iter().zip(last.layers()) {
            assert_near(option, &actual.ssm, &expected.ssm)?;
        }
    }
    let gradients = whole.sqr()?.sum_all()?.backward()?;
    assert!(params.vars().values().all(|var| gradients.get(var).is_some()));
    Ok(())
}
