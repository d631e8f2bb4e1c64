//! The scan, and the whole core of a mixer around it, as one op on the CPU.
//!
//! Candle runs a chain of small ops, most of them on one thread, and keeps what each gives for the backward pass. Here
//! the chain is one op whose two passes are written by hand: it reads zxbcdt once, holds the state in registers, runs
//! batch rows and heads side by side, and keeps nothing but its inputs. What it computes is the sequential scan's.
//!
//! From the ground up: `real` numbers and vectors, `exp`; `recurrence` one head's state in registers, and `head` with
//! the inputs' factors; `convolution`, `steps` and `gate` around it; `forward` and `backward` over all heads; `op` for candle.
mod backward;
mod convolution;
mod exp;
mod forward;
mod gate;
mod head;
mod op;
mod real;
mod recurrence;
mod spec;
mod steps;
mod tasks;

use candle_core::{Result, Tensor};

use super::{Inputs, Output, Sizes};
use spec::Spec;

/// Scans in one op. There are no taps.
pub(super) fn scan(inputs: &Inputs, sizes: Sizes) -> Result<Output> {
    let Sizes { b, l, h, p, g, n } = sizes;
    let x = inputs.x.reshape((b, l, h * p))?;
    let (bmat, cmat) = (inputs.bmat.reshape((b, l, g * n))?, inputs.cmat.reshape((b, l, g * n))?);
    let sequence = Tensor::cat(&[&x, &bmat, &cmat, inputs.dt], 2)?; // (b, l, h·p + 2·g·n + h)
    let d = match inputs.d {
        Some(d) => d.clone(),
        None => inputs.a.zeros_like()?,
    }; // (h) or (h, p)
    let small = Tensor::cat(&[inputs.a, &d.flatten_all()?], 0)?; // (h + h) or (h + h·p)
    let spec = Spec {
        sizes,
        d_per_feature: d.rank() == 2,
        reset: inputs.reset.map(marks).transpose()?,
        mixer: None,
    };
    let (y, state) = op::apply(spec, &sequence, &small, &inputs.start(sizes)?)?;
    Ok(Output { y: y.reshape((b, l, h, p))?, state })
}

/// Where the state is reset (b·l).
fn marks(reset: &Tensor) -> Result<Vec<bool>> {
    let marks = reset.ne(0u32)?.flatten_all()?.to_vec1::<u8>()?;
    Ok(marks.into_iter().map(|mark| mark == 1).collect())
}
