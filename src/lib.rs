//! A lock file for the shapes of a candle model.
#![deny(missing_docs)]

pub mod dims;
#[cfg(feature = "faults")]
pub mod faults;
#[cfg(feature = "harness")]
pub mod harness;
#[cfg(feature = "models")]
pub mod model;
#[cfg(feature = "models")]
pub mod scan;
pub mod trace;

pub use trace::tap;
