//! The samples of a batch, joined on a wrong axis by what loads them.
//!
//! Each of b samples is (1, l, d). Right is their own batch axis: (b, l, d).

use candle_core::{Result, Tensor};
use shapelock::tap;

use super::kit::{BATCH, Small, small};
use super::ssm::{SSM, output, project, states};

/// The right twin, four wrong forms, and an axis that does not exist, which is not looked at where b = 1.
pub fn subjects() -> Vec<Small> {
    vec![
        loaded("samples_cat_0", |samples| {
            tap("batch", Tensor::cat(samples, 0)?) // (b, l, d)
        }),
        loaded("samples_cat_1", |samples| {
            tap("batch", Tensor::cat(samples, 1)?) // ~fault
        }),
        loaded("samples_cat_2", |samples| {
            tap("batch", Tensor::cat(samples, 2)?) // ~fault
        }),
        loaded("samples_cat_3", |samples| {
            tap("batch", Tensor::cat(samples, 3)?) // ~fault
        }),
        loaded("samples_stack", |samples| {
            tap("batch", Tensor::stack(samples, 0)?) // ~fault
        }),
        loaded("samples_squeeze_cat_0", |samples| {
            let samples: Vec<Tensor> =
                samples.iter().map(|s| s.squeeze(0)).collect::<Result<_>>()?;
            tap("batch", Tensor::cat(&samples, 0)?) // ~fault
        }),
    ]
}

/// The bug report's model behind a loader that joins the samples (1, l, d) by `join`.
fn loaded(name: &'static str, join: fn(&[Tensor]) -> Result<Tensor>) -> Small {
    small(name, BATCH, SSM, move |parts| {
        let x = parts.get("input")?; // (b, l, d)
        let samples: Vec<Tensor> =
            (0..x.dim(0)?).map(|i| x.narrow(0, i, 1)).collect::<Result<_>>()?; // (1, l, d) each
        let u = project(parts, &join(&samples)?)?; // (b, l, n)
        let states = Tensor::stack(&states(&u, &parts.get("A")?)?, 1)?;
        output(parts, &tap("states", states)?) // (b, l, i)
    })
}
