//! The commands `new`, `explain` and `minimize`, on subjects that only tests know.

use std::fs;

use rstest::rstest;

use crate::package::{Package, Run};

const UNEVEN: &str = "\
subject: uneven
why: rows must not mix
config: {heads: 4, width: 24}
seed: 7
variants: {plain: {}, wide: {width: 48}}
matrix:
  batch: [8, 1]
  seq: [20, 1]
  device: [cpu, cuda]
except: [b == 1 and l == 1]
shapes: {split: b l h p}
";

/// A package with this one case, in a folder of its subject.
fn package(text: &str) -> Package {
    let package = Package::new(&[]);
    fs::create_dir(package.path().join("cases/uneven")).unwrap();
    fs::write(package.path().join("cases/uneven/rows.yaml"), text).unwrap();
    package
}

/// What was printed, without the lines of libtest around it.
fn printed(run: &Run) -> String {
    let out = run.out();
    let begun = out.split_once("test child ... \n").map_or("", |(_, rest)| rest);
    format!("{begun}--- stderr\n{}--- {}\n", run.err(), run.code())
}

#[test]
fn a_new_case_has_the_contract_that_runs_obeyed_and_passes() {
    let package = Package::new(&[]);
    let run = package.run("cli new uneven", &[]);
    let case = package.read("cases/uneven/first.yaml").unwrap();
    insta::assert_snapshot!(format!("{}\n{case}", printed(&run)));
    // The fault of the subject is found at once; nothing is wrong with the case.
    let checked = package.run("cli check uneven::first", &[]);
    checked.says("ok      uneven::first::shapes").says("FAILED  uneven::first::batch");
}

#[test]
fn a_new_case_of_a_subject_that_asks_for_more_than_numbers_takes_the_config_of_another_case() {
    let package = Package::new(&[("other", "no")]);
    // Listed, this subject is planned once, so that its complaints are its own.
    let run = package.run("cli new toy second", &[]);
    assert_eq!(run.code(), 0, "{}", run.err());
    let case = package.read("cases/toy/second.yaml").unwrap();
    assert!(case.contains("config: {d: 8}\n") && case.contains("  y: b l d\n"), "{case}");
}

/// Neither the second `new`, nor one of another spelling of the name, changes a file that is there.
#[rstest]
#[case("cli new uneven rows")]
#[case("cli new uneven rows.yaml")]
#[case("cli new uneven uneven/rows")]
#[case("cli new uneven cases/uneven/rows.yaml")]
fn a_case_that_is_there_stays(#[case] words: &str) {
    let package = package(UNEVEN);
    let run = package.run(words, &[]);
    assert_eq!(run.code(), 2);
    run.says("error: cases/uneven/rows.yaml is there already, and is left as it is");
    assert_eq!(package.read("cases/uneven/rows.yaml").as_deref(), Some(UNEVEN));
}

#[rstest]
#[case(
    "cli new uneven ../../etc",
    "`..` in the case name `uneven::..::..::etc` cannot name a case: use letters"
)]
#[case(
    "cli new uneven a.b",
    "`a.b` in the case name `uneven::a.b` cannot name a case: use letters"
)]
#[case("cli new unevne", "no subject `unevne` is registered here; did you mean `uneven`?")]
fn what_cannot_be_a_case_is_refused(#[case] words: &str, #[case] message: &str) {
    let package = package(UNEVEN);
    let run = package.run(words, &[]);
    assert_eq!(run.code(), 2);
    run.says(message);
    assert_eq!(fs::read_dir(package.path().join("cases")).unwrap().count(), 1);
}

#[test]
fn what_a_case_runs_is_explained() {
    let run = package(UNEVEN).run("cli explain uneven::rows", &[]);
    insta::assert_snapshot!(printed(&run));
}

#[test]
fn a_failing_case_is_made_as_small_as_it_fails_in_the_same_way() {
    let package = package(UNEVEN);
    let run = package.run("cli minimize uneven::rows", &[]);
    insta::assert_snapshot!(printed(&run));
    let out = run.out();
    let (_, yaml) = out.split_once("test child ... \n").unwrap();
    fs::write(package.path().join("cases/uneven/rows_small.yaml"), yaml).unwrap();
    let small = package.run("cli check uneven::rows_small", &[]);
    small.says("1 case, 1 point: 0 checks passed, 1 failed").says("b3-l5-f32-cpu");
    assert_eq!(small.code(), 1);
}

#[rstest]
#[case::right("config: {heads: 4, width: 24, right: true}", "nothing fails: ")]
#[case::caught("caught_by: [batch]", "passes where its checks find the fault of `uneven`")]
fn where_nothing_is_to_be_made_smaller_it_is_said(#[case] line: &str, #[case] message: &str) {
    let key = line.split(':').next().unwrap();
    let others =
        UNEVEN.lines().filter(|line| !line.starts_with(key)).map(|line| format!("{line}\n"));
    let package = package(&format!("{}{line}\n", others.collect::<String>()));
    let run = package.run("cli minimize uneven::rows", &[]);
    run.says(message);
    assert!(!run.out().contains("subject:"), "{}", run.out());
}

/// What only a snapshot disagrees with has no size at which it begins.
#[test]
fn what_only_a_snapshot_disagrees_with_is_not_made_smaller() {
    let package = Package::new(&[("good", "no")]);
    assert_eq!(package.run("", &[("INSTA_UPDATE", "always")]).code(), 0);
    let snapshot = package.read("snapshots/good.snap").unwrap();
    let changed = snapshot.replace("y (b, l, d) [3, 5, 4]", "y (b, d, l) [3, 4, 5]");
    fs::write(package.path().join("snapshots/good.snap"), changed).unwrap();
    package.run("cli minimize good", &[]).says("only the snapshot differs, at all sizes alike");
}
