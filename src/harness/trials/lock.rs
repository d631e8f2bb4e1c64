//! Holding what a trial saw against the snapshot of its case.

use std::path::Path;

use super::list::Job;
use super::suite::Suite;
use crate::harness::case::DeviceKind;
use crate::harness::check::{Check, Finding, Source, What};
use crate::harness::outcome::Outcome;
use crate::harness::snapshot::{
    Assert, Changed, Section, Snapshot, Target, assert_text, merge, read_text, render,
};

/// How a snapshot stands.
pub(super) enum Locked {
    /// Nothing differs, or there is nothing to lock.
    Same,
    /// It differs.
    Changed(Changed),
    /// It differs, and insta was told to let that pass or to take it over.
    Accepted,
    /// There is none, and none is to be written.
    Unlocked,
}

/// Whether the trial compares with a snapshot. An error that is meant is stated in the case: there is nothing to lock.
pub(super) fn locks(job: &Job) -> bool {
    matches!(job.check, Check::Shapes | Check::Caught) && job.case.expect.is_none()
}

/// Compares and leaves the difference to insta; takes out of the outcome what it locked. The names are those of
/// variants whose sections were carried over.
pub(super) fn lock(
    suite: &Suite,
    job: &Job,
    path: &Path,
    baseline: Option<&Snapshot>,
    outcome: &mut Outcome,
) -> (Locked, Vec<String>) {
    match (outcome.text.take(), outcome.snapshot.take()) {
        // A fault that is not caught as it should be has no text to keep.
        (Some(_), _) if !outcome.findings.is_empty() => (Locked::Same, Vec::new()),
        (Some(now), _) => {
            let old = read_text(path).ok().flatten();
            (lock_text((suite, suite.assert), job, path, old, now), Vec::new())
        }
        (None, Some(now)) => {
            // What accepting cannot mend is not left to be accepted.
            let assert = suite.assert.filter(|_| outcome.findings.iter().all(from_baseline));
            lock_law((suite, assert), job, path, baseline, now)
        }
        (None, None) => (Locked::Same, Vec::new()),
    }
}

/// Whether a finding is a difference from the snapshot and nothing else.
pub(super) fn from_baseline(finding: &Finding) -> bool {
    matches!(&finding.what, What::Shape(difference) if difference.source == Source::Baseline)
}

fn lock_law(
    suite: (&Suite, Option<Assert>),
    job: &Job,
    path: &Path,
    baseline: Option<&Snapshot>,
    now: Snapshot,
) -> (Locked, Vec<String>) {
    // A model that failed has no law: what was locked of it stays.
    let sections = now.sections.into_iter().filter(|section| !section.law.forward.is_empty());
    let sections: Vec<Section> = sections.collect();
    let ran = |name: &str| sections.iter().any(|section| section.variant == name);
    let variants = job.case.variants.iter().map(|variant| variant.name.as_str());
    let unverified: Vec<&str> = variants.filter(|name| !ran(name)).collect();
    let empty = Snapshot::default();
    let merged = merge(baseline.unwrap_or(&empty), sections, &unverified);
    let carried = unverified.iter().filter(|name| merged.section(name).is_some());
    let carried = carried.map(|name| format!("{} / {name}", job.case.path)).collect();
    let (old, new) = (baseline.map(render), render(&merged));
    let same = old.as_ref() == Some(&new);
    if merged.sections.is_empty() || (same && job.device != DeviceKind::Cpu) {
        // Where nothing differs insta removes what is pending, which may be of the trial on another device.
        return (Locked::Same, carried);
    }
    (lock_text(suite, job, path, old, new), carried)
}

fn lock_text(
    (suite, assert): (&Suite, Option<Assert>),
    job: &Job,
    path: &Path,
    old: Option<String>,
    new: String,
) -> Locked {
    // insta keeps no line feeds at the end.
    let same = old.as_ref().is_some_and(|old| old.trim_end() == new.trim_end());
    let Some(assert) = assert else {
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
