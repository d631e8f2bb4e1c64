//! Choosing the runs from which a law is inferred.

mod score;

use std::cmp::Reverse;

use rand::Rng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use crate::dims::Dims;
use crate::harness::subject::{AnySubject, ConfigMap};
use crate::trace::params::generator;
use score::{broken, coincidences, sum};

/// Values that a dim of the configuration may take, small first; three at least, so that loops repeat.
const CANDIDATES: [usize; 19] =
    [3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16, 18, 20, 21, 24, 28, 30, 32];
/// How many of them are so small that every length holds three chunks of one: with fewer, a loop is not seen as such and the
/// run tells nothing.
const SMALL: usize = 12;
/// Values for a size of the matrix other than the batch: several times what a dim of the configuration is likely to get,
/// so that loops over chunks repeat, and far apart, so that the number of chunks differs too. The first two are prime, so
/// that no reshape that mixes axes looks as if it split one; those beside them are even too, so that a window of stride 2
/// is not taken for what it is at odd lengths alone.
const LENGTHS: [usize; 6] = [41, 67, 54, 72, 37, 83];
/// Values that each of them takes in a short run: a window of 4 is not full at two of them, one of 6 at none.
const SHORT: [usize; 3] = [2, 3, 5];
/// Values for the batch.
const BATCHES: [usize; 8] = [3, 5, 4, 7, 11, 13, 17, 19];
/// How many configurations are tried for a base.
const TRIES: usize = 4000;
/// How many runs with everything varied at once are made beside those at least, so that two expressions rarely agree by
/// chance; and at most, where some ratio of two dims is still the same in all runs and can be broken.
const BESIDE: std::ops::Range<usize> = 3..8;
/// How many without equal dims are enough to choose from.
const ENOUGH: usize = 200;

/// One run to be made: a configuration, and every dim at it.
#[derive(Debug, Clone, PartialEq)]
pub struct Witness {
    /// The configuration.
    pub config: ConfigMap,
    /// Its dims and the sizes.
    pub dims: Dims,
    /// What it tells.
    pub kind: Kind,
}

/// What a run tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// How one dim, or few, changes the shapes: of the structure of the base.
    Strict,
    /// Only which expression it is: its loops may be too short to be seen as such.
    Beside,
    /// Only whether a length bounds what is longer at other lengths.
    Short,
}

/// The witness runs for a variant: a base whose dims all differ, and for each dim that can be varied a run in which
/// it has another value. `fixed` are sizes that the case keeps at one value, which is then part of the regime.
pub fn choose(subject: &dyn AnySubject, config: &ConfigMap, fixed: &Dims) -> Vec<Witness> {
    let search = Search::new(subject, config, fixed);
    let base = search.base();
    let mut runs = vec![base.clone()];
    for i in 0..search.sizes.len() + search.free.len() {
        if let Some(bumped) = search.bumped(&base, i) {
            runs.push(bumped);
        }
    }
    for i in 0..BESIDE.end {
        let other = search.other(&runs, i);
        let tells = |w: &Witness| i < BESIDE.start || broken(&runs, &w.dims) > 0;
        match other.filter(tells) {
            Some(witness) => runs.push(witness),
            None if i < BESIDE.start => {}
            None => break,
        }
    }
    runs.extend(search.short(&base));
    runs
}

struct Search<'a> {
    subject: &'a dyn AnySubject,
    config: &'a ConfigMap,
    /// Symbols of sizes that may vary, with their values.
    sizes: Vec<(String, &'static [usize])>,
    fixed: &'a Dims,
    /// Symbols and fields of the configuration that may vary.
    free: Vec<(String, String)>,
}

