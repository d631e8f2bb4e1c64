//! Models: the state space model of the bug report, and Mamba-2.
//!
//! Plain candle code that reads as its equations, with the shape at the end of the line and a [tap](crate::tap()) wherever
//! a reader would look. Parameters come from a `VarBuilder`; nothing here names the harness.

mod activation;
mod dense_ssm;
mod error;
mod linear;
pub mod mamba2;
pub mod train;

pub use activation::{silu, softplus};
pub use dense_ssm::{DenseSsm, DenseSsmConfig, DenseSsmDims};
pub use error::ConfigError;
pub use linear::Linear;
