//! Running one trial: its check, its snapshot, and what is said if it fails.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::list::Job;
use super::lock::{Locked, from_baseline, lock, locks};
use super::suite::Suite;
use crate::harness::case::DeviceKind;
use crate::harness::check::Check;
use crate::harness::outcome::{Outcome, Sight};
use crate::harness::report::{Context, Shown, diff, failure, of_laws, shown};
use crate::harness::run::{Failure, STACK, panics};
use crate::harness::snapshot::{Changed, read_baseline};
use crate::harness::trial::Trial;
use crate::harness::zoo;

/// What a trial that passed did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Done {
    /// How many points ran.
    pub points: usize,
    /// Set where nothing is locked and nothing may be written: the trial compared with no snapshot.
    pub unlocked: bool,
    /// Sections of the snapshot that nothing was compared with, because their variants cannot run here.
    pub unverified: Vec<String>,
    /// How much of the model `shapes` could see, where that is not all.
    pub sight: Option<Sight>,
    /// What it shows in a report of the run.
    pub shown: Shown,
}

/// What a trial that failed says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Red {
    /// The whole text.
    pub text: String,
    /// What it shows in a report of the run, its text excepted.
    pub shown: Box<Shown>,
    /// Whether accepting its snapshot makes it green.
    pub mended_by_accepting: bool,
}

impl From<String> for Red {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

/// Runs a trial on a thread of its own, with a stack that is large enough for the graph of a long sequence.
///
/// # Errors
/// What the failure says.
pub fn run(suite: &Suite, job: &Job, point: Option<&str>) -> Result<Done, Red> {
    /// One trial at a time has an accelerator, so that two do not share its memory.
    static ACCELERATOR: Mutex<()> = Mutex::new(());
    let _one = (job.device != DeviceKind::Cpu)
        .then(|| ACCELERATOR.lock().unwrap_or_else(PoisonError::into_inner));
    match on_large_stack(&job.name, || attempt(suite, job, point))? {
        Ok(done) => done,
        Err(panic) => Err(of_harness(&panic).into()),
    }
}

/// Runs `work` on a thread whose stack is large enough for any graph; its panic is data.
pub(in crate::harness) fn on_large_stack<R: Send>(
    name: &str,
    work: impl FnOnce() -> R + Send,
) -> Result<Result<R, Failure>, String> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name(name.to_owned()).stack_size(STACK);
        match thread.spawn_scoped(scope, || panics::catch(work)) {
            Ok(thread) => thread.join().map_err(|_| format!("the thread of {name} panicked")),
            Err(error) => Err(format!("no thread for {name}: {error}")),
        }
    })
}

fn of_harness(panic: &Failure) -> String {
    let place = panic.places.first().map(|place| format!(" at {place}")).unwrap_or_default();
    format!(
        "the harness itself panicked{place}, which is a fault of shapelock and not of the model\n{}",
        panic.message
    )
}

fn attempt(suite: &Suite, job: &Job, point: Option<&str>) -> Result<Done, Red> {
    let path = locks(job).then(|| suite.snapshot(&job.case.path)).flatten();
    let path = path.as_deref();
    let of_law = path.filter(|_| job.check == Check::Shapes);
    let baseline = of_law.map(read_baseline).transpose().map_err(|error| error.to_string())?;
    let baseline = baseline.flatten();
    let (case, subjects) = (&*job.case, &suite.subjects);
    let (check, device, locked) = (job.check, job.device, baseline.as_ref());
    let laws = Some(&suite.laws);
    let trial = Trial { case, subjects, check, device, point, baseline: locked, laws };
    let mut outcome = zoo::run(&trial, &suite.binary).map_err(|error| error.to_string())?;
    let (points, sight) = (outcome.points.len(), outcome.sight());
    let mut done = Done { points, sight, ..Done::default() };
    let laws = of_laws(&outcome);
    let mut changed = None;
    if let Some(path) = path {
        let (state, unverified) = lock(suite, job, path, locked, &mut outcome);
        match state {
            Locked::Same => {}
            Locked::Unlocked => done.unlocked = true,
            Locked::Changed(change) => changed = Some(change),
            // insta took the new text, so nothing is left of the difference from the old one.
            Locked::Accepted => outcome.findings.retain(|finding| !from_baseline(finding)),
        }
        // A run of one point alone is not meant to verify the rest.
        done.unverified = if point.is_none() { unverified } else { Vec::new() };
    }
    let mut shown = shown(case, &outcome, laws);
    match outcome.findings.is_empty() && changed.is_none() {
        true => Ok(Done { shown, ..done }),
        false => {
            let of = changed.as_ref().zip(path);
            shown.diff = of.map(|(changed, path)| diff(path, changed.old.as_deref(), &changed.new));
            let alone = changed.is_some() && outcome.findings.iter().all(from_baseline);
            Err(Red {
                mended_by_accepting: alone,
                text: text(suite, job, path, &outcome, changed.as_ref()),
                shown: Box::new(shown),
            })
        }
    }
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
