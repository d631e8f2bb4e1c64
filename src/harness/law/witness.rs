//! Choosing the runs from which a law is inferred.

use rand::Rng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use crate::dims::Dims;
use crate::harness::subject::{AnySubject, ConfigMap};
use crate::trace::params::generator;

/// Values that a dim of the configuration may take, small first; three at least, so that loops repeat.
const CANDIDATES: [usize; 20] =
    [3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16, 18, 20, 21, 24, 28, 30, 32, 2];
/// Values for a size of the matrix other than the batch.
const LENGTHS: [usize; 6] = [19, 23, 29, 17, 31, 37];
/// Values for the batch.
const BATCHES: [usize; 5] = [3, 5, 4, 7, 11];
/// How many configurations are tried for a base.
const TRIES: usize = 4000;

/// One run to be made: a configuration, and every dim at it.
#[derive(Debug, Clone, PartialEq)]
pub struct Witness {
    /// The configuration.
    pub config: ConfigMap,
    /// Its dims and the sizes.
    pub dims: Dims,
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

    /// The smallest of the configurations found whose dims all differ; the case's own where none is.
    fn base(&self) -> Witness {
        let mut random = generator(0, "witness");
        let mut best: Option<(usize, Witness)> = None;
        let mut found = 0;
        for _ in 0..TRIES {
            let Some(witness) = self.drawn(&mut random) else {
                continue;
            };
            let size = witness.dims.iter().map(|(_, n)| n).sum();
            if best.as_ref().is_none_or(|(smallest, _)| size < *smallest) {
                best = Some((size, witness));
            }
            found += 1;
            if found == 200 || self.free.is_empty() {
                break;
            }
        }
        let own =
            || Witness { config: self.config.clone(), dims: self.smallest_sizes(self.config) };
        best.map_or_else(own, |(_, witness)| witness)
    }

    fn drawn(&self, random: &mut ChaCha8Rng) -> Option<Witness> {
        let mut config = self.config.clone();
        for (_, field) in &self.free {
            let half = random.random_range(4..=CANDIDATES.len());
            let value = CANDIDATES[..half].choose(random)?;
            config.insert(field.clone(), Value::from(*value));
        }
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
        let alone = CANDIDATES.iter().filter(|n| Some(**n) != own).find_map(|n| {
            let mut config = base.config.clone();
            config.insert(field.clone(), Value::from(*n));
            self.accepted(config, sizes())
        });
        alone.or_else(|| {
            let mut random = generator(0, symbol);
            let drawn = (0..TRIES).filter_map(|_| self.drawn(&mut random));
            drawn.into_iter().find(|w| w.dims.get(symbol) != own)
        })
    }

    /// A configuration that the subject takes, with the first sizes at which all dims differ.
    fn accepted(&self, config: ConfigMap, sizes: Vec<(String, Vec<usize>)>) -> Option<Witness> {
        let own = self.subject.dims(&config).ok()?;
        if !self.free.is_empty() && !distinct(&own) {
            return None;
        }
        let mut dims = Dims::new();
        for (symbol, values) in sizes {
            let taken = |n: usize| own.iter().chain(dims.iter()).any(|(_, m)| m == n);
            let value = values.iter().copied().find(|n| !taken(*n) || values.len() == 1);
            dims = dims.with(symbol, value.or(values.first().copied())?);
        }
        Some(Witness { config, dims: self.whole(dims, &own) })
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

fn distinct(dims: &Dims) -> bool {
    let mut values: Vec<usize> = dims.iter().map(|(_, n)| n).filter(|n| *n > 1).collect();
    values.sort_unstable();
    values.windows(2).all(|w| w.first() != w.last())
}