impl<'a> Search<'a> {
    fn new(subject: &'a dyn AnySubject, config: &'a ConfigMap, fixed: &'a Dims) -> Self {
        let values = |symbol: &str| {
            if symbol == "b" { &BATCHES[..] } else { &LENGTHS[..] }
        };
        let symbols = subject.sizes().into_iter().map(|(_, symbol)| symbol.to_owned());
        let sizes = symbols.filter(|s| fixed.get(s).is_none()).map(|s| (s.clone(), values(&s)));
        let sizes = sizes.collect();
        // A dim of 1 often selects another path (one group, no repetition), so it stays what it is.
        let at = subject.dims(config).unwrap_or_default();
        let varies = |symbol: &str| at.get(symbol).is_some_and(|n| n > 1);
        let free = subject.free().into_iter().filter(|(symbol, _)| varies(symbol));
        let free = free.map(|(symbol, field)| (symbol.to_owned(), field.to_owned())).collect();
        Self { subject, config, sizes, fixed, free }
    }

    /// Of the configurations found, the smallest of those with the fewest equal dims; the case's own where none is found.
    /// Dims that a configuration always makes equal (d and i where it does not expand) cannot be told apart.
    fn base(&self) -> Witness {
        let mut random = generator(0, "witness");
        let mut best: Option<((usize, usize), Witness)> = None;
        let mut found = 0;
        for _ in 0..TRIES {
            let Some(witness) = self.drawn(&mut random) else { continue };
            let rank = (coincidences(&witness.dims), sum(&witness));
            found += usize::from(rank.0 == 0);
            if best.as_ref().is_none_or(|(least, _)| rank < *least) {
                best = Some((rank, witness));
            }
            if found == ENOUGH || self.free.is_empty() {
                break;
            }
        }
        let own = || Witness {
            config: self.config.clone(),
            dims: self.smallest_sizes(self.config),
            kind: Kind::Strict,
        };
        best.map_or_else(own, |(_, witness)| self.smaller(witness, &|_| true))
    }

    /// The same with one dim after another made smaller, as long as no more dims become equal and `allowed` holds.
    fn smaller(&self, from: Witness, allowed: &dyn Fn(&Witness) -> bool) -> Witness {
        let mut best = from;
        loop {
            let least = coincidences(&best.dims);
            let sizes = || -> Vec<(String, Vec<usize>)> {
                let own = |symbol: &String| best.dims.get(symbol).unwrap_or(1);
                self.sizes
                    .iter()
                    .map(|(s, values)| (s.clone(), [&[own(s)], *values].concat()))
                    .collect()
            };
            let tries = self.free.iter().flat_map(|field| CANDIDATES.map(|n| (field, n)));
            let smaller = tries
                .filter(|((symbol, _), n)| best.dims.get(symbol).is_some_and(|own| *n < own))
                .find_map(|((_, field), n)| {
                    let mut config = best.config.clone();
                    config.insert(field.clone(), Value::from(n));
                    self.accepted(config, sizes())
                        .filter(|w| coincidences(&w.dims) <= least && sum(w) < sum(&best))
                        .filter(|w| allowed(w))
                });
            match smaller {
                Some(witness) => best = witness,
                None => return best,
            }
        }
    }

    /// A run with other sizes and, where the configuration can vary, the one of those drawn that breaks most of the ratios
    /// between dims that all runs so far have in common.
    fn other(&self, runs: &[Witness], i: usize) -> Option<Witness> {
        let mut random = generator(i as u64 + 1, "witness");
        let least = runs.first().map_or(0, |base| coincidences(&base.dims));
        let rotated = |(symbol, values): &(String, &[usize])| {
            let mut values = values.to_vec();
            let by = (i + 2) % values.len().max(1);
            values.rotate_left(by);
            (symbol.clone(), values)
        };
        let sizes = || self.sizes.iter().map(rotated).collect();
        let drawn = (0..TRIES)
            .filter_map(|_| self.accepted(self.config_of(&mut random, SMALL)?, sizes()))
            .filter(|w| coincidences(&w.dims) <= least + 1)
            .take(ENOUGH);
        let best = drawn.max_by_key(|w| (broken(runs, &w.dims), Reverse(sum(w))));
        best.map(|w| Witness { kind: Kind::Beside, ..w })
    }

