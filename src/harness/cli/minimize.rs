//! The command `minimize`: the smallest case that still fails in the same way.

mod candidate;
mod search;

use std::sync::Arc;

use super::commands::Commands;
use super::find;
use crate::harness::case::Case;
use crate::harness::check::{Check, Finding};
use crate::harness::outcome::counted;
use crate::harness::plan::{Environment, plan};
use crate::harness::registry::Registry;
use crate::harness::snapshot::{Snapshot, read_baseline};
use crate::harness::subject::Described;
use crate::harness::trial::{Trial, run, subject};
use crate::harness::trials::{Job, Suite, on_large_stack};
use search::{Small, smallest};

/// Prints, on stdout alone, the YAML of the smallest case that fails as this one does, and on stderr what was done.
///
/// # Errors
/// A case that is not there or cannot be run.
pub(super) fn minimize(suite: &Suite, machine: &Environment, wanted: &str) -> Result<u8, String> {
    let jobs = find::jobs(suite, machine, wanted)?;
    let Some(case) = jobs.first().map(|job| job.case.clone()) else {
        return Err(format!("no check of `{wanted}` can run here"));
    };
    if case.fault.is_some() {
        return Err(format!(
            "`{}` passes where its checks find the fault of `{}`, so that there is nothing to make smaller: \
            give its sizes to a case without `caught_by`",
            case.path, case.subject
        ));
    }
    let searched = on_large_stack("minimize", || searched(suite, &jobs, &case))?;
    let searched = searched.map_err(|panic| panic.message)??;
    match searched {
        Searched::Nothing => anstream::eprintln!(
            "nothing fails: at every point that can run here, these pass: {}",
            of_all(&jobs)
        ),
        Searched::Snapshot => anstream::eprintln!(
            "only the snapshot differs, at all sizes alike, so that there is nothing to make smaller: \
            cargo insta review shows the change"
        ),
        Searched::Whole { check, points } => anstream::eprintln!(
            "{} fails, but only with all of its {}: no part of it fails in the same way",
            check.name(),
            counted(points, "point")
        ),
        Searched::Small { failing, points, small } => {
            anstream::eprintln!(
                "{}::{} fails at {failing} of {}; the smallest that fails in the same way, of {} tried:\n",
                case.path,
                small.check.name(),
                counted(points, "point"),
                small.tried
            );
            anstream::print!("{}", small.yaml);
            let file = case.file.with_extension("").to_string_lossy().replace('\\', "/");
            let name = format!("{}_small", case.path);
            anstream::eprintln!(
                "\nnext\n  keep it as {file}_small.yaml, and say in `why` what it guards\n  {}",
                Commands::of(suite).test(&name)
            );
        }
    }
    Ok(0)
}

enum Searched {
    Nothing,
    Snapshot,
    Whole { check: Check, points: usize },
    Small { failing: usize, points: usize, small: Small },
}

/// The first check that finds something, made small.
fn searched(suite: &Suite, jobs: &[Arc<Job>], case: &Case) -> Result<Searched, String> {
    let subjects = &suite.subjects;
    let model = subject(subjects, &case.subject).map_err(|error| error.to_string())?;
    let plan = plan(case, &Described(model)).map_err(|errors| errors.to_string())?;
    for job in jobs {
        let Some(finding) = first(subjects, case, job, None)? else { continue };
        let points = job.points;
        return Ok(match smallest(subjects, case, &plan, job.device, &finding) {
            Some(small) => Searched::Small { failing: finding.tally.failed.len(), points, small },
            None => Searched::Whole { check: job.check, points },
        });
    }
    let path = suite.snapshot(&case.path);
    let locked = path.map(|path| read_baseline(&path)).transpose();
    let locked = locked.map_err(|error| error.to_string())?.flatten();
    let shapes = jobs.iter().find(|job| job.check == Check::Shapes);
    Ok(match (shapes, &locked) {
        (Some(job), Some(locked)) if first(subjects, case, job, Some(locked))?.is_some() => {
            Searched::Snapshot
        }
        _ => Searched::Nothing,
    })
}

fn first(
    subjects: &Registry,
    case: &Case,
    job: &Job,
    baseline: Option<&Snapshot>,
) -> Result<Option<Finding>, String> {
    let (check, device) = (job.check, job.device);
    let trial = Trial { case, subjects, check, device, point: None, baseline, laws: None };
    let outcome = run(&trial).map_err(|error| error.to_string())?;
    Ok(outcome.findings.into_iter().next())
}

fn of_all(jobs: &[Arc<Job>]) -> String {
    let mut checks: Vec<&str> = jobs.iter().map(|job| job.check.name()).collect();
    checks.dedup();
    checks.join(", ")
}
