//! What a model refuses to read, as data.
use candle_core::DType;

use crate::scan::Bound;

/// An input, a state or a mask that a model cannot take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// An argument has another shape than its axes say.
    #[error("{argument}: expected {expected}, actual {actual:?}, with {bound}")]
    Shape {
        /// The argument's name.
        argument: &'static str,
        /// Its axes in the glossary's letters.
        expected: &'static str,
        /// The shape it came with.
        actual: Vec<usize>,
        /// The dims that the model and the arguments before it have bound.
        bound: Bound,
    },
    /// An argument has another dtype than the model reads.
    #[error("{argument}: expected {expected}, actual {actual:?}: cast it first")]
    DType {
        /// The argument's name.
        argument: &'static str,
        /// The dtypes that the model reads.
        expected: String,
        /// The dtype it came with.
        actual: DType,
    },
    /// A state that another model, batch size or dtype made.
    #[error("state: {what}: expected {expected}, actual {actual}: start from `zero_state`")]
    State {
        /// In what it differs.
        what: &'static str,
        /// What the model needs.
        expected: String,
        /// What the state has.
        actual: String,
    },
    /// A mask whose ones are not one run in each row.
    #[error("mask: row {row} has padding between its tokens: expected it before or after them")]
    Hole {
        /// The row at fault.
        row: usize,
    },
    /// Row indices outside the batch.
    #[error("rows: expected indices below b={b}, actual {row}")]
    Row {
        /// The batch size.
        b: usize,
        /// The index at fault.
        row: usize,
    },
}

impl From<InputError> for candle_core::Error {
    fn from(error: InputError) -> Self {
        Self::wrap(error)
    }
}
