//! Command lines that texts name: as they are typed for this suite.

use crate::harness::trials::Suite;

/// How a suite's commands and tests are called.
pub(super) struct Commands {
    binary: String,
    partial: bool,
}

impl Commands {
    /// Those of a suite.
    pub(super) fn of(suite: &Suite) -> Self {
        Self { binary: suite.binary.clone(), partial: suite.partial }
    }

    /// A command of this command line.
    pub(super) fn cli(&self, words: &str) -> String {
        match self.partial {
            true => format!("shapelock {words}"),
            false => format!("cargo test --test {} -- cli {words}", self.binary),
        }
    }

    /// The tests whose names contain a text.
    pub(super) fn test(&self, filter: &str) -> String {
        format!("cargo test --test {} -- {filter}", self.binary)
    }
}
