//! What checks find in the models as published: each case in `findings/` is red, and its reports are a snapshot.
//!
//! Where a finding goes away, by a new version of candle or of candle-transformers, this test says so.
mod subjects;

use insta::assert_snapshot;
use shapelock::harness::plan::Environment;
use shapelock::harness::trials::{Job, Options, Suite, Work, list, run};

#[test]
fn findings_are_those_of_the_snapshots() {
    let suite =
        Suite::new(env!("CARGO_MANIFEST_DIR"), "findings", "shapes", subjects::all(), |_, _| {});
    let suite = Suite { assert: None, ..suite };
    let mut reports: Vec<(String, String)> = Vec::new();
    for listed in list(&suite, &Environment::read(), &Options::default(), None) {
        let text = match listed.work {
            Work::Check(job) => report(&suite, &job),
            Work::Broken(text) | Work::NoSubject(text) => panic!("{text}"),
        };
        match reports.last_mut() {
            Some((case, before)) if *case == listed.case => before.push_str(&format!("\n{text}")),
            _ => reports.push((listed.case, text)),
        }
    }
    assert!(!reports.is_empty());
    for (case, text) in reports {
        assert_snapshot!(case, text);
    }
}

/// What a check says, without the numbers that another processor rounds otherwise, and without how to run it.
fn report(suite: &Suite, job: &Job) -> String {
    let red = run(suite, job, None).expect_err(&format!("{} finds nothing any more", job.name));
    let line = |line: &str| match line.split_once(" = ") {
        Some((measure, _)) if line.starts_with("error ") => format!("{measure} = …\n"),
        _ => format!("{line}\n"),
    };
    red.text.lines().filter(|line| !line.starts_with("reproduce")).map(line).collect()
}
