//! Snapshots on disk.

use std::fs;
use std::path::Path;

use super::{Row, is_readable, package, shapelock};

/// Puts something where the snapshot of the good case lies.
type Made = fn(&Path);

const HEAD: &str = "---\nsource: tests/cases.rs\ndescription: hostile\n---\n";

const LAW: &str = "\
dense_ssm at b=2 l=5 d=4 i=16 n=3 f32

forward
input (b, l, d) [2, 5, 4]
scan ×l
  scan.x (b, n) [2, 3]
states (b, l, n) [2, 5, 3]

gradient
A (n, n) [3, 3]
";

fn changed(at: &Path, from: &str, to: &str) {
    assert!(LAW.contains(from));
    fs::write(at, format!("{HEAD}{}", LAW.replace(from, to))).unwrap();
}

const fn row(name: &'static str, what: &'static str, input: Made, says: &'static str) -> Row<Made> {
    Row { name, what, input, says }
}

/// Each is what lies at `snapshots/good.snap`.
pub const ROWS: &[Row<Made>] = &[
    row("empty", "an empty snapshot", |at| fs::write(at, "").unwrap(), "expected `---` in line 1"),
    row(
        "no_head",
        "a snapshot without insta's head",
        |at| fs::write(at, LAW).unwrap(),
        "expected `---` in line 1",
    ),
    row(
        "head_alone",
        "a head and nothing else",
        |at| fs::write(at, HEAD).unwrap(),
        "expected the head of a section",
    ),
    row(
        "half",
        "a snapshot that was written by half",
        |at| fs::write(at, &format!("{HEAD}{LAW}")[..122]).unwrap(),
        "expected `]` after the extents",
    ),
    row(
        "conflict",
        "markers of a merge conflict",
        |at| changed(at, "states", "<<<<<<< HEAD\nstates"),
        "merge conflict marker `<<<<<<< HEAD`; resolve the conflict",
    ),
    row(
        "newer",
        "a form that a later version writes",
        |at| changed(at, "dense_ssm at", "shapelock 2\ndense_ssm at"),
        "written in form `2`, which this version of shapelock does not read",
    ),
    row(
        "edited_numbers",
        "numbers that were edited by hand",
        |at| changed(at, "[2, 5, 3]", "[2, 5, 9]"),
        "expected `states (b, l, n) [2, 5, 3]`, got `states (b, l, n) [2, 5, 9]`",
    ),
    row(
        "edited_axes",
        "an axis that is not among its dims",
        |at| changed(at, "(b, l, n)", "(b, l, zz)"),
        "got `states (b, l, zz) [2, 5, 3]`",
    ),
    row(
        "number",
        "a number beyond 64 bits",
        |at| changed(at, "b=2", "b=99999999999999999999999"),
        "expected a number after `b=`",
    ),
    row(
        "indentation",
        "a step indented by 10,000 spaces",
        |at| changed(at, "  scan.x", &format!("{}scan.x", " ".repeat(10_000))),
        "expected a step indented by 2 spaces",
    ),
    row(
        "section_twice",
        "the same section twice",
        |at| changed(at, LAW, &format!("{LAW}\n{LAW}")),
        "variant `plain` has a section already",
    ),
    row(
        "more_lines",
        "lines after the end",
        |at| changed(at, LAW, &format!("{LAW}more\n")),
        "got `more`",
    ),
    row(
        "nul",
        "a byte of zero",
        |at| changed(at, "states", "sta\0tes"),
        "got `sta\\u{0}tes (b, l, n) [2, 5, 3]`",
    ),
    row(
        "not_utf8",
        "bytes that are not UTF-8",
        |at| fs::write(at, [HEAD.as_bytes(), b"\xff\xfe"].concat()).unwrap(),
        "valid UTF-8",
    ),
    row(
        "other_subject",
        "the snapshot of another subject",
        |at| changed(at, "dense_ssm", "mamba2"),
        "-mamba2 at b=2 l=5",
    ),
    row(
        "large",
        "a file of 20 MB",
        |at| fs::write(at, vec![b'x'; 20_000_000]).unwrap(),
        "a snapshot has 16777216 at most",
    ),
    row(
        "folder",
        "a folder",
        |at| fs::create_dir(at).unwrap(),
        "a snapshot is a regular file, and this is none",
    ),
    #[cfg(unix)]
    row(
        "pipe",
        "a pipe, which nobody writes to",
        super::names::pipe,
        "a snapshot is a regular file, and this is none",
    ),
    #[cfg(unix)]
    row(
        "link_to_itself",
        "a link to itself",
        |at| std::os::unix::fs::symlink("good.snap", at).unwrap(),
        "restore it from git, or delete it",
    ),
];

#[test]
fn each_is_told_and_left_as_it_is() {
    for row in ROWS {
        let package = package();
        fs::create_dir(package.path().join("snapshots")).unwrap();
        let at = package.path().join("snapshots/good.snap");
        (row.input)(&at);
        let before = at.is_file().then(|| fs::read(&at).unwrap());
        let (code, text) = shapelock(package.path(), &["check"]);
        assert_eq!(code, 1, "{}: {text}", row.name);
        assert!(text.contains(row.says), "{}: no `{}` in {text}", row.name, row.says);
        is_readable(&text);
        assert_eq!(at.is_file().then(|| fs::read(&at).unwrap()), before, "{}", row.name);
    }
}
