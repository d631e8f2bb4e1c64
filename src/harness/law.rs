//! The law of a model: each axis of each step as an expression of named dims, loops folded.
//!
//! It is inferred from *witness runs* ([`witness`]): small CPU runs in which all dims differ, one more for each dim that
//! can be varied. An axis's extents over these runs are matched with expressions ([`fit`]); repeated steps are folded
//! into loops ([`mod@fold`]), whose counts are matched in the same way. [`expand`] says what the law predicts at a point.

pub mod expand;
pub mod fit;
pub mod fold;
mod names;
pub mod witness;

use crate::dims::{Axes, Dims, Expr};
use crate::trace::Role;

use super::run::Observation;
use fit::Fit;
use fold::{Folded, fold};
pub use names::starred;
use names::{common_name, star};

/// What holds for the shapes of one variant at every point.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Law {
    /// The forward pass.
    pub forward: Vec<Item>,
    /// The parameters, sorted by path.
    pub parameters: Vec<(String, Axes)>,
}

impl Law {
    /// Whether any step is a reshape that mixes axes.
    pub fn mixes(&self) -> bool {
        fn any(items: &[Item]) -> bool {
            items.iter().any(|item| match item {
                Item::Step(step) => step.mixing,
                Item::Loop(inner) => any(&inner.body),
            })
        }
        any(&self.forward)
    }
}

/// A step, or steps that repeat.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// One step.
    Step(LawStep),
    /// A loop.
    Loop(Loop),
}

/// Steps that repeat.
#[derive(Debug, Clone, PartialEq)]
pub struct Loop {
    /// What its steps' names have in common.
    pub name: String,
    /// How often.
    pub count: Expr,
    /// One iteration.
    pub body: Vec<Item>,
}

/// One step of a law.
#[derive(Debug, Clone, PartialEq)]
pub struct LawStep {
    /// The name; inside a loop with `*` for a number that counts iterations.
    pub name: String,
    /// Whether somebody gave the name: input, parameter, tap or output.
    pub named: bool,
    /// Its axes.
    pub axes: Axes,
    /// Whether it is a reshape that mixes axes.
    pub mixing: bool,
    /// The ops folded into it that compute, by name; a snapshot does not tell them.
    pub computes: Vec<&'static str>,
}

/// Why no law could be stated for a part of the model.
#[derive(Debug, Clone, PartialEq)]
pub enum Unlawful {
    /// The extents of an axis over the witness runs match no expression.
    Axis {
        /// The step.
        step: String,
        /// The axis.
        axis: usize,
        /// The dims of each witness run and the extent there.
        extents: Vec<(Dims, usize)>,
    },
    /// Two witness runs take other steps.
    Structure {
        /// Where they part: the step of the base run, if any.
        base: Option<String>,
        /// The step of the other run, if any.
        other: Option<String>,
        /// The dims of the base and of the other run.
        dims: Box<(Dims, Dims)>,
    },
}

/// Infers the law that all witness runs obey; the first is the base. `sizes` are the symbols that a matrix varies.
///
/// The runs after the first `strict` ones only help to tell expressions apart: one of another structure is left out. Those
/// after the first `long` ones are of few steps, and tell no more than what a length bounds.
pub fn infer(
    runs: &[Observation],
    strict: usize,
    long: usize,
    sizes: &[&str],
) -> (Law, Vec<Unlawful>) {
    let Some(base) = runs.first() else {
        return Default::default();
    };
    let folded: Vec<Vec<Folded>> = runs.iter().map(|run| fold(&run.steps)).collect();
    let mut unlawful = Vec::new();
    let mut alike = vec![0];
    for i in 1..runs.len() {
        match first_difference(&folded[0], &folded[i], base, &runs[i]) {
            Some(difference) if i < strict => unlawful.push(difference),
            Some(_) => {}
            None => alike.push(i),
        }
    }
    let lists: Vec<&[Folded]> = alike.iter().map(|&i| folded[i].as_slice()).collect();
    let long = alike.iter().filter(|&&i| i < long).count();
    let fit = Fit::new(alike.iter().map(|&i| &runs[i].dims), long, sizes);
    let seen: Vec<&Observation> = alike.iter().map(|&i| &runs[i]).collect();
    let mut inference = Inference { fit, runs: seen, unlawful };
    let forward = inference.items(&lists);
    let parameters = inference.parameters();
    (Law { forward, parameters }, inference.unlawful)
}

struct Inference<'a> {
    fit: Fit,
    runs: Vec<&'a Observation>,
    unlawful: Vec<Unlawful>,
}

