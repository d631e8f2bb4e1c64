//! Packed and padded rows equal their sequences alone: the right ways to read samples of different lengths at once.
mod common;

use candle_core::{DType, Device, Result, Tensor, Var};
use rstest::rstest;

use common::small::{L, V, assert_near, assert_same_state, in_pieces, model, series};
use common::{Params, error, ids, is_finite, normal};
use shapelock::model::mamba2::{Tokens, sequence_starts};
use shapelock::scan::Scan;

/// Several sequences in a row: the right way to join samples along time. Without the marks, each leaks into the next.
#[rstest]
#[case(&[5, 12])]
#[case(&[1, 2, 3, 4, 7])]
#[case(&[4, 4, 4, 4, 1])]
#[case(&[1, 1, 1, 14])]
fn packed_sequences_are_the_sequences_alone(
    #[case] lengths: &[usize],
    #[values(Scan::Sequential, Scan::Chunked, Scan::Associative, Scan::Fused)] scan: Scan,
) -> Result<()> {
    let params = Params::seeded(5);
    let model = series(&params, scan)?;
    let x = Var::from_tensor(&normal(&[2, L, 16], 1, DType::F64, &Device::Cpu)?)?;
    let starts = sequence_starts(&[lengths.to_vec(), lengths.to_vec()], &Device::Cpu)?;
    // The state before the row is no zero state, and must not be read either.
    let (_, before) = in_pieces(&model, &normal(&[2, 6, 16], 9, DType::F64, &Device::Cpu)?, &[6])?;
    let (packed, last) = model.forward_from(&x, &before, Tokens::packed(&starts))?;

    let mut start = 0;
    for (index, length) in lengths.iter().enumerate() {
        let mine = |t: &Tensor| t.narrow(1, start, *length);
        let alone = mine(&x)?;
        let (expected, state) = in_pieces(&model, &alone, &[*length])?;
        assert_near(&format!("sequence {index}"), &mine(&packed)?, &expected)?;
        if index + 1 == lengths.len() {
            assert_same_state("the last sequence", &last, &state)?;
        }
        let gradients = mine(&packed)?.sqr()?.sum_all()?.backward()?;
        let gradient = gradients.get(&x).expect("the input has a gradient");
        let own = mine(gradient)?.sqr()?.sum_all()?.to_scalar::<f64>()?;
        let all = gradient.sqr()?.sum_all()?.to_scalar::<f64>()?;
        assert!(own > 0., "sequence {index} has a gradient");
        assert_eq!(own, all, "sequence {index} has a gradient in another");
        start += length;
    }
    let leaking = model.forward(&x)?;
    assert!(error(&leaking, &packed)? > 1e-3, "without marks the sequences leak into each other");
    Ok(())
}

/// What follows a packed row goes on with its last sequence, and may itself start with a new one.
#[rstest]
fn packed_rows_split_anywhere(#[values(1, 2, 3, 4, 5, 9, 16)] first: usize) -> Result<()> {
    let model = model(2, Scan::Chunked)?;
    let input = ids(&[2, L], V, 1)?;
    let starts = sequence_starts(&[vec![2, 3, 12], vec![L]], &Device::Cpu)?;
    let (whole, last) =
        model.forward_from(&input, &model.zero_state(2)?, Tokens::packed(&starts))?;
    let mut state = model.zero_state(2)?;
    let mut outputs = vec![];
    for (start, length) in [(0, first), (first, L - first)] {
        let marks = starts.narrow(1, start, length)?;
        let piece = input.narrow(1, start, length)?;
        let (output, next) = model.forward_from(&piece, &state, Tokens::packed(&marks))?;
        outputs.push(output);
        state = next;
    }
    assert_near("packed and split", &Tensor::cat(&outputs, 1)?, &whole)?;
    assert_same_state("packed and split", &state, &last)
}

/// Rows of 17, 5 and 1 tokens, padded before or after, from the start or from a state.
#[rstest]
fn padded_rows_are_the_rows_alone(
    #[values(Scan::Sequential, Scan::Chunked, Scan::Associative, Scan::Fused)] scan: Scan,
    #[values(true, false)] left: bool,
    #[values(0, 4)] before: usize,
) -> Result<()> {
    let model = model(2, scan)?;
    let lengths = [L, 5, 1];
    let input = ids(&[3, L], V, 1)?;
    let state = match before {
        0 => model.zero_state(3)?,
        _ => in_pieces(&model, &ids(&[3, before], V, 2)?, &[before])?.1,
    };
    let start = |row: usize| if left { L - lengths[row] } else { 0 };
    let real = |at: usize| (start(at / L)..start(at / L) + lengths[at / L]).contains(&(at % L));
    let mask =
        Tensor::from_vec((0..3 * L).map(|at| i64::from(real(at))).collect(), (3, L), &Device::Cpu)?;
    let (padded, next) = model.forward_from(&input, &state, Tokens::padded(&mask))?;
    assert!(is_finite(&padded)?);
    for (row, length) in lengths.into_iter().enumerate() {
        let mine = |t: &Tensor| t.narrow(0, row, 1)?.narrow(1, start(row), length);
        let own_state = state.select(&[row as u32])?;
        let (expected, last) = model.forward_from(&mine(&input)?, &own_state, Tokens::default())?;
        assert_near(&format!("row {row}"), &mine(&padded)?, &expected)?;
        assert_same_state(&format!("row {row}"), &next.select(&[row as u32])?, &last)?;
    }
    Ok(())
}

/// Packed rows of different lengths are padded at their ends.
#[test]
fn rows_are_packed_and_padded_at_once() -> Result<()> {
    let model = model(2, Scan::Chunked)?;
    let input = ids(&[2, 9], V, 1)?;
    let starts = sequence_starts(&[vec![4, 5], vec![2, 3]], &Device::Cpu)?;
    let mask = Tensor::new(&[[1u8; 9], [1, 1, 1, 1, 1, 0, 0, 0, 0]], &Device::Cpu)?;
    let tokens = Tokens { reset: Some(&starts), mask: Some(&mask) };
    let (output, state) = model.forward_from(&input, &model.zero_state(2)?, tokens)?;
    let alone = input.narrow(0, 1, 1)?.narrow(1, 2, 3)?;
    let (expected, last) = in_pieces(&model, &alone, &[3])?;
    assert_near("the last sequence", &output.narrow(0, 1, 1)?.narrow(1, 2, 3)?, &expected)?;
    assert_same_state("the last sequence", &state.select(&[1])?, &last)
}

#[rstest]
#[case::hole(&[1, 0, 1], "mask: row 0 has padding between its tokens")]
#[case::shape(&[1, 1], "mask: expected (b, l), actual [1, 2], with b=1 l=3")]
fn a_mask_that_does_not_fit_is_refused(#[case] mask: &[u8], #[case] message: &str) -> Result<()> {
    let model = model(2, Scan::Chunked)?;
    let mask = Tensor::new(mask, &Device::Cpu)?.unsqueeze(0)?;
    let error =
        model.forward_from(&ids(&[1, 3], V, 1)?, &model.zero_state(1)?, Tokens::padded(&mask));
    let error = error.unwrap_err().to_string();
    assert!(error.contains(message), "{error}");
    Ok(())
}
