//! What stops a training run.
use std::path::PathBuf;

/// A step that was not made, or a run that cannot be saved or resumed.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// A step without a loss.
    #[error("losses: expected at least one, found none")]
    NoLoss,
    /// A loss or gradient that is infinite or NaN; no weight has changed.
    #[error("step {step}: the {what} is {value}: no weight has changed")]
    NotFinite {
        /// What it is.
        what: &'static str,
        /// Its value.
        value: f64,
        /// The step that was not made.
        step: u64,
    },
    /// Weights that the loss does not depend on.
    #[error("no gradient reaches {}: train only what the loss depends on", names.join(", "))]
    Severed {
        /// Their names.
        names: Vec<String>,
    },
    /// A setting outside its bounds.
    #[error("{field}: expected {expected}, actual {actual}")]
    Setting {
        /// The setting.
        field: &'static str,
        /// Its bounds.
        expected: &'static str,
        /// Its value.
        actual: f64,
    },
    /// A saved run that cannot be read or written, or is not of these weights.
    #[error("{}: {message}", path.display())]
    Saved {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// An error of candle's.
    #[error(transparent)]
    Tensor(#[from] candle_core::Error),
}
