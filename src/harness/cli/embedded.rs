//! The cases that come with the binary, for where there is no folder of cases.

macro_rules! embedded {
    ($($name:literal: $file:literal),* $(,)?) => {
        /// Names and texts of the cases whose subjects are shipped.
        pub const CASES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/cases/", $file)))),*];
    };
}

embedded! {
    "dense_ssm::bug_report": "dense_ssm/bug_report.yaml",
    "dense_ssm::empty_sequence": "dense_ssm/empty_sequence.yaml",
    "mamba2::collisions": "mamba2/collisions.yaml",
    "mamba2::scans": "mamba2/scans.yaml",
    "mamba2::series": "mamba2/series.yaml",
}
