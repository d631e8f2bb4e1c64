//! Cases, runs, laws, checks and reports.

pub mod law;
pub mod run;
pub mod snapshot;
pub mod subject;