impl Inference<'_> {
    /// The items that the same stretch of every run stands for; the runs are alike in structure.
    fn items(&mut self, lists: &[&[Folded]]) -> Vec<Item> {
        let Some(first) = lists.first() else {
            return Vec::new();
        };
        (0..first.len())
            .map(|i| match &first[i] {
                Folded::Step(_) => {
                    let steps: Vec<usize> = lists.iter().filter_map(|l| l[i].step()).collect();
                    Item::Step(self.step(&steps))
                }
                Folded::Loop { .. } => {
                    let loops: Vec<(usize, &[Folded])> =
                        lists.iter().filter_map(|l| l[i].repeated()).collect();
                    self.repeated(&loops)
                }
            })
            .collect()
    }

    fn repeated(&mut self, loops: &[(usize, &[Folded])]) -> Item {
        let counts: Vec<usize> = loops.iter().map(|(count, _)| *count).collect();
        let bodies: Vec<&[Folded]> = loops.iter().map(|(_, body)| *body).collect();
        let mut body = self.items(&bodies);
        body.iter_mut().for_each(star);
        let name = common_name(&body);
        let count = self.extent(&format!("{name} ×"), 0, &counts);
        Item::Loop(Loop { name, count, body })
    }

    fn step(&mut self, at: &[usize]) -> LawStep {
        let steps: Vec<_> =
            self.runs.iter().zip(at).filter_map(|(run, &i)| run.steps.get(i)).collect();
        let base = steps[0];
        let rank = base.shape.len();
        let axes = (0..rank).map(|axis| {
            let extents: Vec<usize> = steps.iter().map(|s| s.shape[axis]).collect();
            self.extent(&base.name, axis, &extents)
        });
        let axes = Axes(axes.collect());
        let named = base.role != Role::Op;
        let computes = self.runs[0].computes(base).collect();
        LawStep { name: base.name.clone(), named, axes, mixing: base.mixing, computes }
    }

    fn extent(&mut self, step: &str, axis: usize, extents: &[usize]) -> Expr {
        match self.fit.expression(extents) {
            Some(expression) => expression,
            None => {
                let dims = self.runs.iter().map(|run| run.dims.clone());
                self.unlawful.push(Unlawful::Axis {
                    step: step.to_owned(),
                    axis,
                    extents: dims.zip(extents.iter().copied()).collect(),
                });
                Expr::constant(extents.first().map_or(0, |&n| n as i64))
            }
        }
    }

    /// Parameters of equal layers share an entry, with `*` for the number.
    fn parameters(&mut self) -> Vec<(String, Axes)> {
        let mut seen: Vec<(String, Axes)> = Vec::new();
        for (name, _) in &self.runs[0].params.clone() {
            let key = starred(name);
            if seen.iter().any(|(known, _)| *known == key) {
                continue;
            }
            if let Some(axes) = self.parameter(&key, true) {
                seen.push((key, axes));
            } else if let Some(axes) = self.parameter(name, false) {
                seen.push((name.clone(), axes));
            }
        }
        seen
    }

    /// The axes of all parameters of that name; `None` where they are not alike.
    fn parameter(&mut self, name: &str, as_key: bool) -> Option<Axes> {
        let named = |n: &str| if as_key { starred(n) == name } else { n == name };
        let mut shapes: Vec<Vec<usize>> = Vec::new();
        for run in &self.runs {
            let mut all = run.params.iter().filter(|(n, _)| named(n)).map(|(_, shape)| shape);
            let first = all.next()?;
            if all.any(|shape| shape != first) {
                return None;
            }
            shapes.push(first.clone());
        }
        let rank = shapes.first()?.len();
        if shapes.iter().any(|shape| shape.len() != rank) {
            return None;
        }
        let extents = |axis: usize| shapes.iter().map(|s| s[axis]).collect::<Vec<_>>();
        Some(Axes((0..rank).map(|axis| self.extent(name, axis, &extents(axis))).collect()))
    }
}

/// The items without unnamed steps, and without loops that hold nothing else.
pub fn named(items: &[Item]) -> Vec<Item> {
    let keep = |item: &Item| match item {
        Item::Step(step) => step.named.then(|| item.clone()),
        Item::Loop(inner) => {
            let body = named(&inner.body);
            (!body.is_empty()).then(|| Item::Loop(Loop { body, ..inner.clone() }))
        }
    };
    items.iter().filter_map(keep).collect()
}

fn first_difference(
    base: &[Folded],
    other: &[Folded],
    base_run: &Observation,
    other_run: &Observation,
) -> Option<Unlawful> {
    let key = |f: Option<&Folded>, run: &Observation| f.map(|f| f.signature(&run.steps));
    let n = base.len().max(other.len());
    let differs = |&i: &usize| key(base.get(i), base_run) != key(other.get(i), other_run);
    let at = (0..n).find(differs)?;
    let name = |list: &[Folded], run: &Observation| {
        let step = list.get(at).and_then(|f| f.first_step());
        step.and_then(|i| run.steps.get(i)).map(|s| s.name.clone())
    };
    Some(Unlawful::Structure {
        base: name(base, base_run),
        other: name(other, other_run),
        dims: Box::new((base_run.dims.clone(), other_run.dims.clone())),
    })
}
