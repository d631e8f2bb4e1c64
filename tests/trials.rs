//! The runner as users meet it: a small package in a folder of its own, run in a child process.
mod package;
#[path = "trials/told.rs"]
mod told;

use std::fs;
use std::path::Path;

use package::Package;
use package::toy::Toy;
use rstest::rstest;
use shapelock::harness::registry::Registry;
use shapelock::harness::subjects::DenseSsmSubject;
use shapelock::harness::trials::{self, Suite};

/// What the child process runs; in any other process it has nothing to do.
#[test]
fn child() {
    let Ok(words) = std::env::var("SHAPELOCK_TEST_CHILD") else { return };
    let assert = |name: &str, text: &str| insta::assert_snapshot!(name, text);
    let suite = Suite::new("", "cases", "shapes", Registry::new().with(Toy), assert);
    // libtest has begun a line for this test.
    println!();
    let words = std::iter::once("shapes").chain(words.split_whitespace()).map(str::to_owned);
    std::process::exit(trials::run_words(suite, words.collect()).into());
}

const SNAP: &str = "snapshots/good.snap";
const NEW: &str = "snapshots/good.snap.new";

const LOCKED: &str = "\
toy at b=3 l=5 d=4 f32

forward
x (b, l, d) [3, 5, 4]
y (b, l, d) [3, 5, 4]

gradient
w (d, d) [4, 4]
";

#[test]
fn a_snapshot_is_made_reviewed_compared_and_changed() {
    let package = Package::new(&[("good", "no")]);
    let first = package.run("", &[]);
    assert_eq!(first.code(), 101);
    first
        .says("snapshots/good.snap, new")
        .says("test result: FAILED. 1 passed; 1 failed; 2 ignored");
    assert!(package.read(NEW).unwrap().ends_with(LOCKED), "{:?}", package.read(NEW));
    assert_eq!(package.read(SNAP), None);

    let reviewing = package.run("", &[("INSTA_FORCE_PASS", "1")]);
    assert_eq!(reviewing.code(), 0, "{}", reviewing.out());
    assert!(package.read(NEW).is_some(), "the review finds it");

    let accepting = package.run("", &[("INSTA_UPDATE", "always")]);
    assert_eq!(accepting.code(), 0, "{}", accepting.out());
    let text = package.read(SNAP).unwrap();
    for part in ["source: tests/trials.rs", "description: to try the runner", LOCKED] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }

    assert_eq!(package.run("", &[]).code(), 0);
    assert_eq!(package.read(NEW), None, "nothing is left to review");

    package.case("good", "time first");
    let changed = package.run("", &[("CI", "1")]);
    assert_eq!(changed.code(), 101);
    changed.says("-y (b, l, d) [3, 5, 4]\n+y (l, b, d) [5, 3, 4]").says("cargo insta review");
    assert_eq!(package.read(NEW), None, "CI writes nothing");
    assert_eq!(package.run("", &[("INSTA_FORCE_PASS", "1")]).code(), 0);
    assert!(package.read(NEW).unwrap().contains("y (l, b, d) [5, 3, 4]"));
}

#[test]
fn a_broken_contract_leaves_nothing_to_accept() {
    let package = Package::new(&[("good", "no")]);
    package.run("", &[("INSTA_UPDATE", "always")]);
    let locked = package.read(SNAP).unwrap();
    package.case("good", "time first");
    package.contract("good", "y: b l d");
    for update in ["new", "always"] {
        let broken = package.run("", &[("INSTA_UPDATE", update)]);
        assert_eq!(broken.code(), 101);
        broken.says("contract broken").says("+y (l, b, d) [5, 3, 4]");
        assert_eq!(package.read(SNAP).unwrap(), locked);
        assert_eq!(package.read(NEW), None);
    }
}

