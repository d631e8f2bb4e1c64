//! The last lines of a run: how many, and why some did not run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::harness::outcome::{Sight, counted};
use crate::harness::report::Record;

/// What was chosen to run.
#[derive(Debug, Default)]
pub(super) struct Summary {
    cases: BTreeSet<String>,
    trials: usize,
    /// How many were skipped, by reason.
    skipped: BTreeMap<String, usize>,
}

/// What trials that passed leave to be told at the end.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Names of snapshots' sections that no trial could compare with.
    pub(super) unverified: BTreeSet<String>,
    /// What failing trials say that changed.
    pub(super) changes: Changes,
    /// Cases that are red, by whether accepting a snapshot is all that is missing.
    pub(super) red: Reds,
    /// The trials that saw a part of their model, and how much.
    pub(super) partial: BTreeMap<String, Sight>,
    /// What each trial leaves for the reports, by its place in the list.
    pub(super) records: BTreeMap<usize, Record>,
}

/// Cases that are red, and what that takes.
#[derive(Debug, Default)]
pub(super) struct Reds {
    /// Cases with a trial that differs from its snapshot and in nothing else.
    accepted: BTreeSet<String>,
    /// Cases with a trial that accepting does not mend.
    others: BTreeSet<String>,
}

impl Reds {
    /// Notes a failing trial of a case.
    pub(super) fn add(&mut self, case: &str, mended_by_accepting: bool) {
        let to = if mended_by_accepting { &mut self.accepted } else { &mut self.others };
        to.insert(case.to_owned());
    }

    /// Which is which, where a run has both.
    fn text(&self) -> String {
        if self.accepted.is_empty() || self.others.is_empty() {
            return String::new();
        }
        let named = |cases: &BTreeSet<String>| {
            let few: Vec<&str> = cases.iter().take(MOST).map(String::as_str).collect();
            let more = cases.len().checked_sub(MOST).filter(|more| *more > 0);
            let more = more.map(|more| format!(" and {more} more")).unwrap_or_default();
            format!("{}{more}", few.join(", "))
        };
        let count = |cases: &BTreeSet<String>| counted(cases.len(), "case");
        format!(
            "  green once accepted, if it is meant, {}: {}\n  not mended by accepting, {}: {}\n",
            count(&self.accepted),
            named(&self.accepted),
            count(&self.others),
            named(&self.others)
        )
    }
}

/// What changed, and in which cases.
#[derive(Debug, Default)]
pub(in crate::harness) struct Changes(BTreeMap<String, BTreeSet<String>>);

impl Changes {
    /// Notes what a failing trial of a case says that changed.
    pub(in crate::harness) fn add(&mut self, case: &str, changes: Vec<String>) {
        for change in changes {
            self.0.entry(change).or_default().insert(case.to_owned());
        }
    }

    /// The changes, that of most cases first; nothing where no two cases have one in common.
    pub(in crate::harness) fn text(&self) -> String {
        let cases: BTreeSet<&String> = self.0.values().flatten().collect();
        if self.0.values().all(|cases| cases.len() < 2) {
            return String::new();
        }
        let (of, all) = (counted(self.0.len(), "change"), counted(cases.len(), "case"));
        let mut text = format!("  {of} in {all}:\n");
        let mut sorted: Vec<(&String, usize)> =
            self.0.iter().map(|(change, cases)| (change, cases.len())).collect();
        sorted.sort_by_key(|(_, cases)| std::cmp::Reverse(*cases));
        for (change, cases) in sorted.iter().take(MOST) {
            let _ = writeln!(text, "    {}: {change}", counted(*cases, "case"));
        }
        if let Some(others @ 1..) = sorted.len().checked_sub(MOST) {
            let _ = writeln!(text, "    and {}", counted(others, "other change"));
        }
        text
    }
}

/// Trials that saw a part of their model that are told one by one.
const MOST: usize = 8;

impl Summary {
    /// Counts a trial and why it is skipped.
    pub(super) fn add(&mut self, case: String, skip: Option<String>) {
        self.trials += 1;
        self.cases.insert(case);
        if let Some(reason) = skip {
            *self.skipped.entry(reason).or_default() += 1;
        }
    }

    /// The lines, for stderr: stdout ends with libtest's own line, which tools read. Nothing for one trial that ran.
    pub(super) fn text(&self, passed: u64, failed: u64, notes: &Notes) -> String {
        let Notes { unverified, partial, changes, red, .. } = notes;
        let skipped: usize = self.skipped.values().sum();
        // nextest runs each trial in a process of its own, and counts by itself.
        if self.trials == 1 && skipped == 0 && unverified.is_empty() && partial.is_empty() {
            return String::new();
        }
        let mut text = format!(
            "shapelock: {}, {}: {passed} passed, {failed} failed, {skipped} skipped\n",
            counted(self.cases.len(), "case"),
            counted(self.trials, "trial"),
        );
        text.push_str(&changes.text());
        text.push_str(&red.text());
        for (reason, count) in &self.skipped {
            let _ = writeln!(text, "  {count} skipped: {reason}");
        }
        for name in unverified {
            let _ = writeln!(text, "  not verified here, the snapshot of {name}");
        }
        for (name, sight) in partial.iter().take(MOST) {
            let _ = writeln!(text, "  {name} {sight}");
        }
        if let Some(others @ 1..) = partial.len().checked_sub(MOST) {
            let _ = writeln!(text, "  {others} other trials see a part of their model");
        }
        if skipped > 0 {
            text.push_str(
                "  SHAPELOCK_REQUIRE=cuda makes a skip for want of that device a failure\n",
            );
        }
        text
    }
}
