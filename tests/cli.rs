//! The binary as people type it: its output, its exit codes and its help.
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use rstest::rstest;
use shapelock::harness::case::CasePath;
use shapelock::harness::cli::CASES;
use tempfile::TempDir;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn shapelock(folder: &Path, words: &str) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shapelock"));
    command.current_dir(folder).args(words.split_whitespace());
    command.env_remove("SHAPELOCK_POINT").env_remove("SHAPELOCK_REQUIRE").env("COLUMNS", "100");
    command.env_remove("SHAPELOCK_REPORT");
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

fn package(cases: &[(&str, &str)]) -> TempDir {
    let package = TempDir::new().unwrap();
    fs::create_dir(package.path().join("cases")).unwrap();
    for (name, text) in cases {
        fs::write(package.path().join(format!("cases/{name}.yaml")), text).unwrap();
    }
    package
}

const GOOD: &str = "\
subject: dense_ssm
why: to try the command line
config: {d_model: 4, d_state: 3}
matrix: {batch: [2, 1], seq: [5, 1]}
shapes: {states: b l n}
zero_gradient: {A: l == 1}
";

#[rstest]
#[case::top("--help")]
#[case::check("check --help")]
#[case::trace("trace --help")]
#[case::list("list --help")]
#[case::review("review --help")]
#[case::accept("accept --help")]
#[case::diff("diff --help")]
#[case::explain("explain --help")]
#[case::minimize("minimize --help")]
#[case::new("new --help")]
#[case::schema("schema --help")]
fn help_teaches(#[case] words: &str) {
    let (code, out, err) = shapelock(Path::new(ROOT), words);
    assert_eq!((code, err.as_str()), (0, ""));
    insta::assert_snapshot!(words.replace("--", "").replace(' ', "_"), out);
}

#[test]
fn a_trace_is_the_flow_of_shapes() {
    let (code, out, err) = shapelock(Path::new(ROOT), "trace dense_ssm::bug_report");
    assert_eq!((code, err.as_str()), (0, ""));
    // Lines of the source move; that there is one is what counts.
    let lines = out.lines().map(|line| match line.rsplit_once(".rs:") {
        Some((before, number)) if number.parse::<u32>().is_ok() => format!("{before}.rs:LINE"),
        _ => line.to_owned(),
    });
    insta::assert_snapshot!("trace", lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_trace_of_ops_shows_every_op() {
    let package = package(&[("good", GOOD)]);
    let (code, out, _) =
        shapelock(package.path(), "trace cases/good.yaml --point b1-l5-f32-cpu --ops");
    assert_eq!(code, 0);
    assert!(out.starts_with("good at b=1 l=5 d=4 i=16 n=3 f32 on cpu\n"), "{out}");
    for part in [
        "leaf",
        "permute [1, 0]",
        "matmul",
        "narrow dim 1, 4..5",
        "… 1 more",
        "input_projection.weight",
    ] {
        assert!(out.contains(part), "no {part} in\n{out}");
    }
}

#[rstest]
#[case::unknown_case("check nope", "error: no case is called `nope`; known: good")]
#[case::near_case("trace goad", "error: no case is called `goad`; did you mean `good`?")]
#[case::unknown_check("check good::layout", "error: `good` has no check `layout` here; it has ")]
#[case::unknown_point(
    "trace good --point b9",
    "error: the case has no point `b9`; it has b2-l5-f32-cpu, b2-l1-f32-cpu, b1-l5-f32-cpu, b1-l1-f32-cpu"
)]
#[case::unknown_variant("trace good --variant fused", "error: the case has no variant `fused`; ")]
#[case::unknown_command("chek", "error: unrecognized subcommand 'chek'")]
#[case::nothing_to_trace("trace", "error: the following required arguments were not provided")]
fn what_is_not_understood_exits_with_2(#[case] words: &str, #[case] message: &str) {
    let package = package(&[("good", GOOD)]);
    let (code, _, err) = shapelock(package.path(), words);
    assert_eq!(code, 2);
    assert!(err.starts_with(message), "{err}");
}

#[test]
fn a_check_ends_with_counts_and_the_reasons_of_skips() {
    let cuda = GOOD.replace("seq: [5, 1]", "seq: [5, 1], device: [cpu, cuda]");
    let unknown = "subject: mine\nwhy: w\nmatrix: {batch: [1], seq: [1]}\n";
    let package = package(&[("good", GOOD), ("other", &cuda), ("mine", unknown)]);
    let (code, out, err) = shapelock(package.path(), "");
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    for part in [
        "ok      good::gradients, 4 points\n",
        "skipped other::shapes::cuda: ",
        "\n3 cases, 8 points: 14 checks passed, 0 failed, 8 skipped\n",
        "  1 skipped: its subject is known to tests only: cargo test --test cases -- mine::\n",
        "  7 skipped: ",
        "  2 without a snapshot to compare with: cargo insta test --review makes it\n",
    ] {
        assert!(out.contains(part), "no {part} in\n{out}");
    }
    let (code, out, _) = shapelock(package.path(), "check good");
    assert_eq!(code, 0);
    assert!(out.contains("1 case, 4 points: 7 checks passed, 0 failed, 0 skipped"), "{out}");
}