#[test]
fn a_snapshot_that_is_none_is_an_error_and_stays() {
    let package = Package::new(&[("good", "no")]);
    package.run("", &[("INSTA_UPDATE", "always")]);
    let text = package.read(SNAP).unwrap();
    let broken = [
        (
            text.replace("[4, 4]", "[4, 5]"),
            "good.snap:12: expected `w (d, d) [4, 4]`, got `w (d, d) [4, 5]`",
        ),
        (text.replace("forward", "<<<<<<< HEAD"), "merge conflict marker"),
        (
            text.replacen("---", "<<<<<<< HEAD\n---", 1),
            "expected `---` in line 1, got `<<<<<<< HEAD`",
        ),
        (text.replacen("source", "<<<<<<< HEAD\nsource", 1), "not readable as a snapshot"),
        ("---\nsource: x\n---\n".to_owned(), "expected the head of a section"),
    ];
    for (broken, message) in broken {
        fs::write(package.path().join(SNAP), &broken).unwrap();
        let run = package.run("", &[("INSTA_UPDATE", "always")]);
        assert_eq!(run.code(), 101, "{broken}");
        run.says(message).says("snapshots/good.snap");
        assert_eq!(package.read(SNAP), Some(broken));
    }
}

#[rstest]
#[case::panic("panic", "a panic of the model")]
#[case::error("error", "tests/package/toy.rs:")]
#[case::dims(
    "dims",
    "cases/bad.yaml:3:1: subject `toy` panics on this configuration: dims in the listing"
)]
#[case::dims_later("dims later", "the harness itself panicked")]
fn a_failure_is_that_of_its_trial_alone(#[case] fault: &str, #[case] message: &str) {
    let package = Package::new(&[("bad", fault)]);
    let run = package.run("bad", &[]);
    assert_eq!(run.code(), 101);
    run.says(message).says("test result: FAILED.");
    assert!(!run.err().contains("panicked at"), "a caught panic is silent: {}", run.err());
}

#[test]
fn a_case_that_cannot_be_read_hides_no_other() {
    let package = Package::new(&[("good", "no")]);
    fs::write(package.path().join("cases/bad.yaml"), "subjekt: toy\n").unwrap();
    fs::write(
        package.path().join("cases/other.yaml"),
        "subject: tay\nwhy: w\nmatrix: {batch: [1], seq: [1]}\n",
    )
    .unwrap();
    let names = [
        "bad::case",
        "good::shapes",
        "good::shapes::cuda",
        "good::finite",
        "good::finite::cuda",
        "other::case",
    ];
    let list = package.run("--list --format terse", &[]);
    let listed: Vec<String> = list
        .out()
        .lines()
        .filter_map(|line| Some(line.strip_suffix(": test")?.to_owned()))
        .collect();
    assert_eq!(listed, names);
    let ignored = package.run("--list --format terse --ignored", &[]);
    assert_eq!(ignored.out().matches(": test\n").count(), 2, "{}", ignored.out());
    let run = package.run("", &[]);
    run.says("cases/bad.yaml:1:1: ")
        .says("did you mean `subject`")
        .says("no subject `tay` is registered here; did you mean `toy`");
    run.says("good::finite       ... ok");
    let exact = package.run("good::finite --exact --nocapture", &[]);
    assert_eq!(exact.code(), 0);
    exact.says("test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out");
}

#[test]
fn a_folder_that_cannot_be_told_from_a_lost_case_is_a_failure() {
    let package = Package::new(&[("good", "no")]);
    fs::create_dir(package.path().join("cases/empty")).unwrap();
    fs::write(package.path().join("cases/other.yml"), "").unwrap();
    let run = package.run("found", &[]);
    assert_eq!(run.code(), 101);
    run.says("test cases::found ... FAILED").says("cases/empty: no case in this folder");
    run.says("cases/other.yml: a case ends in `.yaml`");
}

#[test]
fn what_is_skipped_says_why_and_can_be_required() {
    let package = Package::new(&[("good", "no")]);
    let skipped = package.run("finite", &[]);
    assert_eq!(skipped.code(), 0);
    skipped.says("shapelock: 1 case, 2 trials: 1 passed, 0 failed, 1 skipped\n  1 skipped: ");
    let required = package.run("", &[("SHAPELOCK_REQUIRE", "cuda,metal")]);
    assert_eq!(required.code(), 101);
    required.says("asks for cuda, which is not").says("metal, and no case has a point");
    let unknown = package.run("", &[("SHAPELOCK_REQUIRE", "cpu,gpu")]);
    assert_eq!(unknown.code(), 2);
    unknown.says("no device is called `gpu`");
}

