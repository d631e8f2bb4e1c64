//! JUnit: a suite a case, a test a check on a device.
//!
//! It has no times, since results do not depend on the clock; nextest's own JUnit has them.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::record::{Record, Run, State};

/// The whole file.
pub fn text(run: &Run) -> String {
    let mut report = Report::new("shapelock");
    for (case, trials) in run.cases() {
        let mut suite = TestSuite::new(case);
        suite.add_test_cases(trials.into_iter().map(test));
        report.add_test_suite(suite);
    }
    // Writing to memory fails only where XML cannot hold a text, which the crate's own strings exclude.
    report.to_string().unwrap_or_default()
}

fn test(trial: &Record) -> TestCase {
    let status = match &trial.state {
        State::Passed => TestCaseStatus::success(),
        State::Skipped(reason) => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(reason.as_str());
            status
        }
        State::Failed => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_type(trial.check.as_str());
            status.set_message(trial.headline());
            status.set_description(trial.shown.text.as_str());
            status
        }
    };
    let name = trial.name.strip_prefix(&format!("{}::", trial.case)).unwrap_or(&trial.name);
    let mut test = TestCase::new(name, status);
    test.set_classname(trial.case.as_str());
    test.extra.insert("file".into(), trial.file.as_str().into());
    test.extra.insert("line".into(), trial.line.to_string().into());
    test
}