    /// The base with each size but the batch at a few small values.
    fn short<'b>(&'b self, base: &'b Witness) -> impl Iterator<Item = Witness> + 'b {
        let lengths = self.sizes.iter().filter(|(symbol, _)| symbol != "b");
        lengths.flat_map(|(symbol, _)| {
            SHORT.map(|n| Witness {
                dims: base.dims.clone().with(symbol.as_str(), n),
                config: base.config.clone(),
                kind: Kind::Short,
            })
        })
    }

    /// The configuration with each free dim drawn from the first few candidates.
    fn config_of(&self, random: &mut ChaCha8Rng, few: usize) -> Option<ConfigMap> {
        let mut config = self.config.clone();
        for (_, field) in &self.free {
            let value = CANDIDATES[..few.min(CANDIDATES.len())].choose(random)?;
            config.insert(field.clone(), Value::from(*value));
        }
        Some(config)
    }

    fn drawn(&self, random: &mut ChaCha8Rng) -> Option<Witness> {
        let few = random.random_range(4..=CANDIDATES.len());
        let config = self.config_of(random, few)?;
        self.accepted(
            config,
            self.sizes.iter().map(|(s, values)| (s.clone(), values.to_vec())).collect(),
        )
    }

    /// A run like the base but for the dim `i`: alone if the configuration allows it, with others if not.
    fn bumped(&self, base: &Witness, i: usize) -> Option<Witness> {
        let size = |s: &String, bumped: bool, values: &[usize]| {
            let own = base.dims.get(s).unwrap_or(1);
            let others = values.iter().copied().filter(|n| *n != own);
            if bumped { others.collect() } else { vec![own] }
        };
        let sizes = || -> Vec<(String, Vec<usize>)> {
            let one = |(j, (s, values)): (usize, &(String, &[usize]))| {
                (s.clone(), size(s, i == j, values))
            };
            self.sizes.iter().enumerate().map(one).collect()
        };
        let Some((symbol, field)) = i.checked_sub(self.sizes.len()).and_then(|i| self.free.get(i))
        else {
            return self.accepted(base.config.clone(), sizes());
        };
        let own = base.dims.get(symbol);
        let least = coincidences(&base.dims);
        let as_distinct = |w: &Witness| coincidences(&w.dims) <= least;
        let alone = CANDIDATES.iter().filter(|n| Some(**n) != own).find_map(|n| {
            let mut config = base.config.clone();
            config.insert(field.clone(), Value::from(*n));
            self.accepted(config, sizes()).filter(as_distinct)
        });
        alone.or_else(|| {
            let mut random = generator(0, symbol);
            let drawn = (0..TRIES).filter_map(|_| self.drawn(&mut random));
            let other = |w: &Witness| w.dims.get(symbol) != own && as_distinct(w);
            drawn.into_iter().find(other).map(|w| self.smaller(w, &other))
        })
    }

    /// A configuration that the subject takes, with the first sizes at which all dims differ.
    fn accepted(&self, config: ConfigMap, sizes: Vec<(String, Vec<usize>)>) -> Option<Witness> {
        let own = self.subject.dims(&config).ok()?;
        let mut dims = Dims::new();
        for (symbol, values) in sizes {
            let taken = |n: usize| own.iter().chain(dims.iter()).any(|(_, m)| m == n);
            let value = values.iter().copied().find(|n| !taken(*n) || values.len() == 1);
            dims = dims.with(symbol, value.or(values.first().copied())?);
        }
        Some(Witness { config, dims: self.whole(dims, &own), kind: Kind::Strict })
    }

    fn smallest_sizes(&self, config: &ConfigMap) -> Dims {
        let own = self.subject.dims(config).unwrap_or_default();
        let first = |dims: Dims, (s, values): &(String, &[usize])| dims.with(s, values[0]);
        self.whole(self.sizes.iter().fold(Dims::new(), first), &own)
    }

    fn whole(&self, sizes: Dims, own: &Dims) -> Dims {
        let all = sizes.iter().chain(self.fixed.iter()).chain(own.iter());
        all.fold(Dims::new(), |dims, (symbol, n)| dims.with(symbol, n))
    }
}
