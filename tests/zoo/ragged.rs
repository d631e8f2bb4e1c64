//! Samples of unequal length: two in each row, one of which lacks a token.

use candle_core::{Result, Tensor};
use shapelock::tap;

use super::kit::{Small, small};
use super::ssm::{SSM, output, project, states};

const PAIRS: &[(&str, &str)] = &[("whole", "b l d"), ("short", "b l-1 d")];

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
    small(name, PAIRS, SSM, move |parts| {
        let (whole, short) = (parts.get("whole")?, parts.get("short")?); // (b, l, d), (b, l - 1, d)
        let (b, l, _) = whole.dims3()?;
        let pair = |i| [whole.narrow(0, i, 1), short.narrow(0, i, 1)]; // (1, l, d), (1, l - 1, d)
        let samples: Vec<Tensor> = (0..b).flat_map(pair).collect::<Result<_>>()?;
        let u = project(parts, &join(&samples, l)?)?; // (b, l, n)
        let states = Tensor::stack(&states(&u, &parts.get("A")?)?, 1)?;
        let y = output(parts, &tap("states", states)?)?; // (2·b, l, i)
        let (n, l, i) = y.dims3()?;
        if n == 2 * b { y.reshape((b, 2, l, i)) } else { Ok(y) } // (b, 2, l, i)
    })
}
