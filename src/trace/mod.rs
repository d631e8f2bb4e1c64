//! Seeing a forward pass: taps, the op graph, steps.
mod tap;
pub use tap::tap;
