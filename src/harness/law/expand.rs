//! What a law predicts at a point.

use crate::dims::{Dims, DimsError};

use super::{Item, Law, LawStep, starred};

/// A step that a law predicts.
#[derive(Debug, Clone)]
pub struct Expected<'a> {
    /// Its law.
    pub step: &'a LawStep,
    /// Its name with `*` for numbers, by which a run's steps are compared.
    pub key: String,
    /// Its extents at the point.
    pub shape: Vec<usize>,
    /// Whether it may be missing there: only where an axis degenerates or it becomes an identity. An op that computes
    /// is there all the same, in another step.
    pub may_miss: bool,
}

/// The steps that the law predicts at `dims`, loops unrolled.
///
/// # Errors
/// Where an expression names a dim that the point lacks, or overflows.
pub fn expand<'a>(law: &'a Law, base: &Dims, dims: &Dims) -> Result<Vec<Expected<'a>>, DimsError> {
    let mut steps = Vec::new();
    unroll(&law.forward, dims, &mut steps)?;
    let at_base: Vec<Vec<usize>> =
        steps.iter().map(|e| e.step.axes.eval(base)).collect::<Result<_, _>>()?;
    let identity: Vec<bool> = (0..steps.len())
        .map(|i| {
            let step = &steps[i];
            let degenerate = step.shape.iter().zip(&at_base[i]).any(|(n, m)| *n <= 1 && *m > 1);
            let like_a_neighbour = || {
                let near = i.saturating_sub(2)..(i + 3).min(steps.len());
                let alike = |j: usize| j != i && essence(&steps[j].shape) == essence(&step.shape);
                let always = |j: usize| essence(&at_base[j]) == essence(&at_base[i]);
                near.into_iter().any(|j| alike(j) && !always(j))
            };
            // Where extents divide one another, a reshape that mixes looks as if it did not, and takes in what is before.
            let flows_on = || steps.get(i + 1).is_some_and(|next| next.step.mixing);
            let may_fold = || degenerate || like_a_neighbour() || flows_on();
            !step.step.named && (step.step.mixing || may_fold())
        })
        .collect();
    for (step, may_miss) in steps.iter_mut().zip(identity) {
        step.may_miss = may_miss;
    }
    Ok(steps)
}

fn unroll<'a>(
    items: &'a [Item],
    dims: &Dims,
    steps: &mut Vec<Expected<'a>>,
) -> Result<(), DimsError> {
    for item in items {
        match item {
            Item::Step(step) => steps.push(Expected {
                step,
                key: starred(&step.name),
                shape: step.axes.eval(dims)?,
                may_miss: false,
            }),
            Item::Loop(repeated) => {
                let count = repeated.count.eval(dims)?;
                for _ in 0..count {
                    unroll(&repeated.body, dims, steps)?;
                }
            }
        }
    }
    Ok(())
}

/// A shape without its axes of one.
fn essence(shape: &[usize]) -> Vec<usize> {
    shape.iter().copied().filter(|n| *n != 1).collect()
}
