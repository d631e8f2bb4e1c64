//! Names and kinds of files.

use std::fs;
use std::path::Path;

use super::{GOOD, Row, is_readable, package, shapelock};

/// Puts something into the folder of cases.
type Made = fn(&Path);

fn file(cases: &Path, name: &str) {
    let file = cases.join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, GOOD).unwrap();
}

const fn row(name: &'static str, what: &'static str, input: Made, says: &'static str) -> Row<Made> {
    Row { name, what, input, says }
}

/// Each is what lies beside the good case.
pub const ROWS: &[Row<Made>] = &[
    row("dots", "`a..b.yaml`", |cases| file(cases, "a..b.yaml"), "`a..b` cannot name a case"),
    row("colons", "`a::b.yaml`", |cases| file(cases, "a::b.yaml"), "`a::b` cannot name a case"),
    row(
        "space",
        "a name with a space",
        |cases| file(cases, "with space.yaml"),
        "`with space` cannot name a case",
    ),
    row(
        "line_feed",
        "a name with a line feed",
        |cases| file(cases, "new\nline.yaml"),
        "`new\\nline` cannot name a case",
    ),
    row(
        "letters",
        "letters beyond ASCII",
        |cases| file(cases, "ünïcode.yaml"),
        "`ünïcode` cannot name a case",
    ),
    row(
        "dash",
        "a name that looks like an option",
        |cases| file(cases, "--exact.yaml"),
        "begin with something else than `-`",
    ),
    row(
        "long",
        "a name of 200 letters",
        |cases| file(cases, &format!("{}.yaml", "x".repeat(200))),
        "use 100 characters at most",
    ),
    row(
        "device",
        "a name that Windows keeps for a device",
        |cases| file(cases, "con.yaml"),
        "Windows keeps this one for a device",
    ),
    row(
        "port",
        "another of these, in capitals, as a folder",
        |cases| file(cases, "COM1/one.yaml"),
        "Windows keeps this one for a device",
    ),
    row(
        "capitals",
        "two names that differ in capitals alone",
        |cases| file(cases, "Good.yaml"),
        "`good` differs from `Good` in capitals alone",
    ),
    row(
        "yml",
        "another extension of YAML",
        |cases| file(cases, "other.yml"),
        "a case ends in `.yaml`",
    ),
    row(
        "empty_folder",
        "a folder with no case",
        |cases| fs::create_dir(cases.join("empty")).unwrap(),
        "no case in this folder",
    ),
    row(
        "folder_as_case",
        "a folder called `x.yaml`",
        |cases| fs::create_dir(cases.join("x.yaml")).unwrap(),
        "`x.yaml` cannot name a case",
    ),
    row(
        "deep_folders",
        "30 folders in one another",
        |cases| file(cases, &format!("{}one.yaml", "d/".repeat(30))),
        "more than 16 folders inside each other",
    ),
    #[cfg(unix)]
    row(
        "link_to_its_folder",
        "a link to the folder it lies in",
        |cases| link(".", &cases.join("loop")),
        "a link to a folder that it lies in",
    ),
    #[cfg(unix)]
    row(
        "link_to_nothing",
        "a link to nothing",
        |cases| link("nowhere", &cases.join("link.yaml")),
        "cases/link.yaml: cannot be read",
    ),
    #[cfg(unix)]
    row(
        "link_to_itself",
        "a link to itself",
        |cases| link("self.yaml", &cases.join("self.yaml")),
        "cases/self.yaml: cannot be read",
    ),
    #[cfg(unix)]
    row(
        "pipe",
        "a pipe, which nobody writes to",
        |cases| pipe(&cases.join("pipe.yaml")),
        "is a pipe, a socket or a device",
    ),
];

#[cfg(unix)]
fn link(to: &str, at: &Path) {
    std::os::unix::fs::symlink(to, at).unwrap();
}

#[cfg(unix)]
pub fn pipe(at: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(at).status().unwrap().success());
}

#[test]
fn each_gives_an_error_and_hides_no_other_case() {
    for row in ROWS {
        let package = package();
        (row.input)(&package.path().join("cases"));
        let (code, text) = shapelock(package.path(), &["list"]);
        assert_eq!(code, 2, "{}: {text}", row.name);
        assert!(text.contains(row.says), "{}: no `{}` in {text}", row.name, row.says);
        assert!(text.contains("good::shapes"), "{} hides the good case: {text}", row.name);
        is_readable(&text);
    }
}
