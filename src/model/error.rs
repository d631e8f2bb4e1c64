//! What a model's configuration can be refused for.

/// A configuration that no model can be built from.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("config: {field}: {message}")]
pub struct ConfigError {
    /// The field at fault, as the configuration names it.
    pub field: String,
    /// What is expected, what was found and what to do.
    pub message: String,
}

impl ConfigError {
    pub(crate) fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into() }
    }

    /// Refuses a size of zero, and one so large that products of sizes could overflow.
    pub(crate) fn check_size(field: &str, size: usize) -> Result<(), Self> {
        match size {
            1..=MAX_SIZE => Ok(()),
            _ => Err(Self::new(field, format!("expected 1 to {MAX_SIZE}, actual {size}"))),
        }
    }
}

impl From<ConfigError> for candle_core::Error {
    fn from(error: ConfigError) -> Self {
        Self::wrap(error)
    }
}

/// Three sizes below it multiply within 64 bits; published models stay below 2¹⁷.
const MAX_SIZE: usize = 1 << 20;
