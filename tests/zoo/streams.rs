//! Models that read a sequence in pieces, and lose or mistake what was before.

use candle_core::{Result, Tensor};
use candle_nn::{ops::softmax, rotary_emb::rope_slow};
use shapelock::tap;

use super::kit::{BATCH, Parts, Small, small};

const GAIN: &[(&str, &str)] = &[("gain", "d")];
const QUERY: &[(&str, &str)] = &[("query.weight", "d d"), ("key.weight", "d d")];

/// Right twins and faults.
pub fn subjects() -> Vec<Small> {
    vec![
        rotated("rope_from_offset", |places, offset| tap("places", places.broadcast_add(&offset)?)),
        rotated("rope_from_loop_index", |places, _| tap("places", places)), // ~fault
        rotated("rope_from_the_end", |places, offset| {
            let back = places.affine(-1., places.dim(0)? as f64)?; // (l, 1)
            tap("places", back.broadcast_add(&offset)?) // ~fault
        }),
        windowed("window_of_the_last_piece", |parts, x| {
            parts.leave(x.narrow(1, x.dim(1)? - 1, 1)?); // (b, 1, d)
            tap("beside", beside(parts.state, x)?) // (b, l, d)
        }),
        windowed("window_left_behind", |parts, x| {
            let last = x.narrow(1, x.dim(1)? - 1, 1)?; // (b, 1, d)
            let left = parts.kept.borrow().clone();
            if parts.state.is_some() {
                parts.kept.replace(Some(last.detach()));
            }
            parts.leave(last);
            tap("beside", beside(parts.state.or(left.as_ref()), x)?) // ~fault
        }),
        windowed("window_of_the_first_piece", |parts, x| {
            parts.leave(parts.state.unwrap_or(&x.narrow(1, x.dim(1)? - 1, 1)?).clone());
            tap("beside", beside(parts.state, x)?) // ~fault
        }),
        attention("cache_of_the_prompt", of_the_prompt, |scores| {
            scores.broadcast_add(&future(scores, scores.dim(2)?)?) // (b, l, m + l)
        }),
        attention(
            "cache_of_all_prompts",
            |parts, x| tap("seen", joined(parts.kept.take(), x)?), // ~fault
            |scores| scores.broadcast_add(&future(scores, scores.dim(2)?)?),
        ),
        attention("cache_under_square_mask", of_the_prompt, |scores| {
            scores.broadcast_add(&future(scores, scores.dim(1)?)?) // ~fault
        }),
    ]
}

/// What `sum` makes of gain · x and the state: (b, l, d) → (b, l, d).
fn windowed(name: &'static str, sum: fn(&Parts<'_>, &Tensor) -> Result<Tensor>) -> Small {
    let small = small(name, BATCH, GAIN, move |parts| {
        sum(parts, &parts.get("input")?.broadcast_mul(&parts.get("gain")?)?)
    });
    small.streaming()
}

/// x_t + x_{t−1}, after the last token that was read before, if there is one: (b, l, d).
fn beside(before: Option<&Tensor>, x: &Tensor) -> Result<Tensor> {
    let zeros = x.narrow(1, 0, 1)?.zeros_like()?; // (b, 1, d)
    let all = Tensor::cat(&[before.unwrap_or(&zeros), x], 1)?; // (b, l + 1, d)
    x + all.narrow(1, 0, x.dim(1)?)?
}

/// gain · x, turned by its place in the sequence, which is `place`(0..l, how many were read before): (b, l, d) → (b, l, d).
fn rotated(name: &'static str, place: fn(Tensor, Tensor) -> Result<Tensor>) -> Small {
    let small = small(name, BATCH, GAIN, move |parts| {
        let x = parts.get("input")?.broadcast_mul(&parts.get("gain")?)?; // (b, l, d)
        let (l, d) = (x.dim(1)?, x.dim(2)?);
        let none = || Tensor::zeros((1, 1), x.dtype(), x.device());
        let offset = parts.state.cloned().map_or_else(none, Ok)?; // (1, 1)
        parts.leave((&offset + l as f64)?);
        let places =
            Tensor::arange(0u32, l as u32, x.device())?.to_dtype(x.dtype())?.unsqueeze(1)?;
        let places = place(places, offset)?; // (l, 1)
        let angles = places.broadcast_as((l, d / 2))?.contiguous()?; // (l, d / 2)
        let x = x.unsqueeze(1)?; // (b, 1, l, d)
        tap("rotated", rope_slow(&x, &angles.cos()?, &angles.sin()?)?.squeeze(1)?) // (b, l, d)
    });
    small.streaming()
}

/// One head of attention over all that is `seen`, by the scores as `mask` leaves them: (b, l, d) → (b, l, d).
fn attention(
    name: &'static str,
    seen: fn(&Parts<'_>, Tensor) -> Result<Tensor>,
    mask: fn(&Tensor) -> Result<Tensor>,
) -> Small {
    let small = small(name, BATCH, QUERY, move |parts| {
        let x = parts.get("input")?; // (b, l, d)
        let seen = seen(parts, x.clone())?; // (b, m + l, d)
        parts.leave(seen.clone());
        parts.kept.replace(Some(seen.detach()));
        let query = x.broadcast_matmul(&parts.get("query.weight")?.t()?)?; // (b, l, d)
        let key = seen.broadcast_matmul(&parts.get("key.weight")?.t()?)?; // (b, m + l, d)
        let scores = tap("scores", query.matmul(&key.t()?)?)?; // (b, l, m + l)
        tap("weights", softmax(&mask(&scores)?, 2)?)?.matmul(&seen) // (b, l, d)
    });
    small.streaming()
}

fn of_the_prompt(parts: &Parts<'_>, x: Tensor) -> Result<Tensor> {
    tap("seen", joined(parts.state.cloned(), x)?) // (b, m + l, d)
}

fn joined(before: Option<Tensor>, x: Tensor) -> Result<Tensor> {
    before.map_or_else(|| Ok(x.clone()), |before| Tensor::cat(&[&before, &x], 1))
}

/// Next to nothing for what comes later: the last of `all` places, as many as scores (b, l, m + l) have: (l, all).
fn future(scores: &Tensor, all: usize) -> Result<Tensor> {
    let l = scores.dim(1)?;
    let past = Tensor::tril2(all, scores.dtype(), scores.device())?; // (all, all)
    past.narrow(0, all - l, l)?.affine(1e9, -1e9) // (l, all)
}
