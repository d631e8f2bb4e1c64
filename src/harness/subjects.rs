//! The subjects that come with the crate: its own models.

mod dense_ssm;
mod mamba2;

use super::registry::Registry;
use super::subject::ConfigProblem;
use crate::model::ConfigError;

pub use dense_ssm::DenseSsmSubject;
pub use mamba2::Mamba2Subject;

/// All of them.
pub fn shipped() -> Registry {
    let subjects = Registry::new().with(DenseSsmSubject);
    Mamba2Subject::ALL.into_iter().fold(subjects, Registry::with)
}

impl From<ConfigError> for ConfigProblem {
    fn from(error: ConfigError) -> Self {
        Self { field: Some(error.field.to_string()), message: error.message }
    }
}
