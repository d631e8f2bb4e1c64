//! The last lines of a run: how many, and why some did not run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// What was chosen to run.
#[derive(Debug, Default)]
pub(super) struct Summary {
    cases: BTreeSet<String>,
    trials: usize,
    /// How many were skipped, by reason.
    skipped: BTreeMap<String, usize>,
}

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
    pub(super) fn text(&self, passed: u64, failed: u64, unverified: &BTreeSet<String>) -> String {
        let skipped: usize = self.skipped.values().sum();
        // nextest runs each trial in a process of its own, and counts by itself.
        if self.trials == 1 && skipped == 0 && unverified.is_empty() {
            return String::new();
        }
        let mut text = format!(
            "shapelock: {}, {}: {passed} passed, {failed} failed, {skipped} skipped\n",
            counted(self.cases.len(), "case"),
            counted(self.trials, "trial"),
        );
        for (reason, count) in &self.skipped {
            let _ = writeln!(text, "  {count} skipped: {reason}");
        }
        for name in unverified {
            let _ = writeln!(text, "  not verified here, the snapshot of {name}");
        }
        if skipped > 0 {
            text.push_str(
                "  SHAPELOCK_REQUIRE=cuda makes a skip for want of that device a failure\n",
            );
        }
        text
    }
}

/// `1 case`, `2 cases`.
pub(in crate::harness) fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}
