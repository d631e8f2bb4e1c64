//! A model that is built once and run as often as a check needs, on inputs of the check's choosing.

use candle_core::{Result, Tensor, Var};

use super::backward::{backward_from, cotangents};
use super::depth::bounded;
use super::failure::{Failure, caught};
use super::inputs::inputs;
use super::{Named, Setup};
use crate::harness::subject::{AnySubject, Inputs, Model, State};
use crate::trace::params::Params;
use crate::trace::tap::{self, Tap};

/// A model with its parameters and the inputs of a setup.
pub struct Rig {
    model: Box<dyn Model>,
    params: Params,
    inputs: Inputs,
    seed: u64,
}

/// What came of one forward pass.
#[derive(Debug, Clone, Default)]
pub struct Pass {
    /// The outputs, by name.
    pub outputs: Named,
    /// What the taps saw, in order; nothing of it where an error ended the pass.
    pub taps: Vec<Tap>,
}

impl Rig {
    /// Builds the subject's model and fills its inputs.
    ///
    /// # Errors
    /// What building can fail with.
    pub fn new(
        subject: &dyn AnySubject,
        setup: &Setup<'_>,
    ) -> std::result::Result<Self, Box<Failure>> {
        let params = Params::new(setup.seed);
        let vb = params.builder(setup.dtype, setup.device);
        let model = caught(|| subject.build(setup.config, vb)).map_err(Box::new)?;
        Self::around(model, params, subject, setup)
    }

    /// The same with the subject's definition in the model's place; `None` where it has none.
    pub fn of_reference(
        subject: &dyn AnySubject,
        setup: &Setup<'_>,
    ) -> Option<std::result::Result<Self, Box<Failure>>> {
        let params = Params::new(setup.seed);
        let vb = params.builder(setup.dtype, setup.device);
        let model = caught(|| subject.reference(setup.config, vb).transpose());
        let model = model.map_err(Box::new).transpose()?;
        Some(model.and_then(|model| Self::around(model, params, subject, setup)))
    }

    /// The subject's model with one parameter moved by `by`.
    ///
    /// # Errors
    /// What building can fail with.
    pub fn moved(
        subject: &dyn AnySubject,
        setup: &Setup<'_>,
        name: &str,
        by: &Tensor,
    ) -> std::result::Result<Self, Box<Failure>> {
        let params = Params::new(setup.seed).moved(name, by);
        let vb = params.builder(setup.dtype, setup.device);
        let model = caught(|| subject.build(setup.config, vb)).map_err(Box::new)?;
        Self::around(model, params, subject, setup)
    }

    fn around(
        model: Box<dyn Model>,
        params: Params,
        subject: &dyn AnySubject,
        setup: &Setup<'_>,
    ) -> std::result::Result<Self, Box<Failure>> {
        let inputs = caught(|| inputs(subject, setup)).map_err(Box::new)?;
        Ok(Self { model, params, inputs, seed: setup.seed })
    }

    /// The inputs of the setup.
    pub fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    /// The parameters, by path.
    pub fn parameters(&self) -> Vec<(String, Var)> {
        self.params.all()
    }

    /// A forward pass over `inputs`.
    ///
    /// # Errors
    /// What the model fails with.
    pub fn forward(&self, inputs: &Inputs) -> std::result::Result<Pass, Box<Failure>> {
        let run = tap::record(|| caught(|| self.model.forward(inputs)));
        let outputs = bounded(run.result, run.span).map_err(Box::new)?;
        Ok(Pass { outputs: outputs.0, taps: run.taps })
    }

    /// The same, with `plan` putting other tensors in the place of those that taps see.
    ///
    /// # Errors
    /// What the model fails with.
    pub fn forward_with(
        &self,
        inputs: &Inputs,
        plan: impl FnMut(&Tap) -> Result<Option<Tensor>> + 'static,
    ) -> std::result::Result<Pass, Box<Failure>> {
        let run = tap::record(|| tap::replaced(plan, || caught(|| self.model.forward(inputs))));
        let outputs = bounded(run.result, run.span).map_err(Box::new)?;
        Ok(Pass { outputs: outputs.0, taps: run.taps })
    }

    /// Reads on from `state`, or from the start; `None` for a model that keeps no state.
    ///
    /// # Errors
    /// What the model fails with.
    pub fn resume(
        &self,
        inputs: &Inputs,
        state: Option<&State>,
    ) -> std::result::Result<Option<(Pass, State)>, Box<Failure>> {
        let run = tap::record(|| caught(|| self.model.resume(inputs, state).transpose()));
        let resumed = run.result.map_err(Box::new)?;
        Ok(resumed.map(|(outputs, state)| (Pass { outputs: outputs.0, taps: run.taps }, state)))
    }

    /// The tensors of a state, where the model shows them.
    pub fn tensors(&self, state: &State) -> Named {
        self.model.tensors(state)
    }

    /// For each float output, the seeded random cotangent that stands for a loss.
    ///
    /// # Errors
    /// Candle's own.
    pub fn cotangents(&self, outputs: &Named) -> Result<Named> {
        cotangents(outputs, self.seed)
    }

    /// The gradients of the outputs' product with `cotangents`: of every parameter, and of the float `inputs`; one that
    /// backward gives none is left out.
    ///
    /// # Errors
    /// What the backward pass fails with.
    pub fn gradients(
        &self,
        outputs: &Named,
        cotangents: &Named,
        inputs: &Inputs,
    ) -> std::result::Result<Named, Box<Failure>> {
        let store = caught(|| backward_from(outputs, cotangents)).map_err(Box::new)?;
        let vars = self.params.all();
        let vars = vars.iter().map(|(name, var)| (name, var.as_tensor()));
        let all = vars.chain(inputs.0.iter().map(|(name, t)| (name, t)));
        Ok(all.filter_map(|(name, t)| Some((name.clone(), store.get(t)?.clone()))).collect())
    }
}
