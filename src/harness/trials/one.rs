//! Running one trial: its check, its snapshot, and what is said if it fails.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::list::Job;
use super::suite::Suite;
use crate::harness::case::DeviceKind;
use crate::harness::check::{Check, Finding, Source, What};
use crate::harness::report::{Context, failure};
use crate::harness::run::{Failure, panics};
use crate::harness::snapshot::{
    Changed, Section, Snapshot, Target, assert_text, merge, read_baseline, read_text, render,
};
use crate::harness::trial::{self, Outcome, Trial};

/// A graph of ten thousands of nodes, each freed by the one before, needs more than the 2 MiB of a thread.
const STACK: usize = 256 << 20;

/// What a trial that passed did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Done {
    /// How many points ran.
    pub points: usize,
    /// Set where nothing is locked and nothing may be written: the trial compared with no snapshot.
    pub unlocked: bool,
}

/// Runs a trial on a thread of its own, with a stack that is large enough for the graph of a long sequence.
///
/// # Errors
/// The whole text of the failure.
pub fn run(suite: &Suite, job: &Job, point: Option<&str>) -> Result<Done, String> {
    /// One trial at a time has an accelerator, so that two do not share its memory.
    static ACCELERATOR: Mutex<()> = Mutex::new(());
    let _one = (job.device != DeviceKind::Cpu)
        .then(|| ACCELERATOR.lock().unwrap_or_else(PoisonError::into_inner));
    let attempt = || panics::catch(|| attempt(suite, job, point));
    let done = thread::scope(|scope| {
        let thread = thread::Builder::new().name(job.name.clone()).stack_size(STACK);
        match thread.spawn_scoped(scope, attempt) {
            Ok(thread) => thread.join().map_err(|_| "the thread of the trial panicked".to_owned()),
            Err(error) => Err(format!("no thread for the trial: {error}")),
        }
    });
    match done? {
        Ok(done) => done,
        Err(panic) => Err(of_harness(&panic)),
    }
}

fn of_harness(panic: &Failure) -> String {
    let place = panic.places.first().map(|place| format!(" at {place}")).unwrap_or_default();
    format!(
        "the harness itself panicked{place}, which is a fault of shapelock and not of the model\n{}",
        panic.message
    )
}

fn attempt(suite: &Suite, job: &Job, point: Option<&str>) -> Result<Done, String> {
    let path = locks(job).then(|| suite.snapshot(&job.case.path)).flatten();
    let path = path.as_deref();
    let of_law = path.filter(|_| job.check == Check::Shapes);
    let baseline = of_law.map(read_baseline).transpose().map_err(|error| error.to_string())?;
    let baseline = baseline.flatten();
    let (case, subjects) = (&*job.case, &suite.subjects);
    let (check, device, locked) = (job.check, job.device, baseline.as_ref());
    let trial = Trial { case, subjects, check, device, point, baseline: locked };
    let mut outcome = trial::run(&trial).map_err(|error| error.to_string())?;
    let mut done = Done { points: outcome.points.len(), unlocked: false };
    let now = outcome.text.take().map(Now::Text).or(outcome.snapshot.take().map(Now::Law));
    let compared = path.zip(now).map(|(path, now)| match now {
        Now::Law(now) => lock(suite, job, path, locked, now),
        // A fault that is not caught as it should be has no text to keep.
        Now::Text(_) if !outcome.findings.is_empty() => Locked::Same,
        Now::Text(now) => lock_text(suite, job, path, read_text(path).ok().flatten(), now),
    });
    let changed = match compared {
        Some(Locked::Changed(changed)) => Some(changed),
        // insta took the new text, so nothing is left of the difference from the old one.
        Some(Locked::Accepted) => {
            outcome.findings.retain(|finding| !from_baseline(finding));
            None
        }
        Some(Locked::Unlocked) => {
            done.unlocked = true;
            None
        }
        Some(Locked::Same) | None => None,
    };
    match outcome.findings.is_empty() && changed.is_none() {
        true => Ok(done),
        false => Err(text(suite, job, path, &outcome, changed.as_ref())),
    }
}

/// Whether the trial compares with a snapshot. An error that is meant is stated in the case: there is nothing to lock.
fn locks(job: &Job) -> bool {
    matches!(job.check, Check::Shapes | Check::Caught) && job.case.expect.is_none()
}

/// What a trial has to lock.
enum Now {
    /// The law of a model.
    Law(Snapshot),
    /// What the failure of a known fault says.
    Text(String),
}

/// How a snapshot stands.
enum Locked {
    Same,
    Changed(Changed),
    /// It differs, and insta was told to let that pass or to take it over.
    Accepted,
    /// There is none, and none is to be written.
    Unlocked,
}

fn lock(
    suite: &Suite,
    job: &Job,
    path: &Path,
    baseline: Option<&Snapshot>,
    now: Snapshot,
) -> Locked {
    // A model that failed has no law: what was locked of it stays.
    let sections = now.sections.into_iter().filter(|section| !section.law.forward.is_empty());
    let sections: Vec<Section> = sections.collect();
    let ran = |name: &str| sections.iter().any(|section| section.variant == name);
    let variants = job.case.variants.iter().map(|variant| variant.name.as_str());
    let unverified: Vec<&str> = variants.filter(|name| !ran(name)).collect();
    let empty = Snapshot::default();
    let merged = merge(baseline.unwrap_or(&empty), sections, &unverified);
    let (old, new) = (baseline.map(render), render(&merged));
    let same = old.as_ref() == Some(&new);
    if merged.sections.is_empty() || (same && job.device != DeviceKind::Cpu) {
        // Where nothing differs insta removes what is pending, which may be of the trial on another device.
        return Locked::Same;
    }
    lock_text(suite, job, path, old, new)
}

fn lock_text(suite: &Suite, job: &Job, path: &Path, old: Option<String>, new: String) -> Locked {
    let same = old.as_ref() == Some(&new);
    let Some(assert) = suite.assert else {
        return match old {
            None => Locked::Unlocked,
            Some(_) if same => Locked::Same,
            old => Locked::Changed(Changed { old, new, trouble: None }),
        };
    };
    let target = Target {
        path: suite.root.join(path),
        case_file: suite.root.join(&job.case.file),
        why: job.case.why.clone(),
    };
    match assert_text(&target, &new, assert) {
        Err(changed) => Locked::Changed(changed),
        Ok(()) if same => Locked::Same,
        Ok(()) => Locked::Accepted,
    }
}

fn from_baseline(finding: &Finding) -> bool {
    matches!(&finding.what, What::Shape(difference) if difference.source == Source::Baseline)
}

fn text(
    suite: &Suite,
    job: &Job,
    path: Option<&Path>,
    outcome: &Outcome,
    changed: Option<&Changed>,
) -> String {
    let texts = changed.map(|changed| (changed.old.as_deref().unwrap_or(""), changed.new.as_str()));
    let context = Context {
        trial: &job.name,
        device: job.device.name(),
        skipped: &job.left_out,
        snapshot: changed.and(path),
        texts,
        binary: &suite.binary,
    };
    let mut text = failure(&job.case, outcome, &context);
    if let Some(trouble) = changed.and_then(|changed| changed.trouble.as_ref()) {
        text.push_str(&format!("insta could not keep the new snapshot: {trouble}\n"));
    }
    text
}
