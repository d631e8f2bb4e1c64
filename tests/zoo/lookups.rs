//! Tables, tokens and caches that are looked up in the wrong place.

use candle_core::{DType, Result, Tensor};
use candle_nn::kv_cache::Cache;
use shapelock::tap;

use super::kit::{BATCH, Parts, Small, small};

const TABLE: &[(&str, &str)] = &[("table.weight", "v d")];
const GAIN: &[(&str, &str)] = &[("gain", "d")];
const KEY: &[(&str, &str)] = &[("query.weight", "n d"), ("key.weight", "n d")];
const TIED: &[(&str, &str)] = &[("gain", "d"), ("embedding.weight", "v d")];

/// Right twins and faults.
pub fn subjects() -> Vec<Small> {
    vec![
        placed("place_of_token", |table, b, l| {
            tap("places", rows(table, l)?.unsqueeze(0)?.broadcast_as((b, l, table.dim(1)?))?)
        }),
        placed("place_of_row", |table, b, l| {
            tap("places", rows(table, b)?.unsqueeze(1)?.broadcast_as((b, l, table.dim(1)?))?) // ~fault
        }),
        scaled("last_token", |x| tap("last", x.index_select(&end(x, 1)?, 1)?)), // (b, 1, d)
        scaled("last_feature", |x| tap("last", x.index_select(&end(x, 2)?, 2)?)), // ~fault
        scaled("turned_in_time", |x| tap("turned", x.index_select(&backwards(x, 1)?, 1)?)),
        scaled("turned_in_rows", |x| tap("turned", x.index_select(&backwards(x, 0)?, 0)?)), // ~fault
        keyed("query_and_key", |parts, x| {
            tap("key", x.broadcast_matmul(&parts.get("key.weight")?.t()?)?) // (b, l, n)
        }),
        keyed("query_for_key", |parts, x| {
            tap("key", x.broadcast_matmul(&parts.get("query.weight")?.t()?)?) // ~fault
        }),
        keyed("key_in_a_cache", |parts, x| {
            let key = tap("key", x.broadcast_matmul(&parts.get("key.weight")?.t()?)?)?; // (b, l, n)
            let mut cache = Cache::new(1, x.dim(1)?);
            cache.append(&key.contiguous()?)?;
            tap("cached", cache.current_data()?.unwrap_or(key)) // ~fault
        }),
        tied("tied_head", |x, table| tap("logits", x.broadcast_matmul(&table.t()?)?)), // (b, l, v)
        tied("tied_head_untransposed", |x, table| tap("logits", x.broadcast_matmul(table)?)), // ~fault
    ]
}

/// x and what stands in a table, by `lookup` at b and l: (b, l, d) → (b, l, d).
fn placed(name: &'static str, lookup: fn(&Tensor, usize, usize) -> Result<Tensor>) -> Small {
    small(name, BATCH, TABLE, move |parts| {
        let x = parts.get("input")?; // (b, l, d)
        let (b, l, _) = x.dims3()?;
        tap("placed", (&x + lookup(&parts.get("table.weight")?, b, l)?)?) // (b, l, d)
    })
}

/// What is made of gain · x: (b, l, d) → what it makes.
fn scaled(name: &'static str, make: fn(&Tensor) -> Result<Tensor>) -> Small {
    small(name, BATCH, GAIN, move |parts| make(&gained(parts)?))
}

/// Queries against keys that `make` makes of x: (b, l, d) → (b, l, l).
fn keyed(name: &'static str, make: fn(&Parts<'_>, &Tensor) -> Result<Tensor>) -> Small {
    small(name, BATCH, KEY, move |parts| {
        let x = parts.get("input")?; // (b, l, d)
        let query = x.broadcast_matmul(&parts.get("query.weight")?.t()?)?; // (b, l, n)
        tap("scores", query.matmul(&make(parts, &x)?.t()?)?) // (b, l, l)
    })
}

/// A head that takes the table of an embedding: (b, l, d) → (b, l, v).
fn tied(name: &'static str, head: fn(&Tensor, &Tensor) -> Result<Tensor>) -> Small {
    small(name, BATCH, TIED, move |parts| head(&gained(parts)?, &parts.get("embedding.weight")?))
}

fn gained(parts: &Parts<'_>) -> Result<Tensor> {
    tap("gained", parts.get("input")?.broadcast_mul(&parts.get("gain")?)?) // (b, l, d)
}

/// The first n rows of a table (v, d), one after another and from the start again: (n, d).
fn rows(table: &Tensor, n: usize) -> Result<Tensor> {
    let v = table.dim(0)?;
    let ids: Vec<u32> = (0..n).map(|i| (i % v) as u32).collect();
    table.index_select(&Tensor::from_vec(ids, n, table.device())?, 0)
}

/// The last index of an axis: (1).
fn end(x: &Tensor, axis: usize) -> Result<Tensor> {
    Tensor::full(x.dim(axis)? as u32 - 1, 1, x.device())?.to_dtype(DType::U32)
}

/// The indices of an axis, the last one first.
fn backwards(x: &Tensor, axis: usize) -> Result<Tensor> {
    let n = x.dim(axis)? as u32;
    Tensor::from_vec((0..n).rev().collect(), n as usize, x.device())
}
