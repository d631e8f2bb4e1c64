//! Blocks of a language model that are put together in a way that has the right shape.

use candle_core::{D, Result, Tensor};
use candle_nn::ops::{dropout, softmax};
use shapelock::tap;

use super::kit::{BATCH, Parts, Small, scaled, small};

const TABLE: &[(&str, &str)] = &[("table.weight", "v d")];
const MIXER: &[(&str, &str)] = &[("mixer.weight", "d d")];
const CONV: &[(&str, &str)] = &[("conv.weight", "n d k")];
const ROUTER: &[(&str, &str)] = &[("router.weight", "n d"), ("experts.weight", "n d")];

/// Each right twin, and the fault after it.
pub fn subjects() -> Vec<Small> {
    vec![
        mixed("residual_of_input", |x, normed, y| tap("residual", ((x + normed * 0.)? + y)?)),
        mixed("residual_of_norm", |_, normed, y| tap("residual", (normed + y)?)), // ~fault
        scaled("nothing_dropped", |x| tap("kept", x.clone())),
        scaled("dropped_in_every_pass", |x| tap("kept", dropout(x, 0.5)?)), // ~fault
        scaled("variance_of_all", |x| {
            let centred = x.broadcast_sub(&x.mean_keepdim(2)?)?; // (b, l, d)
            tap("normed", centred.broadcast_div(&root(&centred.sqr()?.mean_keepdim(2)?)?)?)
        }),
        scaled("variance_by_one_less", |x| {
            let centred = x.broadcast_sub(&x.mean_keepdim(2)?)?; // (b, l, d)
            tap("normed", centred.broadcast_div(&root(&x.var_keepdim(2)?)?)?) // ~fault
        }),
        scaled("bias_as_row", |x| tap("biased", x.broadcast_add(&ramp(x)?)?)), // (b, l, d)
        scaled("bias_as_column", |x| tap("biased", x.broadcast_add(&ramp(x)?.unsqueeze(1)?)?)), // ~fault
        placed("places_from_zero", |t| t),
        placed("places_from_one", |t| t + 1),
        tied("head_of_the_table", |table| Ok(table.clone())), // (v, d)
        tied("head_of_a_copy", |table| tap("head", table.detach())), // ~fault
        small("conv_padded_before", BATCH, CONV, |parts| {
            let k = parts.dim("k");
            tap("conv", conv(parts, (k - 1, 0))?) // (b, l, n)
        })
        .causal(),
        small("conv_padded_evenly", BATCH, CONV, |parts| {
            let k = parts.dim("k");
            tap("conv", conv(parts, ((k - 1) / 2, k / 2))?) // ~fault
        })
        .causal(),
        routed("expert_by_odds", |odds| tap("weights", odds.clone())), // (b, l, n)
        routed("expert_by_argmax", |odds| {
            let best = odds.broadcast_eq(&odds.max_keepdim(2)?)?; // (b, l, n)
            tap("weights", best.to_dtype(odds.dtype())?) // ~fault
        }),
    ]
}

/// A mixer of what is normed, and `add`, which takes x, the normed x and what is mixed: (b, l, d) → (b, l, d).
fn mixed(name: &'static str, add: fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor>) -> Small {
    small(name, BATCH, MIXER, move |parts| {
        let x = parts.get("input")?; // (b, l, d)
        let normed = tap("normed", x.broadcast_div(&root(&x.sqr()?.mean_keepdim(2)?)?)?)?;
        let y = tap("mixed", normed.broadcast_matmul(&parts.get("mixer.weight")?.t()?)?)?;
        add(&x, &normed, &y)
    })
}

/// x and the row of a table for each place, whose index `place` gives: (b, l, d) → (b, l, d).
fn placed(name: &'static str, place: fn(usize) -> usize) -> Small {
    small(name, BATCH, TABLE, move |parts| {
        let (x, table) = (parts.get("input")?, parts.get("table.weight")?); // (b, l, d), (v, d)
        let (l, v) = (x.dim(1)?, table.dim(0)?);
        let ids: Vec<u32> = (0..l).map(|t| (place(t) % v) as u32).collect();
        let places = table.index_select(&Tensor::from_vec(ids, l, x.device())?, 0)?; // (l, d)
        tap("placed", x.broadcast_add(&places)?) // (b, l, d) ~fault
    })
}

/// Logits of x and the first row of a table, by the head that `head` makes of the same table: (b, l, d) → (b, l, v).
fn tied(name: &'static str, head: fn(&Tensor) -> Result<Tensor>) -> Small {
    small(name, BATCH, TABLE, move |parts| {
        let (x, table) = (parts.get("input")?, parts.get("table.weight")?); // (b, l, d), (v, d)
        let x = tap("embedded", x.broadcast_add(&table.narrow(0, 0, 1)?)?)?; // (b, l, d)
        tap("logits", x.broadcast_matmul(&head(&table)?.t()?)?) // (b, l, v)
    })
}

/// A window over x, padded before and after: (b, l, d) → (b, l, n).
fn conv(parts: &Parts<'_>, (before, after): (usize, usize)) -> Result<Tensor> {
    let (x, w) = (parts.get("input")?, parts.get("conv.weight")?); // (b, l, d), (n, d, k)
    let (l, k) = (x.dim(1)?, w.dim(2)?);
    let x = x.pad_with_zeros(1, before, after)?; // (b, l + k - 1, d)
    let term = |j| x.narrow(1, j, l)?.broadcast_matmul(&w.narrow(2, j, 1)?.squeeze(2)?.t()?);
    (1..k).try_fold(term(0)?, |sum, j| sum + term(j)?)
}

/// Experts of x by the weights that `weigh` makes of a router's odds: (b, l, d) → (b, l, d).
fn routed(name: &'static str, weigh: fn(&Tensor) -> Result<Tensor>) -> Small {
    small(name, BATCH, ROUTER, move |parts| {
        let x = parts.get("input")?; // (b, l, d)
        let logits = x.broadcast_matmul(&parts.get("router.weight")?.t()?)?; // (b, l, n)
        let odds = tap("odds", softmax(&logits, D::Minus1)?)?; // (b, l, n)
        tap("routed", weigh(&odds)?.broadcast_matmul(&parts.get("experts.weight")?)?) // (b, l, d)
    })
}

fn root(square: &Tensor) -> Result<Tensor> {
    (square + 1e-5)?.sqrt()
}

/// 0, 1, … for each feature: (d).
fn ramp(x: &Tensor) -> Result<Tensor> {
    let d = x.dim(2)?;
    Tensor::from_vec((0..d).map(|i| i as f64).collect(), d, x.device())?.to_dtype(x.dtype())
}
