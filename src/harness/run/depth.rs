//! How deep a graph may be: candle walks one by recursion, in a backward pass and when it is freed.

use std::collections::HashMap;

use candle_core::{Error, Result, Tensor, TensorId};

use super::Failure;
use crate::harness::subject::Outputs;
use crate::trace::graph::{Graph, operands};

/// The stack of the thread that a trial runs on. It takes memory only as far as it is used.
pub const STACK: usize = 512 << 20;
/// What a level takes where candle is built without optimisation: 1.2 KiB in a backward pass, 0.3 KiB to be freed.
const LEVEL: usize = 1280;
/// The levels that fit.
const MOST: usize = STACK / LEVEL;

/// What a forward pass returned, whose graph has to fit on the stack of a trial. It took `span` of candle's counter.
pub(super) fn bounded(
    outputs: std::result::Result<Outputs, Failure>,
    span: (usize, usize),
) -> std::result::Result<Outputs, Failure> {
    within(MOST, outputs?, span).map_err(|error| Failure::from(&error))
}

fn within(most: usize, outputs: Outputs, (before, after): (usize, usize)) -> Result<Outputs> {
    // A graph is no deeper than tensors were made.
    if after.saturating_sub(before) <= most {
        return Ok(outputs);
    }
    let Ok(graph) = Graph::open() else { return Ok(outputs) };
    let depth = depth(&graph, outputs.0.iter().map(|(_, t)| t));
    if depth <= most {
        return Ok(outputs);
    }
    // To free it would overflow the stack as to walk it does, so it stays for as long as the process.
    std::mem::forget(outputs);
    Err(Error::Msg(format!(
        "the graph of this pass is {depth} ops deep, and {most} fit on the stack on which candle walks it: \
         take several places in one op, or detach the state from time to time"
    )))
}

/// The most ops from a leaf to one of the roots.
fn depth<'a>(graph: &Graph, roots: impl IntoIterator<Item = &'a Tensor>) -> usize {
    let mut depths: HashMap<TensorId, usize> = HashMap::new();
    for tensor in graph.reachable(roots) {
        let below = graph.op(tensor).map(operands).unwrap_or_default();
        let deepest = below.iter().filter_map(|operand| depths.get(&operand.id())).max();
        depths.insert(tensor.id(), deepest.map_or(0, |depth| depth + 1));
    }
    depths.into_values().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::{DType, Device, Var};

    /// Twenty ops one after another, of an input that twenty others read side by side.
    fn pass() -> Result<Outputs> {
        let x = Var::zeros(2, DType::F32, &Device::Cpu)?;
        let beside: Vec<Tensor> = (0..20).map(|_| x.neg()).collect::<Result<_>>()?;
        let deep = (1..20).try_fold(Tensor::cat(&beside, 0)?, |h, _| h.neg())?;
        Ok(Outputs::new().with("deep", deep))
    }

    #[test]
    fn a_graph_that_is_too_deep_is_told_and_one_that_is_only_wide_is_not() -> Result<()> {
        let span = (0, 100);
        assert!(within(21, pass()?, span).is_ok());
        let told = within(20, pass()?, span).map(|_| ()).map_err(|error| error.to_string());
        let expected = "the graph of this pass is 21 ops deep, and 20 fit on the stack";
        assert!(told.as_ref().is_err_and(|told| told.starts_with(expected)), "{told:?}");
        Ok(())
    }
}
