//! Where in a model a scan runs.
use std::fmt::Display;

use candle_core::{Result, Tensor};

/// A dotted path that taps are named under, such as `layers.0.mixer`; empty at the root.
///
/// ```
/// use shapelock::scan::Scope;
/// let mixer = Scope::root().child("layers").child(0).child("mixer");
/// assert_eq!(mixer.name("scan.h"), "layers.0.mixer.scan.h");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope(String);

impl Scope {
    /// The scope whose taps keep their own names.
    pub const fn root() -> Self {
        Self(String::new())
    }

    /// The scope `name` inside this one.
    #[must_use]
    pub fn child(&self, name: impl Display) -> Self {
        Self(self.name(name))
    }

    /// The full name of `name` in this scope.
    pub fn name(&self, name: impl Display) -> String {
        if self.0.is_empty() { name.to_string() } else { format!("{}.{name}", self.0) }
    }

    /// Taps `t` under `name` in this scope; see [`crate::tap()`].
    ///
    /// # Errors
    /// Those of [`crate::tap()`].
    #[track_caller]
    pub fn tap(&self, name: &str, t: Tensor) -> Result<Tensor> {
        crate::tap(&self.name(name), t)
    }
}
