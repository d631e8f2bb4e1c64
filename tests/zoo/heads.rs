//! Heads: split off, moved, masked and grouped.

use candle_core::{Device, Result, Tensor};
use shapelock::tap;

use super::kit::{BATCH, Parts, Small, small};

const QUERY: &[(&str, &str)] = &[("query.weight", "(h p) d")];
const GROUPED: &[(&str, &str)] = &[("B.weight", "(g n) d"), ("C.weight", "(h n) d")];

/// Right twins and faults.
pub fn subjects() -> Vec<Small> {
    let interleaved = grouped("groups_interleaved", |b, times| {
        let (rows, l, g, n) = b.dims4()?;
        let b = b.unsqueeze(3)?.broadcast_as((rows, l, g, times, n))?;
        tap("B", b.reshape((rows, l, g * times, n))?) // (b, l, h, n)
    });
    vec![
        attention("query_in_rows", |q, [b, l, h, p]| {
            tap("query", q.transpose(1, 2)?.reshape((b * h, l, p))?) // (b·h, l, p)
        }),
        attention("query_split", |q, [b, l, h, p]| {
            tap("query", q.transpose(1, 2)?.reshape((b, h, l, p))?) // ~fault
        }),
        small("query_heads_before_batch", BATCH, QUERY, |parts| {
            let (q, [b, l, h, p]) = split(parts)?;
            let q = tap("query", q.permute((2, 0, 1, 3))?.reshape((h * b, l, p))?)?;
            tap("scores", q.matmul(&q.t()?.contiguous()?)?.reshape((b, h, l, l))?) // ~fault
        }),
        attention("query_not_transposed", |q, [b, l, h, p]| {
            tap("query", q.reshape((b * h, l, p))?) // ~fault
        }),
        merged("heads_merged", |y, [b, l, h, p]| {
            tap("merged", y.transpose(1, 2)?.reshape((b, l, h * p))?) // (b, l, h·p)
        }),
        merged("heads_merged_untransposed", |y, [b, l, h, p]| {
            tap("merged", y.reshape((b, l, h * p))?) // ~fault
        }),
        merged("heads_merged_permuted", |y, _| {
            tap("merged", y.permute((2, 0, 1, 3))?.flatten_from(2)?) // ~fault
        }),
        masked("mask_for_all_rows", |below, _, l| {
            Tensor::from_vec(below, (1, 1, l, l), &Device::Cpu) // (1, 1, l, l)
        }),
        masked("mask_shaped_for_each_row", |below, b, l| {
            Tensor::from_vec(below, (b, 1, l, l), &Device::Cpu) // ~fault
        }),
        grouped("groups_tiled", |b, times| {
            tap("B", b.repeat((1, 1, times, 1))?) // ~fault
        })
        .against(&interleaved),
        interleaved,
    ]
}

/// Queries (b, l, h, p), laid out for a batched product by `lay`, against themselves.
fn attention(name: &'static str, lay: fn(&Tensor, [usize; 4]) -> Result<Tensor>) -> Small {
    small(name, BATCH, QUERY, move |parts| {
        let (q, dims) = split(parts)?;
        let q = lay(&q, dims)?.contiguous()?; // (b·h, l, p)
        let [b, l, h, _] = dims;
        tap("scores", q.matmul(&q.t()?.contiguous()?)?.reshape((b, h, l, l))?) // (b, h, l, l)
    })
}

/// Heads (b, h, l, p), merged by `merge` into (b, l, h·p).
fn merged(name: &'static str, merge: fn(&Tensor, [usize; 4]) -> Result<Tensor>) -> Small {
    small(name, BATCH, QUERY, move |parts| {
        let (q, dims) = split(parts)?;
        merge(&tap("heads", q.transpose(1, 2)?.contiguous()?)?, dims)
    })
}

/// Scores (b, h, l, l) under a causal mask, made by `make` of l·l values, b and l.
fn masked(name: &'static str, make: fn(Vec<f32>, usize, usize) -> Result<Tensor>) -> Small {
    small(name, BATCH, QUERY, move |parts| {
        let (q, [b, l, ..]) = split(parts)?;
        let q = q.transpose(1, 2)?.contiguous()?; // (b, h, l, p)
        let scores = tap("scores", q.matmul(&q.t()?.contiguous()?)?)?; // (b, h, l, l)
        let below = (0..l * l).map(|at| if at % l > at / l { 0f32 } else { 1. }).collect();
        tap("masked", scores.broadcast_mul(&make(below, b, l)?)?) // (b, h, l, l)
    })
}

/// B in groups (b, l, g, n), spread over heads by `spread`, against C in heads: (b, l, h).
fn grouped(name: &'static str, spread: fn(&Tensor, usize) -> Result<Tensor>) -> Small {
    small(name, BATCH, GROUPED, move |parts| {
        let x = parts.get("input")?; // (b, l, d)
        let (batch, l, _) = x.dims3()?;
        let [g, h, n] = ["g", "h", "n"].map(|symbol| parts.dim(symbol));
        let b = x.broadcast_matmul(&parts.get("B.weight")?.t()?)?.reshape((batch, l, g, n))?;
        let c = x.broadcast_matmul(&parts.get("C.weight")?.t()?)?.reshape((batch, l, h, n))?;
        (spread(&b, h / g)? * c)?.sum(3) // (b, l, h)
    })
}

/// Queries in heads (b, l, h, p), and these four sizes.
fn split(parts: &Parts<'_>) -> Result<(Tensor, [usize; 4])> {
    let q = parts.get("input")?.broadcast_matmul(&parts.get("query.weight")?.t()?)?;
    let ((b, l, _), h, p) = (q.dims3()?, parts.dim("h"), parts.dim("p"));
    Ok((tap("queries", q.reshape((b, l, h, p))?)?, [b, l, h, p])) // (b, l, h, p)
}
