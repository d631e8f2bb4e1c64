//! The environment: what is read from it, and what is set in it for others.

use super::reports::{Wanted, WantedError, wanted};
use crate::harness::case::DeviceKind;

/// Options of a test run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The one point to run; all if nothing.
    pub point: Option<String>,
    /// Devices that have to be there.
    pub require: Vec<DeviceKind>,
    /// Reports to be made of the run.
    pub reports: Vec<Wanted>,
}

/// An option that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// A device that is none.
    #[error(
        "SHAPELOCK_REQUIRE: no device is called `{name}`, expected cpu, cuda or metal, several with commas"
    )]
    Device {
        /// The name.
        name: String,
    },
    /// A report that is none.
    #[error("SHAPELOCK_REPORT: {0}")]
    Report(#[from] WantedError),
}

impl Options {
    /// Reads `SHAPELOCK_POINT`, `SHAPELOCK_REQUIRE` and `SHAPELOCK_REPORT`; an empty variable counts as unset.
    ///
    /// # Errors
    /// A device or a report that is none.
    pub fn read() -> Result<Self, OptionsError> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let require = variable("SHAPELOCK_REQUIRE").unwrap_or_default();
        let names = require.split(',').map(str::trim).filter(|name| !name.is_empty());
        let require = names.map(device).collect::<Result<_, _>>()?;
        let reports = wanted(&variable("SHAPELOCK_REPORT").unwrap_or_default())?;
        Ok(Self { point: variable("SHAPELOCK_POINT"), require, reports })
    }
}

fn device(name: &str) -> Result<DeviceKind, OptionsError> {
    let found = DeviceKind::ALL.into_iter().find(|(known, _)| *known == name);
    found.map(|(_, device)| device).ok_or_else(|| OptionsError::Device { name: name.to_owned() })
}

/// What [`prepare`] sets.
const SET_IF_UNSET: [(&str, &str); 3] =
    [("INSTA_OUTPUT", "none"), ("RUST_LIB_BACKTRACE", "1"), ("RAYON_NUM_THREADS", "1")];

/// Sets what libraries read once from the environment, where the user has not: insta is to print nothing, since its
/// diffs of several threads would mix and the report has its own; candle's errors are to carry the lines they came
/// through; and products are to run on one thread each, since the trials already run beside one another.
pub(in crate::harness) fn prepare() {
    for (name, value) in SET_IF_UNSET {
        if std::env::var_os(name).is_none() {
            // SAFETY: `main!` makes this the first thing that `main` does, when the process has one thread, so nobody
            // can read the environment at the same time; nothing below starts a thread before all variables are set.
            unsafe { std::env::set_var(name, value) };
        }
    }
}
