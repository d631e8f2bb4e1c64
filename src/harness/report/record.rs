//! A run as data: what the reports for machines, for a pull request and for the browser are made from.

use serde::{Deserialize, Serialize};

use super::flow::{Flow, Mark, Stop};

/// Every trial of a run, in the order in which they were listed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The trials.
    pub trials: Vec<Record>,
}

/// One trial: one check of one case on one device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its name.
    pub name: String,
    /// The name of its case.
    pub case: String,
    /// The check; `case` where the case cannot be read.
    pub check: String,
    /// The device.
    pub device: String,
    /// The case's file, with slashes, relative to the package.
    pub file: String,
    /// The line of that file that the trial is about.
    pub line: usize,
    /// What came of it.
    pub state: State,
    /// How many points it has.
    pub points: usize,
    /// What it shows.
    pub shown: Shown,
}

/// What came of a trial.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// All is well.
    #[default]
    Passed,
    /// A finding, a changed snapshot, or a case that cannot be read.
    Failed,
    /// It did not run, for this reason.
    Skipped(String),
}

/// What a trial shows beside whether it passed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// The whole text of a failure; empty if it passed.
    pub text: String,
    /// The line of the case that a finding is about, where it is about one.
    pub line: Option<usize>,
    /// The forward passes, one a variant.
    pub flows: Vec<Flow>,
    /// Steps that a finding names.
    pub marks: Vec<Mark>,
    /// Gradients that stop.
    pub stops: Vec<Stop>,
    /// The change of the snapshot.
    pub diff: Option<Diff>,
    /// What changed, a line each: the same line from two cases is one cause.
    pub changes: Vec<String>,
    /// What a trial that passed leaves to be told.
    pub notes: Vec<String>,
}

/// The locked and the new text of a snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diff {
    /// Where it lies.
    pub path: String,
    /// What is locked; nothing if nothing is.
    pub old: Option<String>,
    /// What is to be locked.
    pub new: String,
}

/// How many trials came to what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Cases.
    pub cases: usize,
    /// Points: those of a case on a device count once.
    pub points: usize,
    /// Trials that passed.
    pub passed: usize,
    /// Trials that failed.
    pub failed: usize,
    /// Trials that did not run.
    pub skipped: usize,
}

impl Run {
    /// Counts them.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts { cases: self.cases().len(), ..Counts::default() };
        let mut points = std::collections::BTreeMap::new();
        for trial in &self.trials {
            match trial.state {
                State::Passed => counts.passed += 1,
                State::Failed => counts.failed += 1,
                State::Skipped(_) => counts.skipped += 1,
            }
            if !matches!(trial.state, State::Skipped(_)) {
                points.insert((&trial.case, &trial.device), trial.points);
            }
        }
        counts.points = points.values().sum();
        counts
    }

    /// The trials by case, cases in the order in which they come first.
    pub fn cases(&self) -> Vec<(&str, Vec<&Record>)> {
        let mut cases: Vec<(&str, Vec<&Record>)> = Vec::new();
        let mut known = std::collections::HashMap::new();
        for trial in &self.trials {
            let at = *known.entry(trial.case.as_str()).or_insert_with(|| {
                cases.push((&trial.case, Vec::new()));
                cases.len() - 1
            });
            cases[at].1.push(trial);
        }
        cases
    }

    /// The trials that failed.
    pub fn failed(&self) -> impl Iterator<Item = &Record> {
        self.trials.iter().filter(|trial| trial.state == State::Failed)
    }

    /// Why trials did not run, and how many, by reason.
    pub fn skipped(&self) -> Vec<(&str, usize)> {
        let mut reasons = std::collections::BTreeMap::new();
        for trial in &self.trials {
            if let State::Skipped(reason) = &trial.state {
                *reasons.entry(reason.as_str()).or_default() += 1;
            }
        }
        reasons.into_iter().collect()
    }

    /// What changed and in how many cases, that of most first; only what two cases have in common.
    pub fn common(&self) -> Vec<(&str, usize)> {
        let mut changes =
            std::collections::BTreeMap::<&str, std::collections::BTreeSet<&str>>::new();
        for trial in &self.trials {
            for change in &trial.shown.changes {
                changes.entry(change).or_default().insert(&trial.case);
            }
        }
        let counted = changes.into_iter().map(|(change, cases)| (change, cases.len()));
        let mut common: Vec<_> = counted.filter(|(_, cases)| *cases > 1).collect();
        common.sort_by_key(|(_, cases)| std::cmp::Reverse(*cases));
        common
    }
}

impl Record {
    /// The first line of its failure without its own name: `9 of 12 cpu points fail`.
    pub fn headline(&self) -> &str {
        let first = self.shown.text.lines().find(|line| !line.is_empty()).unwrap_or_default();
        first.strip_prefix(&format!("{}: ", self.name)).unwrap_or(first)
    }

    /// The failure without its table: what fails, the first wrong step and why.
    pub fn brief(&self) -> String {
        let paragraphs = self.shown.text.trim().split("\n\n").take(2);
        paragraphs.collect::<Vec<_>>().join("\n\n")
    }
}

impl Counts {
    /// `3 cases, 40 points: 12 checks passed, 1 failed, 7 skipped`
    pub fn text(&self) -> String {
        let counted = |count: usize, noun: &str| match count {
            1 => format!("1 {noun}"),
            _ => format!("{count} {noun}s"),
        };
        let Self { cases, points, passed, failed, skipped } = *self;
        let (cases, points) = (counted(cases, "case"), counted(points, "point"));
        let passed = counted(passed, "check");
        format!("{cases}, {points}: {passed} passed, {failed} failed, {skipped} skipped")
    }
}
