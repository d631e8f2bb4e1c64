//! From cases to a list of trials, without building a model or touching a device.

use std::path::Path;
use std::sync::Arc;

use super::Options;
use super::suite::Suite;
use crate::harness::case::{Case, CaseFile, CasePath, DeviceKind};
use crate::harness::check::Check;
use crate::harness::plan::{Environment, Plan, absent, plan};
use crate::harness::run::panics;
use crate::harness::subject::Described;
use crate::harness::trial::{checks, others};

/// A trial of the list.
#[derive(Debug, Clone)]
pub struct Listed {
    /// The name of its case.
    pub case: String,
    /// Its name.
    pub name: String,
    /// What it does.
    pub work: Work,
    /// Why it cannot be done here.
    pub skip: Option<String>,
}

/// What a trial does.
#[derive(Debug, Clone)]
pub enum Work {
    /// A check.
    Check(Arc<Job>),
    /// It fails with this text: the case cannot be read or does not fit its subject.
    Broken(String),
    /// The same, because its subject is not registered here.
    NoSubject(String),
}

/// One check of one case on one device.
#[derive(Debug, Clone)]
pub struct Job {
    /// The trial's name.
    pub name: String,
    /// The case.
    pub case: Arc<Case>,
    /// The check.
    pub check: Check,
    /// The device.
    pub device: DeviceKind,
    /// How many points it has.
    pub points: usize,
    /// Points of the case that are left out for want of a device, as `12 skipped: no CUDA device`.
    pub left_out: Vec<String>,
}

/// All trials in the order of their names' cases; of one case alone where `exact` names one of its trials.
pub fn list(
    suite: &Suite,
    machine: &Environment,
    options: &Options,
    exact: Option<&str>,
) -> Vec<Listed> {
    let one = exact.and_then(|name| case_of(suite, name));
    let (cases, errors) = one.clone().map_or_else(|| suite.files(), |case| (vec![case], None));
    let missing = errors.iter().map(|errors| Listed {
        case: "cases".into(),
        name: "cases::found".into(),
        work: Work::Broken(errors.to_string()),
        skip: None,
    });
    let trials = cases.iter().flat_map(|case| of_case(suite, case, machine, options));
    let mut all: Vec<Listed> = missing.chain(trials).collect();
    if one.is_none() {
        let without = options.require.iter().filter(|device| !has(&all, **device)).map(unlisted);
        let without: Vec<Listed> = without.collect();
        all.extend(without);
    }
    all
}

/// Whether any trial is on a device.
fn has(all: &[Listed], device: DeviceKind) -> bool {
    let suffix = format!("::{device}");
    device == DeviceKind::Cpu || all.iter().any(|listed| listed.name.ends_with(&suffix))
}

/// A device that has to be there and that no case has points on: a run without any of them would prove nothing.
fn unlisted(device: &DeviceKind) -> Listed {
    let text = format!(
        "SHAPELOCK_REQUIRE asks for {device}, and no case has a point on it: \
        name it in a matrix, as in `device: [cpu, {device}]`"
    );
    let name = format!("cases::require::{device}");
    Listed { case: "cases".into(), name, work: Work::Broken(text), skip: None }
}

/// The trials of the case in `file`, which may lie anywhere.
pub(super) fn of_file(
    suite: &Suite,
    file: &Path,
    machine: &Environment,
    options: &Options,
) -> Vec<Listed> {
    let (cases, _) = suite.files();
    match cases.into_iter().find(|case| case.file == file) {
        Some(case) => of_case(suite, &case, machine, options),
        None => {
            let text = format!("{}: no case below {}", file.display(), suite.root.display());
            vec![Listed {
                case: String::new(),
                name: file.display().to_string(),
                work: Work::Broken(text),
                skip: None,
            }]
        }
    }
}

/// The file that the name of a trial points at: its case is what stands before the check, and before the device.
fn case_of(suite: &Suite, name: &str) -> Option<CaseFile> {
    let (rest, _) = name.rsplit_once("::")?;
    let shorter = rest.rsplit_once("::").map(|(rest, _)| rest);
    let paths = [Some(rest), shorter].into_iter().flatten();
    paths.filter_map(|path| CasePath::new(path).ok()).find_map(|path| suite.file(path))
}

fn of_case(
    suite: &Suite,
    file: &CaseFile,
    machine: &Environment,
    options: &Options,
) -> Vec<Listed> {
    let broken = |work: Work| {
        vec![Listed {
            case: file.path.to_string(),
            name: format!("{}::case", file.path),
            work,
            skip: None,
        }]
    };
    let case = match suite.load(file) {
        Ok(case) => Arc::new(case),
        Err(errors) => return broken(Work::Broken(errors.to_string())),
    };
    let Some(subject) = suite.subjects.get(&case.subject) else {
        let error = case.error(case.locate(&["subject"]), suite.subjects.unknown(&case.subject));
        return broken(match suite.subjects.is_near_miss(&case.subject) {
            true => Work::Broken(error.to_string()),
            false => Work::NoSubject(error.to_string()),
        });
    };
    // The subject's own code runs here, to read a configuration.
    let planned = panics::catch(|| (plan(&case, &Described(subject)), checks(&case, subject)));
    match planned {
        Ok((Ok(plan), Ok(checks))) if others(&case, &suite.subjects).is_ok() => {
            jobs(&case, &plan, &checks, machine, options)
        }
        Ok((planned, checks)) => {
            let all = [planned.err(), checks.err(), others(&case, &suite.subjects).err()];
            let all: Vec<String> =
                all.into_iter().flatten().map(|e| e.to_string().trim_end().to_owned()).collect();
            broken(Work::Broken(all.join("\n\n")))
        }
        Err(panic) => {
            let message = format!(
                "subject `{}` panics on this configuration: {}",
                case.subject, panic.message
            );
            broken(Work::Broken(case.error(case.locate(&["config"]), message).to_string()))
        }
    }
}

fn jobs(
    case: &Arc<Case>,
    plan: &Plan,
    checks: &[Check],
    machine: &Environment,
    options: &Options,
) -> Vec<Listed> {
    let count = |device: DeviceKind| {
        plan.variants.iter().flat_map(|v| &v.points).filter(|p| p.device == device).count()
    };
    let devices = DeviceKind::ALL.into_iter().map(|(_, device)| (device, count(device)));
    let devices: Vec<_> = devices.filter(|(_, points)| *points > 0).collect();
    let left_out = devices.iter().filter_map(|(device, points)| {
        Some(format!("{points} skipped: {}", absent(*device, machine)?))
    });
    let left_out: Vec<String> = left_out.collect();
    let mut listed = Vec::new();
    for &check in checks {
        for &(device, points) in &devices {
            let of = case.path.to_string();
            let suffix =
                if device == DeviceKind::Cpu { String::new() } else { format!("::{device}") };
            let name = format!("{}::{}{suffix}", case.path, check.name());
            let left_out = if device == DeviceKind::Cpu { left_out.clone() } else { Vec::new() };
            let job =
                Job { name: name.clone(), case: case.clone(), check, device, points, left_out };
            let skip = absent(device, machine);
            listed.push(match skip {
                Some(reason) if options.require.contains(&device) => {
                    let text =
                        format!("SHAPELOCK_REQUIRE asks for {device}, which is not here: {reason}");
                    Listed { case: of, name, work: Work::Broken(text), skip: None }
                }
                skip => Listed { case: of, name, work: Work::Check(Arc::new(job)), skip },
            });
        }
    }
    listed
}
