//! Cases, runs, laws, checks and reports.
pub mod case;
pub mod plan;
