//! The states of a scan, joined on a wrong axis.
//!
//! Each of l states is (b, n). Right is a new axis for time: (b, l, n).

use candle_core::{Result, Tensor};
use shapelock::tap;

use super::kit::{BATCH, Small, small};
use super::ssm::{SSM, output, project, states};

/// The right twin, five wrong axes, and two that are reshaped to the right shape afterwards.
pub fn subjects() -> Vec<Small> {
    vec![
        ssm("states_stack_1", |states, _| {
            tap("states", Tensor::stack(states, 1)?) // (b, l, n)
        }),
        ssm("states_cat_0", |states, _| {
            tap("states", Tensor::cat(states, 0)?) // ~fault
        }),
        ssm("states_cat_1", |states, _| {
            tap("states", Tensor::cat(states, 1)?) // ~fault
        }),
        ssm("states_unsqueeze_1_cat_0", |states, _| {
            tap("states", Tensor::cat(&unsqueezed(states, 1)?, 0)?) // ~fault
        }),
        ssm("states_stack_0", |states, _| {
            tap("states", Tensor::stack(states, 0)?) // ~fault
        }),
        ssm("states_unsqueeze_0_cat_1", |states, _| {
            tap("states", Tensor::cat(&unsqueezed(states, 0)?, 1)?) // ~fault
        }),
        ssm("states_cat_0_reshape", |states, shape| {
            tap("states", Tensor::cat(states, 0)?.reshape(shape)?) // ~fault
        }),
        ssm("states_stack_0_reshape", |states, shape| {
            tap("states", Tensor::stack(states, 0)?.reshape(shape)?) // ~fault
        }),
    ]
}

type Shape = (usize, usize, usize);

/// The bug report's model, its states (b, n) joined by `join`, which is told b, l and n.
fn ssm(name: &'static str, join: fn(&[Tensor], Shape) -> Result<Tensor>) -> Small {
    small(name, BATCH, SSM, move |parts| {
        let u = project(parts, &parts.get("input")?)?; // (b, l, n)
        let states = join(&states(&u, &parts.get("A")?)?, u.dims3()?)?; // (b, l, n)
        output(parts, &states) // (b, l, i)
    })
}

fn unsqueezed(states: &[Tensor], axis: usize) -> Result<Vec<Tensor>> {
    states.iter().map(|state| state.unsqueeze(axis)).collect()
}
