//! The gradient of a batch, gathered from its parts.
use std::collections::BTreeMap;

use candle_core::backprop::GradStore;
use candle_core::{DType, Result, Tensor};

use super::{AdamW, TrainError};

/// The sum of the gradients of some losses, by the weights' names.
#[derive(Clone, Debug, Default)]
pub struct Gradients {
    sums: BTreeMap<String, Tensor>,
    parts: usize,
}

impl Gradients {
    /// Adds the gradients of one more loss, for all weights of the optimiser.
    ///
    /// # Errors
    /// [`TrainError::Severed`] with every weight that has none.
    pub fn add(
        &mut self,
        optimizer: &AdamW,
        store: &GradStore,
    ) -> std::result::Result<(), TrainError> {
        let mut severed = vec![];
        for (name, var) in optimizer.vars() {
            let Some(gradient) = store.get(var) else {
                severed.push(name.to_string());
                continue;
            };
            let gradient = gradient.to_dtype(optimizer.moment_dtype(var))?;
            let sum = match self.sums.get(name) {
                Some(sum) => (sum + gradient)?,
                None => gradient,
            };
            self.sums.insert(name.into(), sum.detach());
        }
        self.parts += 1;
        if severed.is_empty() { Ok(()) } else { Err(TrainError::Severed { names: severed }) }
    }

    /// How many losses have been added.
    pub const fn parts(&self) -> usize {
        self.parts
    }

    /// The mean gradient of one weight.
    pub(super) fn mean(&self, name: &str) -> Result<Option<Tensor>> {
        let Some(sum) = self.sums.get(name) else {
            return Ok(None);
        };
        sum.affine(1. / self.parts as f64, 0.).map(Some)
    }

    /// The Euclidean norm of the mean gradients of all weights together.
    ///
    /// # Errors
    /// Those of candle's.
    pub fn norm(&self) -> Result<f64> {
        let mut squares = 0.;
        for sum in self.sums.values() {
            squares += sum.sqr()?.sum_all()?.to_dtype(DType::F64)?.to_scalar::<f64>()?;
        }
        Ok(squares.sqrt() / self.parts.max(1) as f64)
    }
}