#[test]
fn a_check_that_fails_exits_with_1_and_a_case_that_cannot_be_read_with_2() {
    let wrong = GOOD.replace("b l n", "b n l");
    let package = package(&[("good", GOOD), ("wrong", &wrong)]);
    let (code, out, _) = shapelock(package.path(), "check");
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("FAILED  wrong::shapes\n"), "{out}");
    assert!(out.contains("contract, wrong.yaml:5"), "{out}");
    fs::write(package.path().join("cases/bad.yaml"), "subject: [").unwrap();
    let (code, out, _) = shapelock(package.path(), "check");
    assert_eq!(code, 2, "{out}");
    assert!(out.contains("ok      good::shapes"), "{out}");
    let (code, out, _) = shapelock(package.path(), "list");
    assert_eq!(code, 2);
    assert!(out.contains("bad::case") && out.contains("cannot be read"), "{out}");
}

#[test]
fn without_a_folder_of_cases_those_of_the_binary_are_used() {
    let empty = TempDir::new().unwrap();
    let (code, out, _) = shapelock(empty.path(), "list");
    assert_eq!(code, 0);
    assert!(out.contains("dense_ssm::bug_report::shapes"), "{out}");
    let (code, out, _) = shapelock(empty.path(), "check dense_ssm::bug_report");
    assert_eq!(code, 0, "{out}");
}

/// The binary carries some of the cases, for where there is no folder; which, is no matter of the folder.
#[test]
fn the_cases_in_the_binary_are_those_of_the_folder() {
    for (name, text) in CASES {
        let file = CasePath::new(name).unwrap().file(&Path::new(ROOT).join("cases"));
        assert_eq!(fs::read_to_string(file).unwrap(), *text, "{name}");
    }
}

/// No test has a terminal: in a pipe there are colours only where somebody forces them, and never against `NO_COLOR`.
#[rstest]
#[case::pipe(&[], false)]
#[case::forced(&[("CLICOLOR_FORCE", "1")], true)]
#[case::asked_for(&[("CLICOLOR", "1")], false)]
#[case::refused(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false)]
fn colours_are_for_those_who_want_them(#[case] variables: &[(&str, &str)], #[case] coloured: bool) {
    let package = package(&[("good", GOOD)]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_shapelock"));
    command.current_dir(package.path()).args(["check", "good"]);
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    let output = command.envs(variables.iter().copied()).output().unwrap();
    assert_eq!(output.stdout.contains(&0x1b), coloured, "{output:?}");
}

/// In a narrow terminal nothing is cut off: what does not fit side by side stands on two lines.
#[test]
fn a_trace_fits_a_narrow_terminal() {
    let package = package(&[("good", GOOD)]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_shapelock"));
    command.current_dir(package.path()).args(["trace", "good"]).env("COLUMNS", "44");
    let out = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(
        out.contains("\n  input_projection\n      (b, l, i)  [2, 5, 16]  src/model/dense_ssm.rs:"),
        "{out}"
    );
}

/// All that is wrong with a case is told at once, by whoever knows it; a mistyped subject is no subject of the tests.
#[test]
fn what_is_wrong_with_a_case_is_told_at_once() {
    let sizes = "matrix: {batch: [1], seq: [1]}\n";
    let mistyped = format!("subject: dense_sm\nwhy: w\n{sizes}");
    let unsigned = "subject: dense_ssm\nwhy: w\nmatrix: {batch: [1], seq: [1], dtype: [u8]}\n";
    let short = format!(
        "subject: dense_ssm\nwhy: w\nconfig: {{d_model: 2, d_state: 2}}\n{sizes}checks: [causal]\n"
    );
    let many = "subject: dense_ssm\nwhy: w\nconfig: {d_model: -8}\nmatrix: {batch: [1], sq: [1]}\nreference: mine\nchecks: [shape]\n";
    let package = package(&[
        ("many", many),
        ("mistyped", &mistyped),
        ("short", &short),
        ("unsigned", unsigned),
    ]);
    let (code, out, _) = shapelock(package.path(), "check");
    assert_eq!(code, 2);
    insta::assert_snapshot!(out);
}

/// One change in many cases is told once at the end, with how many cases have it.
#[test]
fn what_cases_have_in_common_is_told_once() {
    let exchanged = GOOD.replace("states: b l n", "states: b n l");
    let other = GOOD.replace("states: b l n", "output: b i l");
    let all = [("a", &exchanged), ("b", &exchanged), ("c", &exchanged), ("d", &other)];
    let all = all.map(|(name, text)| (name, text.as_str()));
    let package = package(&all);
    let (code, out, _) = shapelock(package.path(), "check");
    assert_eq!(code, 1);
    let told = "\
  2 changes in 4 cases:
    3 cases: states (b, n, l) became (b, l, n)
    1 case: output (b, i, l) became (b, l, i)
";
    assert!(out.contains(told), "{out}");
    let (_, out, _) = shapelock(package.path(), "check a d");
    assert!(!out.contains("changes in"), "{out}");
}
