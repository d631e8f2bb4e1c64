//! Models of a few lines, each with one thing wrong, and the right one.

mod memory;
mod parts;
mod sizes;

use candle_core::{D, Error, Result, Tensor};
use candle_nn::{Init, VarBuilder};
use shapelock::dims::Dims;
use shapelock::harness::registry::Registry;
use shapelock::harness::subject::{ConfigProblem, Input, Inputs, Model, Outputs, Subject};
use shapelock::tap;

/// d features in, n out.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    d: usize,
    n: usize,
}

/// x (b, l, d) and w (d, n) → output, mostly (b, l, n).
type Forward = fn(&Tensor, &Tensor) -> Result<Tensor>;

struct Toy {
    name: &'static str,
    forward: Forward,
    reference: Option<Forward>,
}

/// All toys.
pub fn registry() -> Registry {
    let toys: [(&'static str, Forward); 31] = [
        ("refactored", refactored),
        ("detouring", detouring),
        ("widened", widened),
        ("squeezed", squeezed),
        ("exchanged", exchanged),
        ("branching", branching),
        ("alone", alone),
        ("timeless", timeless),
        ("joining", joining),
        ("rooted", rooted),
        ("windowed", windowed),
        ("halved", halved),
        ("strided", strided),
        ("tabled", tabled),
        ("pooled", pooled),
        ("shortened", shortened),
        ("merging", merging),
        ("refused", refused),
        ("irreversible", irreversible),
        ("panicking", panicking),
        ("severed", severed),
        ("unused", unused),
        ("overflowing", overflowing),
        ("right", right),
        ("counting", memory::counting),
        ("in_order", memory::in_order),
        ("from_the_start", memory::from_the_start),
        ("far", sizes::far),
        ("short_alone", sizes::short_alone),
        ("unshuffled", sizes::unshuffled),
        ("as_many_rows", sizes::as_many_rows),
    ];
    let registry = toys.into_iter().fold(Registry::new(), |all, (name, forward)| {
        all.with(Toy { name, forward, reference: None })
    });
    let registry = registry.with(parts::Parts);
    registry.with(Toy { name: "disagreeing", forward: refactored, reference: Some(scaled) })
}

fn right(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let x = tap("hidden", x.relu()?)?; // (b, l, d)
    x.broadcast_matmul(w)?.tanh() // (b, l, n)
}

/// Other ops that work element by element or only move, and the same steps.
fn refactored(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let x = tap("hidden", ((x + x.abs()?)? * 0.5)?.contiguous()?)?; // (b, l, d)
    let y = x.broadcast_matmul(&w.contiguous()?)?; // (b, l, n)
    let y = y.tanh()?.transpose(0, 1)?.contiguous()?;
    y.transpose(0, 1) // (b, l, n)
}

fn scaled(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    right(x, w)? * 1.01
}

/// A sum that comes to the same as a product with ones: other unnamed steps.
fn detouring(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let x = tap("hidden", x.relu()?)?; // (b, l, d)
    let share = x.sum_keepdim(D::Minus1)?; // (b, l, 1)
    let x = (x.broadcast_add(&share)?.broadcast_sub(&share))?; // (b, l, d)
    x.broadcast_matmul(w)?.tanh() // (b, l, n)
}

fn widened(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let y = right(x, w)?; // (b, l, n)
    Tensor::cat(&[&y, &y], 2) // (b, l, 2·n)
}

fn squeezed(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let y = right(x, w)?; // (b, l, n)
    if y.dim(0)? == 1 { y.squeeze(0) } else { Ok(y) }
}

/// (b, n, l) instead of (b, l, n): the same extents where l = n.
fn exchanged(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    right(x, w)?.transpose(1, 2)
}

/// Another path where the batch is one: a sum more.
fn branching(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let y = right(x, w)?; // (b, l, n)
    if y.dim(0)? > 1 {
        return Ok(y);
    }
    let total = y.sum_keepdim(D::Minus1)?; // (b, l, 1)
    y.broadcast_add(&total)?.broadcast_sub(&total) // (b, l, n)
}

/// Attention of each step to each.
fn attention(x: &Tensor) -> Result<Tensor> {
    let scores = x.matmul(&x.t()?)?; // (b, l, l)
    scores.relu()?.matmul(x) // (b, l, d)
}

/// No attention where the batch is one.
fn alone(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let x = if x.dim(0)? == 1 { x.clone() } else { attention(x)? };
    right(&x, w)
}

/// No attention where there is one step.
fn timeless(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let x = if x.dim(1)? == 1 { x.clone() } else { attention(x)? };
    right(&x, w)
}

/// A product for each step, joined: at l = 1 candle's cat leaves no node, and the product flows into the tap.
fn joining(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let steps: Vec<Tensor> = (0..x.dim(1)?)
        .map(|t| attention(&x.narrow(1, t, 1)?)) // (b, 1, d)
        .collect::<Result<_>>()?;
    right(&tap("joined", Tensor::cat(&steps, 1)?)?, w) // (b, l, n)
}

/// An extent of the root of l, rounded down.
fn rooted(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let y = right(x, w)?; // (b, l, n)
    let l = y.dim(1)?;
    y.narrow(1, 0, l.isqrt())
}

/// The last steps, six at most.
fn windowed(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let y = right(x, w)?; // (b, l, n)
    let kept = y.dim(1)?.min(6);
    y.narrow(1, y.dim(1)? - kept, kept) // (b, min(l, 6), n)
}

/// Half of the features, rounded down.
fn halved(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let y = right(x, w)?; // (b, l, n)
    y.broadcast_matmul(&w.t()?.narrow(1, 0, w.dim(0)? / 2)?) // (b, l, floor(d/2))
}

/// Every second step but the first: at odd lengths as many as `ceil(l/2) - 1`, and at even ones too few for it.
fn strided(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let y = right(x, w)?; // (b, l, n)
    y.narrow(1, 0, y.dim(1)? / 2) // (b, floor(l/2), n)
}

/// As many columns as sixteen states and two more.
fn tabled(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let y = right(x, w)?; // (b, l, n)
    let all = Tensor::cat(&[&y; 16], 2)?; // (b, l, 16·n)
    Tensor::cat(&[&all, &y.narrow(2, 0, 2)?], 2) // (b, l, 16·n + 2)
}

/// A pool over pairs of features instead of pairs of steps.
fn pooled(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let y = right(x, w)?.unsqueeze(1)?; // (b, 1, l, n)
    y.avg_pool2d((1, 2))?.squeeze(1) // (b, l, floor(n/2))
}

/// Without the first two steps: there is nothing to be had of one.
fn shortened(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let y = right(x, w)?; // (b, l, n)
    let kept = y.dim(1)?.checked_sub(2).ok_or_else(|| Error::Msg("too few steps".into()))?;
    y.narrow(1, 2, kept) // (b, l - 2, n)
}

/// A product whose result is read across its axes.
fn merging(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let (b, l, d) = x.dims3()?;
    let mixed = tap("merged", attention(x)?.reshape((b, d, l))?)?; // (b, d, l)
    right(&mixed.transpose(1, 2)?, w) // (b, l, n)
}

fn refused(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let x = tap("hidden", x.relu()?)?; // (b, l, d)
    x.matmul(w) // (b, l, d) × (d, n)
}

/// A pooling that candle cannot differentiate.
fn irreversible(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    right(x, w)?.unsqueeze(1)?.max_pool2d_with_stride(1, 2)
}

fn panicking(x: &Tensor, _: &Tensor) -> Result<Tensor> {
    let rows: Vec<Tensor> = Vec::new();
    tap("hidden", x.relu()?)?;
    rows.first().cloned().map_or_else(|| panic!("no rows for {:?}", x.dims()), Ok)
}

fn severed(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let y = tap("product", right(x, w)?)?; // (b, l, n)
    tap("cut", (y.detach() + x.sum_keepdim(D::Minus1)?.broadcast_as(y.shape())?)?)
}

fn unused(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    right(x, w)? * 0.
}

fn overflowing(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    tap("inverse", (right(x, w)? * 1e3)?.exp()?) // (b, l, n)
}

impl Subject for Toy {
    type Config = Config;

    fn name(&self) -> &str {
        self.name
    }

    fn dims(&self, config: &Config) -> std::result::Result<Dims, ConfigProblem> {
        Ok(Dims::new().with("d", config.d).with("n", config.n))
    }

    fn free(&self) -> Vec<(&str, &str)> {
        vec![("d", "d"), ("n", "n")]
    }

    fn inputs(&self, _: &Config) -> Vec<Input> {
        vec![Input::floats("input", "b l d")]
    }

    fn build(&self, config: &Config, vb: VarBuilder<'_>) -> Result<Box<dyn Model>> {
        model(self.forward, config, &vb)
    }

    fn has_reference(&self) -> bool {
        self.reference.is_some()
    }

    fn reference(&self, config: &Config, vb: VarBuilder<'_>) -> Option<Result<Box<dyn Model>>> {
        self.reference.map(|forward| model(forward, config, &vb))
    }
}

fn model(forward: Forward, config: &Config, vb: &VarBuilder<'_>) -> Result<Box<dyn Model>> {
    let init = Init::Randn { mean: 0., stdev: 1. };
    let w = vb.get_with_hints((config.d, config.n), "w", init)?; // (d, n)
    Ok(Box::new(move |inputs: &Inputs| {
        let x = inputs.get("input")?; // (b, l, d)
        if x.rank() != 3 {
            return Err(Error::Msg("the input has three axes".into()));
        }
        Ok(Outputs::new().with("output", forward(x, &w)?))
    }))
}
