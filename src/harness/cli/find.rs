//! One case by what people type.

use std::sync::Arc;

use super::choose::{belongs, name, no_case};
use crate::harness::case::Case;
use crate::harness::plan::Environment;
use crate::harness::trials::{self, Job, Listed, Options, Suite, Work};

/// The case of that name, or in that file.
///
/// # Errors
/// A case that is not there or cannot be read, or a folder of cases.
pub(super) fn find(
    suite: &Suite,
    machine: &Environment,
    wanted: &str,
) -> Result<Arc<Case>, String> {
    let all = trials(suite, machine, wanted)?;
    let first = all.first().map(|listed| &listed.work);
    match first {
        Some(Work::Check(job)) => Ok(job.case.clone()),
        Some(Work::Broken(text) | Work::NoSubject(text)) => Err(text.clone()),
        None => Err(format!("`{wanted}` has no trials")),
    }
}

/// The jobs of that case which can run here.
///
/// # Errors
/// As [`find`].
pub(super) fn jobs(
    suite: &Suite,
    machine: &Environment,
    wanted: &str,
) -> Result<Vec<Arc<Job>>, String> {
    let here = |listed: Listed| match (listed.work, listed.skip) {
        (Work::Check(job), None) => Some(Ok(job)),
        (Work::Check(_), Some(_)) => None,
        (Work::Broken(text) | Work::NoSubject(text), _) => Some(Err(text)),
    };
    trials(suite, machine, wanted)?.into_iter().filter_map(here).collect()
}

/// The trials of one case.
fn trials(suite: &Suite, machine: &Environment, wanted: &str) -> Result<Vec<Listed>, String> {
    let all = trials::list(suite, machine, &Options::default(), None);
    let wanted = name(wanted);
    let is_of = |listed: &&Listed| listed.case == wanted || listed.name == wanted;
    let same: Vec<Listed> = all.iter().filter(is_of).cloned().collect();
    if !same.is_empty() {
        return Ok(same);
    }
    let inside = all.iter().find(|listed| belongs(listed, &wanted));
    Err(match inside {
        Some(Listed { case, .. }) => {
            format!("`{wanted}` is a folder of cases, one of which is `{case}`")
        }
        None => no_case(&wanted, &all),
    })
}
