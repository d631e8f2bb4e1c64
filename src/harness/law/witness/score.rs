//! How well a run tells dims apart.

use std::collections::BTreeSet;

use super::Witness;
use crate::dims::Dims;

/// How many different ratios of two dims the runs should have.
const RATIOS: usize = 3;

/// All dims together: what a run costs.
pub(super) fn sum(witness: &Witness) -> usize {
    witness.dims.iter().map(|(_, n)| n).sum()
}

/// How many pairs of dims have few ratios in the runs so far and another one at `dims`: two expressions that agree where a
/// ratio takes one or two values rarely agree where it takes more.
pub(super) fn broken(runs: &[Witness], dims: &Dims) -> usize {
    let Some(base) = runs.first() else { return 0 };
    let ratio = |dims: &Dims, a: &str, b: &str| {
        let (a, b) = (dims.get(a).unwrap_or(0), dims.get(b).unwrap_or(0).max(1));
        (a as f64 / b as f64).to_bits()
    };
    let symbols: Vec<&str> = base.dims.iter().map(|(symbol, _)| symbol).collect();
    let pairs =
        symbols.iter().enumerate().flat_map(|(i, a)| symbols[..i].iter().map(move |b| (a, b)));
    let breaks = |a: &str, b: &str| {
        let known: BTreeSet<u64> = runs.iter().map(|run| ratio(&run.dims, a, b)).collect();
        known.len() < RATIOS && !known.contains(&ratio(dims, a, b))
    };
    pairs.filter(|(a, b)| breaks(a, b)).count()
}

/// How many dims have the value of another; ones do not count, they are a matter of the regime.
pub(super) fn coincidences(dims: &Dims) -> usize {
    let mut values: Vec<usize> = dims.iter().map(|(_, n)| n).filter(|n| *n > 1).collect();
    values.sort_unstable();
    values.windows(2).filter(|w| w.first() == w.last()).count()
}
