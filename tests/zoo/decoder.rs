//! Attention of a decoder: places, masks, scales and what it remembers.

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::ops::softmax;
use candle_nn::rotary_emb::{rope_i_slow, rope_slow};
use shapelock::tap;

use super::kit::{BATCH, Parts, Small, small};

const HEADS: &[(&str, &str)] = &[("query.weight", "(h p) d"), ("key.weight", "(h p) d")];

/// Each right twin, and the faults after it.
pub fn subjects() -> Vec<Small> {
    vec![
        turned("rope_of_halves", |q, k, angles| {
            tap("scores", halves(q, angles)?.matmul(&halves(k, angles)?.t()?)?) // (b, h, l, l)
        }),
        turned("rope_of_neighbours", |q, k, angles| {
            let neighbours = |x| rope_i_slow(x, &angles.cos()?, &angles.sin()?);
            tap("scores", neighbours(q)?.matmul(&neighbours(k)?.t()?)?) // ~fault
        }),
        turned("rope_on_query_alone", |q, k, angles| {
            tap("scores", halves(q, angles)?.matmul(&k.t()?)?) // ~fault
        }),
        scored("scores_over_root_of_head", |scores, parts| {
            tap("scaled", (scores / (parts.dim("p") as f64).sqrt())?) // (b, h, l, l)
        }),
        scored("scores_over_root_of_model", |scores, parts| {
            tap("scaled", (scores / (parts.dim("d") as f64).sqrt())?) // ~fault
        }),
        scored("scores_of_past_and_self", |scores, _| {
            tap("hidden", hidden(scores, 0)?) // (b, h, l, l)
        })
        .causal(),
        scored("scores_of_past_alone", |scores, _| {
            tap("hidden", hidden(scores, 1)?) // ~fault
        })
        .causal(),
        remembered("cache_joined_in_time", |cache, k| tap("seen", Tensor::cat(&[cache, k], 2)?)),
        remembered("cache_joined_on_heads", |cache, k| tap("seen", Tensor::cat(&[cache, k], 1)?)), // ~fault
    ]
}

/// Scores that `score` makes of queries, keys, (b, h, l, p) each, and the angles of places: (b, l, d) → (b, h, l, l).
fn turned(name: &'static str, score: fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor>) -> Small {
    small(name, BATCH, HEADS, move |parts| {
        let (q, k) = (heads(parts, "query.weight")?, heads(parts, "key.weight")?);
        let (_, _, l, p) = q.dims4()?;
        let angles = (0..l * (p / 2)).map(|i| i as f64 * 0.1).collect();
        let angles = Tensor::from_vec(angles, (l, p / 2), q.device())?.to_dtype(q.dtype())?;
        score(&q, &k, &angles)
    })
}

fn halves(x: &Tensor, angles: &Tensor) -> Result<Tensor> {
    rope_slow(x, &angles.cos()?, &angles.sin()?)
}

/// Attention by what `make` makes of the scores (b, h, l, l): (b, l, d) → (b, h, l, p).
fn scored(name: &'static str, make: fn(&Tensor, &Parts<'_>) -> Result<Tensor>) -> Small {
    small(name, BATCH, HEADS, move |parts| {
        let (q, k) = (heads(parts, "query.weight")?, heads(parts, "key.weight")?);
        let scores = tap("scores", q.matmul(&k.t()?)?)?; // (b, h, l, l)
        let weights = softmax(&make(&scores, parts)?, 3)?; // (b, h, l, l)
        tap("attended", weights.matmul(&k)?) // (b, h, l, p)
    })
}

/// Scores (b, h, l, l), and next to nothing where a key stands less than `before` places before the query.
fn hidden(scores: &Tensor, before: usize) -> Result<Tensor> {
    let l = scores.dim(2)?;
    let seen = (0..l * l).map(|at| u8::from(at % l + before <= at / l)).collect();
    let seen = Tensor::from_vec(seen, (l, l), &Device::Cpu)?.to_dtype(DType::U8)?;
    let nothing = (scores.zeros_like()? - 1e9)?;
    seen.broadcast_as(scores.shape())?.where_cond(scores, &nothing)
}

/// The mean of all keys up to each place, with those in a cache joined by `join`: (b, l, d) → (b, l, h·p).
fn remembered(name: &'static str, join: fn(&Tensor, &Tensor) -> Result<Tensor>) -> Small {
    let small = small(name, BATCH, HEADS, move |parts| {
        let (q, k) = (heads(parts, "query.weight")?, heads(parts, "key.weight")?);
        let (b, h, l, p) = k.dims4()?;
        let none = Tensor::zeros((b, h, 0, p), k.dtype(), k.device())?;
        let cache = parts.state.unwrap_or(&none);
        let seen = if parts.state.is_some() { join(cache, &k)? } else { tap("seen", k)? };
        parts.leave(seen.clone());
        let past = cache.dim(2)?;
        let scores = tap("scores", q.matmul(&seen.t()?)?)?; // (b, h, l, past + l)
        let below =
            (0..l * (past + l)).map(|at| u8::from(at % (past + l) <= at / (past + l) + past));
        let below = Tensor::from_vec(below.collect(), (l, past + l), &Device::Cpu)?;
        let kept = scores.broadcast_mul(&below.to_dtype(scores.dtype())?)?; // (b, h, l, past + l)
        kept.matmul(&seen)?.transpose(1, 2)?.reshape((b, l, h * p))
    });
    small.streaming()
}

fn heads(parts: &Parts<'_>, weight: &str) -> Result<Tensor> {
    let x = parts.get("input")?.broadcast_matmul(&parts.get(weight)?.t()?)?;
    let ((b, l, _), h, p) = (x.dims3()?, parts.dim("h"), parts.dim("p"));
    x.reshape((b, l, h, p))?.transpose(1, 2)?.contiguous() // (b, h, l, p)
}
