//! The command `schema`.

use crate::harness::case::schema;
use crate::harness::check::Check;
use crate::harness::registry::Registry;

/// The schema of a case as a file.
pub(super) fn text(subjects: &Registry) -> String {
    let checks = Check::ALL.map(Check::name);
    format!("{:#}\n", schema(&checks, &subjects.names()))
}
