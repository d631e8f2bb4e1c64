//! The small inputs of an op: parameters and the window, more of them than candle lets an op take.
//!
//! The op reads them as they are. So that the graph knows of it, they go through a chain of ops, each giving a token of one
//! number that the next takes, and the last token is an input of the op. On the way back the op leaves their gradients
//! here, and each of the chain hands out its own. Nothing is copied, and no axis is made that means nothing.
use std::sync::{Arc, Mutex, PoisonError};

use candle_core::{CpuStorage, CustomOp2, Layout, Result, Shape, Tensor};

use super::op::{read, storage_of};
use super::real::Real;

/// The small inputs of one op, and their gradients while these wait to be handed out.
#[derive(Debug)]
pub(super) struct Ports {
    inputs: Vec<Tensor>,
    gradients: Mutex<Vec<Option<Tensor>>>,
}

impl Ports {
    pub(super) fn new(inputs: Vec<Tensor>) -> Result<Arc<Self>> {
        let inputs = inputs.iter().map(Tensor::contiguous).collect::<Result<Vec<_>>>()?;
        let gradients = Mutex::new(vec![None; inputs.len()]);
        Ok(Arc::new(Self { inputs, gradients }))
    }

    /// The last token (1); `None` where there are fewer than two inputs.
    pub(super) fn token(self: &Arc<Self>) -> Result<Option<Tensor>> {
        let [first, second, others @ ..] = self.inputs.as_slice() else { return Ok(None) };
        let port = |of| Port { ports: Arc::clone(self), of };
        let mut token = first.apply_op2(second, port([Some(0), Some(1)]))?;
        for (index, input) in others.iter().enumerate() {
            token = token.apply_op2(input, port([None, Some(index + 2)]))?;
        }
        Ok(Some(token))
    }

    /// All inputs in one vector.
    pub(super) fn values<T: Real>(&self) -> Result<Vec<T>> {
        let mut values = vec![];
        for input in &self.inputs {
            values.extend_from_slice(read(input).get()?);
        }
        Ok(values)
    }

    /// Leaves the gradients of all inputs, which add to those that wait.
    pub(super) fn leave<T: Real>(&self, mut values: &[T]) -> Result<()> {
        let mut gradients = self.gradients.lock().unwrap_or_else(PoisonError::into_inner);
        for (input, waiting) in self.inputs.iter().zip(gradients.iter_mut()) {
            let (own, others) = values.split_at(input.elem_count());
            let own = Tensor::from_slice(own, input.shape(), input.device())?;
            *waiting = Some(match waiting.take() {
                Some(waiting) => (waiting + own)?,
                None => own,
            });
            values = others;
        }
        Ok(())
    }

    fn take(&self, index: usize) -> Option<Tensor> {
        self.gradients.lock().unwrap_or_else(PoisonError::into_inner)[index].take()
    }
}

/// One op of the chain: which input each of its arguments is, or a token.
struct Port {
    ports: Arc<Ports>,
    of: [Option<usize>; 2],
}

impl CustomOp2 for Port {
    fn name(&self) -> &'static str {
        "fused-input"
    }

    fn cpu_fwd(
        &self,
        first: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        Ok((storage_of(first, 0.)?, 1.into()))
    }

    fn bwd(
        &self,
        first: &Tensor,
        second: &Tensor,
        _: &Tensor,
        _: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let gradient = |of: Option<usize>, argument: &Tensor| match of {
            Some(index) => Ok(self.ports.take(index)),
            None => argument.zeros_like().map(Some),
        };
        Ok((gradient(self.of[0], first)?, gradient(self.of[1], second)?))
    }
}
