//! What a scan refuses, as data.
use std::fmt;

use candle_core::DType;

/// The dims that were bound when an input was refused, in order: `b=8 l=60 n=16`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bound(pub Vec<(&'static str, usize)>);

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (symbol, value)) in self.0.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(f, "{space}{symbol}={value}")?;
        }
        Ok(())
    }
}

/// An input that a scan cannot take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScanError {
    /// An argument has another shape than its axes say.
    #[error("{argument}: expected {expected}, actual {actual:?}, with {bound}")]
    Shape {
        /// The argument's name.
        argument: &'static str,
        /// Its axes in the glossary's letters.
        expected: &'static str,
        /// The shape it came with.
        actual: Vec<usize>,
        /// The dims the arguments before it have bound.
        bound: Bound,
    },
    /// An argument has an axis of extent zero: there is nothing to scan.
    #[error("{argument}: {symbol} is 0 in {expected} = {actual:?}: a scan needs at least one")]
    Empty {
        /// The argument's name.
        argument: &'static str,
        /// The axis, in the glossary's letter.
        symbol: &'static str,
        /// The argument's axes.
        expected: &'static str,
        /// The shape it came with.
        actual: Vec<usize>,
    },
    /// An argument has another dtype than the first one.
    #[error("{argument}: expected {expected:?}, actual {actual:?}: cast it before the scan")]
    DType {
        /// The argument's name.
        argument: &'static str,
        /// The dtype of the scan.
        expected: DType,
        /// The dtype it came with.
        actual: DType,
    },
    /// The scan's dtype is too coarse for a recurrence.
    #[error(
        "the scan runs in f32 or f64, actual {actual:?}: cast x, dt, B, C and the state to f32"
    )]
    Precision {
        /// The dtype of x.
        actual: DType,
    },
    /// The heads cannot be shared out among the groups.
    #[error("h={h} heads are not a multiple of g={g} groups")]
    Groups {
        /// Number of heads.
        h: usize,
        /// Number of groups.
        g: usize,
    },
    /// The fused scan was asked for on another device.
    #[error(
        "the fused scan runs on the cpu, actual {actual}: use `scan: chunked` there, or `auto`"
    )]
    Device {
        /// Where the inputs are.
        actual: String,
    },
    /// A chunk of no tokens.
    #[error("chunk_size is 0: expected at least 1")]
    ChunkSize,
}

impl From<ScanError> for candle_core::Error {
    fn from(error: ScanError) -> Self {
        Self::wrap(error)
    }
}
