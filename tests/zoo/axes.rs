//! The right op along the wrong axis, where the shape is often right.

use candle_core::{D, Result, Tensor};
use candle_nn::ops::softmax;
use shapelock::tap;

use super::kit::{BATCH, Parts, Small, scaled, small};

const GROUPS: &[(&str, &str)] = &[("input", "b l (g p)")];
const HEADS: &[(&str, &str)] = &[("query.weight", "(h p) d"), ("key.weight", "(h p) d")];
const EXPERTS: &[(&str, &str)] = &[("router.weight", "n d")];

/// Right twins and faults.
pub fn subjects() -> Vec<Small> {
    vec![
        scaled("sums_over_time", |x| tap("sums", x.cumsum(1)?)), // (b, l, d)
        scaled("sums_over_rows", |x| tap("sums", x.cumsum(0)?)), // ~fault
        grouped("groups_of_neighbours", |x, [b, l, g, p]| {
            tap("normed", normed(&x.reshape((b, l, g, p))?)?) // (b, l, g, p)
        }),
        grouped("groups_of_every_other", |x, [b, l, g, p]| {
            tap("normed", normed(&x.reshape((b, l, p, g))?.transpose(2, 3)?)?) // ~fault
        }),
        scaled("each_token_twice", |x| {
            let (b, l, d) = x.dims3()?;
            let twice = x.unsqueeze(2)?.broadcast_as((b, l, 2, d))?; // (b, l, 2, d)
            tap("twice", twice.reshape((b, 2 * l, d))?) // (b, 2·l, d)
        }),
        scaled("all_tokens_twice", |x| tap("twice", x.repeat((1, 2, 1))?)), // ~fault
        scaled("pooled_in_time", |x| {
            tap("pooled", x.unsqueeze(1)?.max_pool2d((2, 1))?.squeeze(1)?) // (b, l / 2, d)
        }),
        scaled("pooled_in_features", |x| {
            tap("pooled", x.unsqueeze(1)?.max_pool2d((1, 2))?.squeeze(1)?) // ~fault
        }),
        attention("scores_of_queries", |q, k| {
            tap("scores", softmax(&q.matmul(&k.t()?)?, D::Minus1)?) // (b, h, l, l)
        }),
        attention("scores_of_keys", |q, k| {
            tap("scores", softmax(&k.matmul(&q.t()?)?, D::Minus1)?) // ~fault
        }),
        attention("scores_softened_over_heads", |q, k| {
            tap("scores", softmax(&q.matmul(&k.t()?)?, 1)?) // ~fault
        }),
        routed("routed_by_token", |odds| tap("best", odds.max_keepdim(2)?)), // (b, l, 1)
        routed("routed_by_expert", |odds| tap("best", odds.max_keepdim(1)?)), // ~fault
    ]
}

/// What is made of gain · x in groups: (b, l, g·p) → (b, l, g, p).
fn grouped(name: &'static str, make: fn(&Tensor, [usize; 4]) -> Result<Tensor>) -> Small {
    small(name, GROUPS, &[("gain", "(g p)")], move |parts| {
        let x = parts.get("input")?.broadcast_mul(&parts.get("gain")?)?; // (b, l, g·p)
        let (b, l, _) = x.dims3()?;
        make(&x, [b, l, parts.dim("g"), parts.dim("p")])
    })
}

/// Attention in heads, with scores made of queries and keys, (b, h, l, p) each: (b, l, d) → (b, h, l, p).
fn attention(name: &'static str, score: fn(&Tensor, &Tensor) -> Result<Tensor>) -> Small {
    small(name, BATCH, HEADS, move |parts| {
        let (q, k) = (heads(parts, "query.weight")?, heads(parts, "key.weight")?);
        score(&q, &k)?.matmul(&k) // (b, h, l, p)
    })
}

/// x · how likely its best expert is: (b, l, d) → (b, l, d).
fn routed(name: &'static str, best: fn(&Tensor) -> Result<Tensor>) -> Small {
    small(name, BATCH, EXPERTS, move |parts| {
        let (x, w) = (parts.get("input")?, parts.get("router.weight")?); // (b, l, d), (n, d)
        let odds = tap("odds", softmax(&x.broadcast_matmul(&w.t()?)?, 2)?)?; // (b, l, n)
        tap("weighed", x.broadcast_mul(&best(&odds)?.narrow(2, 0, 1)?)?) // (b, l, d)
    })
}

fn heads(parts: &Parts<'_>, weight: &str) -> Result<Tensor> {
    let x = parts.get("input")?.broadcast_matmul(&parts.get(weight)?.t()?)?;
    let ((b, l, _), h, p) = (x.dims3()?, parts.dim("h"), parts.dim("p"));
    x.reshape((b, l, h, p))?.transpose(1, 2)?.contiguous() // (b, h, l, p)
}

fn normed(x: &Tensor) -> Result<Tensor> {
    let mean = x.sqr()?.mean_keepdim(D::Minus1)?;
    x.broadcast_div(&(mean + 1e-5)?.sqrt()?)
}
