//! Samples of unequal length: all are l long but the last, which lacks a token.

use candle_core::{Result, Tensor};
use shapelock::tap;

use super::kit::{BATCH, Small, small};
use super::ssm::{SSM, output, project, states};

/// The right twin pads; one joins on the batch axis as they are, and one on time.
pub fn subjects() -> Vec<Small> {
    vec![
        loaded("ragged_padded", |samples, l| {
            let pad = |s: &Tensor| s.pad_with_zeros(1, 0, l - s.dim(1)?);
            let samples: Vec<Tensor> = samples.iter().map(pad).collect::<Result<_>>()?;
            tap("batch", Tensor::cat(&samples, 0)?) // (b, l, d)
        }),
        loaded("ragged_cat_0", |samples, _| {
            tap("batch", Tensor::cat(samples, 0)?) // ~fault
        }),
        loaded("ragged_cat_1", |samples, _| {
            tap("batch", Tensor::cat(samples, 1)?) // ~fault
        }),
    ]
}

/// The bug report's model behind a loader that joins the samples by `join`, which is told l.
fn loaded(name: &'static str, join: fn(&[Tensor], usize) -> Result<Tensor>) -> Small {
    small(name, BATCH, SSM, move |parts| {
        let x = parts.get("input")?; // (b, l, d)
        let (b, l, _) = x.dims3()?;
        let sample = |i| x.narrow(0, i, 1)?.narrow(1, 0, if i + 1 == b { l - 1 } else { l });
        let samples: Vec<Tensor> = (0..b).map(sample).collect::<Result<_>>()?; // (1, ≤ l, d) each
        let u = project(parts, &join(&samples, l)?)?; // (b, l, n)
        let states = Tensor::stack(&states(&u, &parts.get("A")?)?, 1)?;
        output(parts, &tap("states", states)?) // (b, l, i)
    })
    .mixing_rows()
}
