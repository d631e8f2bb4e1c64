//! What a trial leaves for the reports of a run.

use std::path::Path;

use super::list::{Job, Listed, Work};
use super::one::{Done, Red};
use crate::harness::report::{Record, Shown, State};

/// The record of a trial that ran.
pub(in crate::harness) fn ran(job: &Job, done: Result<&Done, &Red>) -> Record {
    let (state, shown) = match done {
        Ok(done) => (State::Passed, Shown { notes: notes(job, done), ..done.shown.clone() }),
        Err(red) => (State::Failed, Shown { text: red.text.clone(), ..Shown::clone(&red.shown) }),
    };
    Record { state, shown, ..of(job) }.on_its_line()
}

/// The record of a trial that cannot run here, or whose case cannot be read.
pub(in crate::harness) fn did_not_run(listed: &Listed, reason: Option<String>) -> Record {
    let (text, record) = match &listed.work {
        Work::Check(job) => (String::new(), of(job)),
        Work::Broken(text) | Work::NoSubject(text) => (text.clone(), of_text(listed, text)),
    };
    let (state, text) = match reason {
        Some(reason) => (State::Skipped(reason), String::new()),
        None => (State::Failed, text),
    };
    Record { state, shown: Shown { text, ..Shown::default() }, ..record }
}

fn of(job: &Job) -> Record {
    Record {
        name: job.name.clone(),
        case: job.case.path.to_string(),
        check: job.check.name().to_owned(),
        device: job.device.name().to_owned(),
        file: slashes(&job.case.file),
        line: job.case.locate(&["subject"]).line,
        points: job.points,
        ..Record::default()
    }
}

/// Of a case that cannot be read its text says where: `cases/a.yaml:7:18: …`.
fn of_text(listed: &Listed, text: &str) -> Record {
    let mut parts = text.split(':');
    let named = parts.next().filter(|file| file.ends_with(".yaml"));
    let line = named.and_then(|_| parts.next()?.parse().ok()).unwrap_or(1);
    let file = || format!("cases/{}.yaml", listed.case.replace("::", "/"));
    Record {
        name: listed.name.clone(),
        case: listed.case.clone(),
        check: "case".into(),
        device: "cpu".into(),
        file: named.map_or_else(file, str::to_owned),
        line,
        ..Record::default()
    }
}

fn notes(job: &Job, done: &Done) -> Vec<String> {
    let sight = done.sight.as_ref().map(|sight| format!("{} {sight}", job.name));
    let unlocked = done.unlocked.then(|| format!("{} has no snapshot to compare with", job.name));
    let unverified =
        done.unverified.iter().map(|name| format!("not verified here, the snapshot of {name}"));
    sight.into_iter().chain(unlocked).chain(unverified).collect()
}

fn slashes(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

impl Record {
    /// The line that the finding is about, where it is about one.
    fn on_its_line(self) -> Self {
        Self { line: self.shown.line.unwrap_or(self.line), ..self }
    }
}
