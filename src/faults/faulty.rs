//! A subject with a fault in it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use candle_core::{Result, Tensor};
use candle_nn::VarBuilder;

use super::Change;
use crate::dims::Dims;
use crate::harness::law::starred;
use crate::harness::subject::{
    AnySubject, ConfigMap, ConfigProblem, Input, Inputs, Model, Outputs, State,
};
use crate::trace::tap::{self, Tap};

/// A change at every tap of a name.
#[derive(Debug)]
pub struct Fault {
    /// The tap, `*` for the numbers in its name: what is wrong in one layer is wrong in all.
    pub tap: String,
    /// How many axes its tensors have; others of the name are left alone.
    pub rank: usize,
    /// What happens to its tensors.
    pub change: Change,
    reached: AtomicUsize,
    trouble: Mutex<Option<String>>,
}

impl Fault {
    /// A fault that nothing has met yet.
    pub fn new(tap: &str, rank: usize, change: Change) -> Self {
        Self {
            tap: tap.to_owned(),
            rank,
            change,
            reached: AtomicUsize::new(0),
            trouble: Mutex::new(None),
        }
    }

    /// How many tensors it changed.
    pub fn reached(&self) -> usize {
        self.reached.load(Ordering::Relaxed)
    }

    /// What went wrong with the change itself, which is a fault of shapelock.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn replacement(&self, tap: &Tap) -> Option<Tensor> {
        if tap.tensor.rank() != self.rank || starred(&tap.name) != self.tap {
            return None;
        }
        match self.change.of(&tap.tensor) {
            Ok(Some(other)) => {
                self.reached.fetch_add(1, Ordering::Relaxed);
                Some(other)
            }
            Ok(None) => None,
            // An error here must not look like one of the model.
            Err(error) => {
                let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
                trouble.get_or_insert_with(|| error.to_string());
                None
            }
        }
    }
}

/// The subject whose models have the fault; its reference has not.
pub struct Faulty {
    subject: Arc<dyn AnySubject>,
    fault: Arc<Fault>,
}

impl Faulty {
    /// Plants the fault.
    pub fn new(subject: Arc<dyn AnySubject>, fault: Arc<Fault>) -> Self {
        Self { subject, fault }
    }
}

impl AnySubject for Faulty {
    fn name(&self) -> &str {
        self.subject.name()
    }

    fn sizes(&self) -> Vec<(&str, &str)> {
        self.subject.sizes()
    }

    fn free(&self) -> Vec<(&str, &str)> {
        self.subject.free()
    }

    fn dims(&self, config: &ConfigMap) -> std::result::Result<Dims, ConfigProblem> {
        self.subject.dims(config)
    }

    fn inputs(&self, config: &ConfigMap) -> std::result::Result<Vec<Input>, ConfigProblem> {
        self.subject.inputs(config)
    }

    fn build(&self, config: &ConfigMap, vb: VarBuilder<'static>) -> Result<Box<dyn Model>> {
        let model = self.subject.build(config, vb)?;
        Ok(Box::new(FaultyModel { model, fault: self.fault.clone() }))
    }

    fn has_independent_rows(&self) -> bool {
        self.subject.has_independent_rows()
    }

    fn is_causal(&self) -> bool {
        self.subject.is_causal()
    }

    fn has_state(&self) -> bool {
        self.subject.has_state()
    }

    fn has_reference(&self) -> bool {
        self.subject.has_reference()
    }

    fn reference(
        &self,
        config: &ConfigMap,
        vb: VarBuilder<'static>,
    ) -> Option<Result<Box<dyn Model>>> {
        self.subject.reference(config, vb)
    }
}

struct FaultyModel {
    model: Box<dyn Model>,
    fault: Arc<Fault>,
}

impl FaultyModel {
    fn run<R>(&self, f: impl FnOnce() -> R) -> R {
        let fault = self.fault.clone();
        tap::replaced(move |tap| Ok(fault.replacement(tap)), f)
    }
}

impl Model for FaultyModel {
    fn forward(&self, inputs: &Inputs) -> Result<Outputs> {
        self.run(|| self.model.forward(inputs))
    }

    fn resume(&self, inputs: &Inputs, state: Option<&State>) -> Option<Result<(Outputs, State)>> {
        self.run(|| self.model.resume(inputs, state))
    }

    fn tensors(&self, state: &State) -> Vec<(String, Tensor)> {
        self.model.tensors(state)
    }
}
