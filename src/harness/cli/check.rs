//! The command `check`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::choose::choose;
use super::style::{bad, good, left_out};
use super::{FAILED, NOT_UNDERSTOOD};
use crate::harness::case::DeviceKind;
use crate::harness::outcome::counted;
use crate::harness::plan::Environment;
use crate::harness::report::Run;
use crate::harness::trials::{
    self, Changes, Done, Job, Listed, Options, Red, Suite, Work, did_not_run, ran, write,
};

/// Runs the trials of the wanted cases, prints a line for each and the report of each that fails, and ends with counts.
///
/// # Errors
/// A name that no case has.
pub(super) fn check(
    suite: &Suite,
    machine: &Environment,
    options: &Options,
    wanted: &[String],
) -> Result<u8, String> {
    let listed = choose(trials::list(suite, machine, options, None), wanted)?;
    let bar = progress(listed.len());
    let mut tally = Tally::default();
    for listed in listed {
        bar.set_message(listed.name.clone());
        if let Some(line) = tally.run(suite, options, &listed) {
            bar.suspend(|| anstream::println!("{line}"));
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    anstream::print!("{}", tally.text());
    anstream::print!("{}", write(&options.reports, &suite.root, &tally.ran)?);
    Ok(tally.code())
}

/// A bar on stderr, and only where somebody looks at it.
pub(super) fn progress(trials: usize) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(trials as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} {elapsed} {wide_msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

#[derive(Default)]
struct Tally {
    cases: BTreeSet<String>,
    /// The points of each case on each device.
    points: BTreeMap<(String, DeviceKind), usize>,
    passed: usize,
    failed: usize,
    unlocked: usize,
    unverified: BTreeSet<String>,
    unreadable: usize,
    changes: Changes,
    /// How many were skipped, by reason.
    skipped: BTreeMap<String, usize>,
    /// What the reports are made from.
    ran: Run,
}

impl Tally {
    /// Runs a trial; what to print of it: nothing where its subject is unknown, since a zoo of those would hide the rest.
    fn run(&mut self, suite: &Suite, options: &Options, listed: &Listed) -> Option<String> {
        let name = &listed.name;
        self.cases.insert(listed.case.clone());
        if let Some(reason) = self.skips(suite, listed) {
            *self.skipped.entry(reason.clone()).or_default() += 1;
            self.ran.trials.push(did_not_run(listed, Some(reason.clone())));
            let line = || format!("{} {name}: {reason}", left_out("skipped"));
            return listed.skip.is_some().then(line);
        }
        Some(match &listed.work {
            Work::Check(job) => self.done(job, trials::run(suite, job, options.point.as_deref())),
            Work::Broken(text) | Work::NoSubject(text) => {
                self.unreadable += 1;
                self.ran.trials.push(did_not_run(listed, None));
                format!("{} {name}\n\n{}\n", bad("FAILED "), text.trim_end())
            }
        })
    }

    /// Counts a trial that ran; the line or the text of it.
    fn done(&mut self, job: &Job, done: Result<Done, Red>) -> String {
        let (name, case) = (&job.name, job.case.path.to_string());
        self.ran.trials.push(ran(job, done.as_ref()));
        match done {
            Ok(Done { points, unlocked, unverified, sight, .. }) => {
                self.unverified.extend(unverified);
                self.passed += 1;
                self.points.insert((case.clone(), job.device), points);
                self.unlocked += usize::from(unlocked);
                let sight = sight.map(|sight| format!(", {sight}")).unwrap_or_default();
                format!("{} {name}, {}{sight}", good("ok     "), counted(points, "point"))
            }
            Err(Red { text, shown, .. }) => {
                self.failed += 1;
                self.changes.add(&case, shown.changes);
                self.points.insert((case.clone(), job.device), job.points);
                format!("{} {name}\n\n{}\n", bad("FAILED "), text.trim_end())
            }
        }
    }

    fn skips(&self, suite: &Suite, listed: &Listed) -> Option<String> {
        match (&listed.work, &listed.skip) {
            (_, Some(reason)) => Some(reason.clone()),
            (Work::NoSubject(_), None) if suite.partial => {
                let folder = listed.case.split("::").next().unwrap_or_default();
                let binary = &suite.binary;
                Some(format!(
                    "its subject is known to tests only: cargo test --test {binary} -- {folder}::"
                ))
            }
            _ => None,
        }
    }

    fn text(&self) -> String {
        let Self { passed, failed, unreadable, .. } = self;
        let points: usize = self.points.values().sum();
        let skipped: usize = self.skipped.values().sum();
        let mut text = format!(
            "\n{}, {}: {} passed, {} failed, {skipped} skipped\n",
            counted(self.cases.len(), "case"),
            counted(points, "point"),
            counted(*passed, "check"),
            failed + unreadable,
        );
        text.push_str(&self.changes.text());
        for (reason, count) in &self.skipped {
            text.push_str(&format!("  {count} skipped: {reason}\n"));
        }
        for name in &self.unverified {
            text.push_str(&format!("  not verified here, the snapshot of {name}\n"));
        }
        if self.unlocked > 0 {
            let count = self.unlocked;
            text.push_str(&format!(
                "  {count} without a snapshot to compare with: cargo insta test --review makes it\n"
            ));
        }
        text
    }

    fn code(&self) -> u8 {
        match (self.unreadable, self.failed) {
            (1.., _) => NOT_UNDERSTOOD,
            (0, 1..) => FAILED,
            (0, 0) => 0,
        }
    }
}
