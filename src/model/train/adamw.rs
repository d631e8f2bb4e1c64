//! AdamW (Loshchilov and Hutter 2019), with moments that can be saved: candle-nn's keeps them to itself.
use std::collections::BTreeMap;

use candle_core::{DType, Result, Tensor, Var};

use super::{Gradients, TrainError};

/// The settings of [`AdamW`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamWConfig {
    /// The memory of the first moment.
    pub beta1: f64,
    /// The memory of the second moment.
    pub beta2: f64,
    /// Added to the root of the second moment.
    pub eps: f64,
    /// How strongly the weights that decay are pulled to zero, by the learning rate.
    pub weight_decay: f64,
}

impl Default for AdamWConfig {
    fn default() -> Self {
        Self { beta1: 0.9, beta2: 0.95, eps: 1e-8, weight_decay: 0.1 }
    }
}

/// m ← β₁·m + (1 − β₁)·g, v ← β₂·v + (1 − β₂)·g², θ ← θ − lr·(m̂ / (√v̂ + eps) + decay·θ), with m̂ and v̂ free of the bias
/// towards zero that the first steps have.
///
/// Moments are kept in at least f32.
#[derive(Debug)]
pub struct AdamW {
    config: AdamWConfig,
    steps: u64,
    slots: BTreeMap<String, Slot>,
}

/// One weight and its moments.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) var: Var,
    pub(super) decays: bool,
    pub(super) first: Tensor,
    pub(super) second: Tensor,
}

impl AdamW {
    /// An optimiser of the named weights, each with whether it decays.
    ///
    /// # Errors
    /// [`TrainError::Setting`] for a setting outside its bounds.
    pub fn new(
        vars: impl IntoIterator<Item = (String, Var, bool)>,
        config: AdamWConfig,
    ) -> std::result::Result<Self, TrainError> {
        config.check()?;
        let mut slots = BTreeMap::new();
        for (name, var, decays) in vars {
            let zeros = || Tensor::zeros(var.shape(), moment_dtype(&var), var.device());
            let (first, second) = (zeros()?, zeros()?);
            slots.insert(name, Slot { var, decays, first, second });
        }
        Ok(Self { config, steps: 0, slots })
    }

    /// How many steps have been made.
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// The weights in the order of their names.
    pub fn vars(&self) -> impl Iterator<Item = (&str, &Var)> {
        self.slots.iter().map(|(name, slot)| (name.as_str(), &slot.var))
    }

    /// Makes one step by the mean of `gradients`, times `scale`.
    ///
    /// # Errors
    /// Those of candle's.
    pub fn step(&mut self, gradients: &Gradients, scale: f64, lr: f64) -> Result<()> {
        let AdamWConfig { beta1, beta2, eps, weight_decay } = self.config;
        self.steps += 1;
        let steps = self.steps.min(i32::MAX as u64) as i32;
        let (unbias1, unbias2) = (1. / (1. - beta1.powi(steps)), 1. / (1. - beta2.powi(steps)));
        for (name, slot) in &mut self.slots {
            let Some(g) = gradients.mean(name)? else {
                continue;
            };
            let g = g.affine(scale, 0.)?;
            slot.first = (slot.first.affine(beta1, 0.)? + g.affine(1. - beta1, 0.)?)?;
            slot.second = (slot.second.affine(beta2, 0.)? + g.sqr()?.affine(1. - beta2, 0.)?)?;
            let root = slot.second.affine(unbias2, 0.)?.sqrt()?.affine(1., eps)?;
            let change = (slot.first.affine(unbias1, 0.)? / root)?.affine(lr, 0.)?;
            let weight = slot.var.as_tensor().detach().to_dtype(change.dtype())?;
            let kept = if slot.decays { 1. - lr * weight_decay } else { 1. };
            let weight = (weight.affine(kept, 0.)? - change)?;
            slot.var.set(&weight.to_dtype(slot.var.dtype())?)?;
        }
        Ok(())
    }

    pub(super) fn moment_dtype(&self, var: &Var) -> DType {
        moment_dtype(var)
    }

    pub(super) const fn slots(&self) -> &BTreeMap<String, Slot> {
        &self.slots
    }

    /// Takes a saved run's weights and moments, which have been checked.
    pub(super) fn restore(
        &mut self,
        steps: u64,
        mut saved: BTreeMap<String, [Tensor; 3]>,
    ) -> Result<()> {
        for (name, slot) in &mut self.slots {
            let Some([weight, first, second]) = saved.remove(name) else {
                continue;
            };
            slot.var.set(&weight)?;
            (slot.first, slot.second) = (first, second);
        }
        self.steps = steps;
        Ok(())
    }
}

impl AdamWConfig {
    fn check(&self) -> std::result::Result<(), TrainError> {
        let below_one = "0 or more and below 1";
        let positive = "a positive number";
        let settings = [
            ("beta1", below_one, self.beta1, (0. ..1.).contains(&self.beta1)),
            ("beta2", below_one, self.beta2, (0. ..1.).contains(&self.beta2)),
            ("eps", positive, self.eps, self.eps > 0. && self.eps.is_finite()),
            (
                "weight_decay",
                "0 or more",
                self.weight_decay,
                self.weight_decay >= 0. && self.weight_decay.is_finite(),
            ),
        ];
        match settings.into_iter().find(|(.., fits)| !fits) {
            Some((field, expected, actual, _)) => {
                Err(TrainError::Setting { field, expected, actual })
            }
            None => Ok(()),
        }
    }
}

fn moment_dtype(var: &Var) -> DType {
    if var.dtype() == DType::F64 { DType::F64 } else { DType::F32 }
}