#[test]
fn a_section_that_cannot_be_compared_here_stays_and_is_named() {
    let package = Package::new(&[]);
    let case = "subject: toy\nwhy: w\nconfig: {d: 4}\nvariants: {plain: {}, wide: {d: 8}}\n\
        matrix: {batch: [3], seq: [5], device: [cuda, cpu]}\nexcept: [{variant: wide, device: cpu}]\n";
    fs::write(package.path().join("cases/good.yaml"), case).unwrap();
    let wide = LOCKED
        .replace("toy at", "toy / wide at")
        .replace("d=4", "d=8")
        .replace("[4, 4]", "[8, 8]")
        .replace(" 4]", " 8]");
    fs::create_dir(package.path().join("snapshots")).unwrap();
    let locked = format!("---\nsource: x\n---\n{LOCKED}\n{wide}");
    fs::write(package.path().join(SNAP), &locked).unwrap();
    let run = package.run("good::shapes --exact", &[("INSTA_UPDATE", "always")]);
    assert_eq!(run.code(), 0, "{}", run.out());
    run.says("  not verified here, the snapshot of good / wide\n");
    assert_eq!(package.read(SNAP), Some(locked));
}

#[test]
fn a_graph_of_many_nodes_does_not_end_the_process() {
    let package = Package::new(&[("good", "deep")]);
    let case = package.read("cases/good.yaml").unwrap().replace("shapes, finite", "gradients");
    fs::write(package.path().join("cases/good.yaml"), case).unwrap();
    let run = package.run("", &[("SHAPELOCK_POINT", "b1-l5-f32-cpu")]);
    assert_eq!(run.code(), 0, "{}", run.out());
    run.says("good::gradients       ... ok");
    assert_eq!(package.run("cli trace good", &[]).code(), 0);
}

#[test]
fn an_ordinary_test_checks_one_case() {
    shapelock::check!(DenseSsmSubject, "cases/dense_ssm/bug_report.yaml");
}

#[test]
#[should_panic = "cases/nope.yaml: no case below "]
fn an_ordinary_test_needs_a_case_that_is_there() {
    shapelock::check!(Toy, "cases/nope.yaml");
}

#[test]
fn one_point_can_be_chosen() {
    let package = Package::new(&[("good", "no")]);
    let run = package.run("finite", &[("SHAPELOCK_POINT", "b1-l5-f32-cpu")]);
    assert_eq!(run.code(), 0, "{}", run.out());
    let unknown = package.run("finite", &[("SHAPELOCK_POINT", "b2-l5-f32-cpu")]);
    assert_eq!(unknown.code(), 101);
    unknown.says("has no point `b2-l5-f32-cpu`").says("b3-l5-f32-cpu, b1-l5-f32-cpu");
}

#[test]
fn filters_and_threads_are_those_of_libtest() {
    let package = Package::new(&[("good", "no"), ("other", "no")]);
    let two = package.run("good::finite other::finite --no-capture", &[("RUST_TEST_THREADS", "1")]);
    assert_eq!(two.code(), 0, "{}", two.out());
    two.says("running 4 tests").says("2 passed; 0 failed; 2 ignored");
    assert_eq!(package.run("--unknown", &[]).code(), 2);
}

#[test]
fn snapshots_have_an_owner_also_where_nothing_runs() {
    let package = Package::new(&[("good", "no")]);
    package.run("", &[("INSTA_UPDATE", "always")]);
    let list = package.path().join("references");
    package.run("matches-nothing", &[("INSTA_SNAPSHOT_REFERENCES_FILE", &list.to_string_lossy())]);
    let owned = package.read("references").unwrap();
    assert_eq!(Path::new(owned.trim()), package.path().join(SNAP));
}

#[test]
fn the_command_line_knows_the_same_subjects() {
    let package = Package::new(&[("good", "no"), ("bad", "error")]);
    let trace = package.run("cli trace good --point b1-l5-f32-cpu", &[]);
    assert_eq!(trace.code(), 0, "{}", trace.err());
    trace.says("good at b=1 l=5 d=4 f32 on cpu").says("(b, l, d)");
    let failing = package.run("cli trace bad", &[]);
    assert_eq!(failing.code(), 1, "{}", failing.err());
    failing
        .says("matmul")
        .says("left      [3, 5, 4]")
        .says("right     [4, 4]")
        .says("tests/package/toy.rs:");
}
