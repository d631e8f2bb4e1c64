//! One case by what people type.

use std::sync::Arc;

use super::choose::{belongs, name, no_case};
use crate::harness::case::Case;
use crate::harness::plan::Environment;
use crate::harness::trials::{self, Options, Suite, Work};

/// The case of that name, or in that file.
///
/// # Errors
/// A case that is not there or cannot be read, or a folder of cases.
pub(super) fn find(
    suite: &Suite,
    machine: &Environment,
    wanted: &str,
) -> Result<Arc<Case>, String> {
    let all = trials::list(suite, machine, &Options::default(), None);
    let wanted = name(wanted);
    let of_case: Vec<_> = all.iter().filter(|listed| belongs(listed, &wanted)).collect();
    let mut same = of_case.iter().filter(|listed| listed.case == wanted || listed.name == wanted);
    if let Some(listed) = same.next() {
        return match &listed.work {
            Work::Check(job) => Ok(job.case.clone()),
            Work::Broken(text) | Work::NoSubject(text) => Err(text.clone()),
        };
    }
    let inside: Vec<&str> = of_case.iter().map(|listed| listed.case.as_str()).collect();
    match inside.first() {
        Some(first) => Err(format!("`{wanted}` is a folder of cases, one of which is `{first}`")),
        None => Err(no_case(&wanted, &all)),
    }
}
