//! Cases, runs, laws, checks and reports.

pub mod case;
pub mod check;
#[cfg(feature = "cli")]
pub mod cli;
pub mod law;
pub mod outcome;
pub mod plan;
pub mod registry;
pub mod report;
pub mod run;
pub mod snapshot;
pub mod study;
pub mod subject;
pub mod subjects;
pub mod trial;
pub mod trials;
pub mod zoo;
