//! Scans: the recurrences that carry a state along the sequence.
//!
//! Two families live here. [`dense`] is the time-invariant scan with a full state matrix. The Mamba-2 scans take one
//! decay a head and a token; `sequential` is their definition, and every other one must agree with it in values and
//! gradients. Axes are as in the paper (Dao and Gu 2024, arXiv 2405.21060): x (b, l, h, p), B and C (b, l, g, n),
//! dt (b, l, h), state (b, h, p, n). Groups are interleaved: head j reads group ⌊j / (h/g)⌋.
//!
//! The scans know nothing of models; inputs are checked once, at entry.

mod associative;
mod chunked;
mod dense;
mod error;
pub(crate) mod fused;
mod inputs;
mod scope;
mod sequential;

pub use dense::{dense, dense_by_definition};
pub use error::{Bound, ScanError};
pub use inputs::{Inputs, Output, Sizes};
pub use scope::Scope;

use candle_core::{Device, Result};
use serde::{Deserialize, Serialize};

/// How a Mamba-2 scan is computed; what it computes is the same.
///
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use shapelock::scan::{Inputs, Scan};
///
/// # fn main() -> candle_core::Result<()> {
/// let tensor = |shape: &[usize]| Tensor::ones(shape, DType::F64, &Device::Cpu);
/// let (x, dt, a) = (tensor(&[1, 5, 4, 2])?, tensor(&[1, 5, 4])?, tensor(&[4])?.neg()?);
/// let (b, c) = (tensor(&[1, 5, 2, 3])?, tensor(&[1, 5, 2, 3])?);
/// let inputs = Inputs::new(&x, &dt, &a, &b, &c);
/// let whole = Scan::Sequential.run(&inputs, 4)?;
/// let blocks = Scan::Chunked.run(&inputs, 4)?;
/// assert_eq!(whole.y.dims(), [1, 5, 4, 2]);
/// assert!((whole.y - blocks.y)?.abs()?.max_all()?.to_scalar::<f64>()? < 1e-12);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scan {
    /// Token by token: the definition.
    Sequential,
    /// Blocks of q tokens by matrix products (SSD): the fast one for long sequences.
    #[default]
    Chunked,
    /// A parallel prefix over the tokens: ⌈log₂ l⌉ passes over all states.
    Associative,
    /// One op with its own backward pass, on the CPU: the fast one there.
    Fused,
    /// The fast one of the device.
    Auto,
}

impl Scan {
    /// Every way to scan, the definition first.
    pub const ALL: [Self; 4] = [Self::Sequential, Self::Chunked, Self::Associative, Self::Fused];

    /// The scan that runs on a device: the same every time, whatever the sizes are.
    #[must_use]
    pub fn on(self, device: &Device) -> Self {
        match self {
            Self::Auto if device.is_cpu() => Self::Fused,
            Self::Auto => Self::Chunked,
            scan => scan,
        }
    }

    /// Runs the scan; `chunk_size` is q and only the chunked scan reads it.
    ///
    /// # Errors
    /// A wrapped [`ScanError`] for inputs that do not fit together, or an error of candle's.
    pub fn run(self, inputs: &Inputs, chunk_size: usize) -> Result<Output> {
        let sizes = inputs.check()?;
        match self.on(inputs.x.device()) {
            Self::Sequential => sequential::scan(inputs, sizes),
            Self::Chunked if chunk_size == 0 => Err(ScanError::ChunkSize.into()),
            Self::Chunked => chunked::scan(inputs, sizes, chunk_size),
            Self::Associative => associative::scan(inputs, sizes),
            Self::Fused | Self::Auto => fused::scan(inputs, sizes),
        }
    }
}
