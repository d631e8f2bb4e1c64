//! Training: an optimiser whose whole state can be saved, a schedule, accumulation and clipping.
//!
//! A run that is stopped and resumed goes on with bit-identical losses on the CPU: [`Training::save`] keeps weights,
//! moments and the number of steps, and the schedule depends on the number of steps alone.

mod adamw;
mod error;
mod gradients;
mod resume;
mod schedule;

pub use adamw::{AdamW, AdamWConfig};
pub use error::TrainError;
pub use gradients::Gradients;
pub use schedule::Schedule;

use std::path::Path;

use candle_core::Tensor;

/// A training run: the optimiser, its schedule, and how gradients are clipped.
///
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use shapelock::model::mamba2::{Config, Mamba2, Weights};
/// use shapelock::model::train::{AdamW, AdamWConfig, Schedule, Training};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let config: Config = serde_json::from_str(
///     r#"{"d_model": 8, "n_layer": 1, "d_state": 4, "headdim": 4, "chunk_size": 4, "head": {"outputs": 1}}"#,
/// )?;
/// let weights = Weights::new(&config, DType::F32, &Device::Cpu, 7)?;
/// let model = Mamba2::new(&config, weights.builder())?;
/// let optimizer = AdamW::new(weights.trained(&config)?, AdamWConfig::default())?;
/// let mut training = Training { optimizer, schedule: Schedule::constant(1e-2), clip: Some(1.) };
///
/// let x = Tensor::ones((2, 4, 8), DType::F32, &Device::Cpu)?; // (b, l, d)
/// let mut losses = vec![];
/// for _ in 0..5 {
///     let loss = (model.forward(&x)? - 1.)?.sqr()?.mean_all()?;
///     losses.push(training.step([Ok(loss)])?.loss);
/// }
/// assert!(losses[4] < losses[0]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Training {
    /// The optimiser, which knows the weights.
    pub optimizer: AdamW,
    /// The learning rate at each step.
    pub schedule: Schedule,
    /// The largest norm of all gradients together; longer ones are shortened to it.
    pub clip: Option<f64>,
}

/// What one step did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// How many steps have been made, this one included.
    pub number: u64,
    /// The mean of the losses.
    pub loss: f64,
    /// The norm of all gradients together, before it was clipped.
    pub norm: f64,
    /// The learning rate.
    pub lr: f64,
}

impl Training {
    /// Makes one step by the mean gradient of the scalar `losses`, one for each part of the batch.
    ///
    /// Each loss is freed before the next is asked for, so that an iterator which computes them holds one graph at a
    /// time.
    ///
    /// # Errors
    /// [`TrainError::NoLoss`] without a loss, [`TrainError::NotFinite`] where a loss or the gradient is infinite or NaN,
    /// in which case no weight has changed; [`TrainError::Severed`] where a weight has no gradient; an error of candle's.
    pub fn step(
        &mut self,
        losses: impl IntoIterator<Item = candle_core::Result<Tensor>>,
    ) -> Result<Step, TrainError> {
        let mut gradients = Gradients::default();
        let mut total = 0.;
        for loss in losses {
            let loss = loss?;
            total += loss.to_dtype(candle_core::DType::F64)?.to_scalar::<f64>()?;
            gradients.add(&self.optimizer, &loss.backward()?)?;
        }
        let count = gradients.parts();
        if count == 0 {
            return Err(TrainError::NoLoss);
        }
        let loss = total / count as f64;
        let norm = gradients.norm()?;
        for (what, value) in [("loss", loss), ("norm of the gradients", norm)] {
            if !value.is_finite() {
                return Err(TrainError::NotFinite {
                    what,
                    value,
                    step: self.optimizer.steps() + 1,
                });
            }
        }
        let shortened = self.clip.map_or(1., |clip| (clip / norm.max(f64::MIN_POSITIVE)).min(1.));
        let lr = self.schedule.lr(self.optimizer.steps());
        self.optimizer.step(&gradients, shortened, lr)?;
        Ok(Step { number: self.optimizer.steps(), loss, norm, lr })
    }

    /// Saves weights, moments and the number of steps to the file `path`, which is never left half written.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), TrainError> {
        resume::save(path, &self.optimizer)
    }

    /// Takes weights, moments and the number of steps from a file that [`Training::save`] wrote.
    ///
    /// # Errors
    /// A file that cannot be read, or is not of these weights; then nothing has changed.
    pub fn resume(&mut self, path: &Path) -> Result<(), TrainError> {
        resume::load(path, &mut self.optimizer)
    }
}
