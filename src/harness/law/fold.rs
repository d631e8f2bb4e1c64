//! Folding: steps that repeat at least three times become a loop.

use std::collections::{BTreeSet, HashMap};

use crate::trace::steps::Step;

use super::starred;

/// How often a stretch must repeat to be a loop.
const REPEATS: usize = 3;

/// A step, by its position in the run, or a loop of some.
#[derive(Debug, Clone, PartialEq)]
pub enum Folded {
    /// A step.
    Step(usize),
    /// A loop: the first iteration stands for all.
    Loop {
        /// How often.
        count: usize,
        /// The first iteration.
        body: Vec<Folded>,
    },
}

impl Folded {
    /// The step's position.
    pub fn step(&self) -> Option<usize> {
        match self {
            Self::Step(i) => Some(*i),
            Self::Loop { .. } => None,
        }
    }

    /// The loop's count and body.
    pub fn repeated(&self) -> Option<(usize, &[Folded])> {
        match self {
            Self::Step(_) => None,
            Self::Loop { count, body } => Some((*count, body)),
        }
    }

    /// The position of the first step inside.
    pub fn first_step(&self) -> Option<usize> {
        match self {
            Self::Step(i) => Some(*i),
            Self::Loop { body, .. } => body.first()?.first_step(),
        }
    }

    /// What must agree between two runs of other sizes: names, ranks and nesting.
    pub fn signature(&self, steps: &[Step]) -> String {
        match self {
            Self::Step(i) => steps.get(*i).map(signature).unwrap_or_default(),
            Self::Loop { body, .. } => {
                let inside: Vec<String> = body.iter().map(|f| f.signature(steps)).collect();
                format!("({})", inside.join(" "))
            }
        }
    }
}

fn signature(step: &Step) -> String {
    let mark = if step.mixing {
        "~"
    } else if step.is_named() {
        ""
    } else {
        "·"
    };
    format!("{mark}{}/{}", starred(&step.name), step.shape.len())
}

/// Folds the steps of one run: shortest period first, so that inner loops fold before outer ones.
pub fn fold(steps: &[Step]) -> Vec<Folded> {
    let mut classes = Classes::default();
    let mut list: Vec<(usize, Folded)> = (0..steps.len())
        .map(|i| {
            (classes.of(format!("{} {:?}", signature(&steps[i]), steps[i].shape)), Folded::Step(i))
        })
        .collect();
    'again: loop {
        for period in periods(&list) {
            if let Some(shorter) = fold_period(&list, period, &mut classes) {
                list = shorter;
                continue 'again;
            }
        }
        return list.into_iter().map(|(_, folded)| folded).collect();
    }
}

/// Numbers for texts: equal texts, equal numbers.
#[derive(Default)]
struct Classes(HashMap<String, usize>);

impl Classes {
    fn of(&mut self, text: String) -> usize {
        let next = self.0.len();
        *self.0.entry(text).or_insert(next)
    }
}

/// The distances between an item and the next of its class: a loop's period is one of them.
fn periods(list: &[(usize, Folded)]) -> BTreeSet<usize> {
    let mut last: HashMap<usize, usize> = HashMap::new();
    let mut distances: HashMap<usize, usize> = HashMap::new();
    for (i, (class, _)) in list.iter().enumerate() {
        if let Some(before) = last.insert(*class, i) {
            *distances.entry(i - before).or_default() += 1;
        }
    }
    let often = |&(_, n): &(usize, usize)| n + 1 >= REPEATS;
    distances.into_iter().filter(often).map(|(distance, _)| distance).collect()
}

/// Folds every stretch that repeats with the period; `None` where there is none.
fn fold_period(
    list: &[(usize, Folded)],
    period: usize,
    classes: &mut Classes,
) -> Option<Vec<(usize, Folded)>> {
    let mut shorter = Vec::with_capacity(list.len());
    let mut i = 0;
    while i < list.len() {
        let again = |j: &usize| list.get(j + period).is_some_and(|next| next.0 == list[*j].0);
        let equal = (i..list.len()).take_while(again).count();
        let count = equal / period + 1;
        if count < REPEATS {
            shorter.push(list[i].clone());
            i += 1;
            continue;
        }
        let body = &list[i..i + period];
        let text: Vec<String> = body.iter().map(|(class, _)| class.to_string()).collect();
        let class = classes.of(format!("{count}×({})", text.join(" ")));
        let body = body.iter().map(|(_, folded)| folded.clone()).collect();
        shorter.push((class, Folded::Loop { count, body }));
        i += count * period;
    }
    (shorter.len() < list.len()).then_some(shorter)
}
