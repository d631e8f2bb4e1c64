//! Cases, runs, laws, checks and reports.
