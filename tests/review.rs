//! What is pending, as people review it: the commands `review`, `accept` and `diff`, and what a kill or a full disk leaves.
#[path = "review/commands.rs"]
mod commands;
#[path = "review/interrupted.rs"]
mod interrupted;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A package of cases with their snapshots, and what is pending beside them.
pub struct Package(TempDir);

const CASE: &str = "\
subject: dense_ssm
why: to try the review
config: {d_model: 4, d_state: 3}
matrix: {batch: [2, 1], seq: [5, 1]}
";

/// A snapshot of the case.
pub const LAW: &str = "\
dense_ssm at b=2 l=5 d=4 i=8 n=3 f32

forward
input (b, l, d) [2, 5, 4]
states (b, l, n) [2, 5, 3]
output (b, l, i) [2, 5, 8]

gradient
A (n, n) [3, 3] zero where l = 1
";

const EXCHANGED: (&str, &str) = ("states (b, l, n) [2, 5, 3]", "states (l, b, n) [5, 2, 3]");
const WIDER: (&str, &str) = ("output (b, l, i) [2, 5, 8]", "output (b, l, 2·i) [2, 5, 16]");

/// The file that insta writes for a text.
pub fn file(text: &str) -> String {
    format!(
        "---\nsource: tests/shapes.rs\nassertion_line: 7\ndescription: to try the review\n---\n{text}"
    )
}

/// The same once it is accepted.
pub fn accepted(text: &str) -> String {
    file(text).replace("assertion_line: 7\n", "")
}

pub fn changed(by: &[(&str, &str)]) -> String {
    by.iter().fold(LAW.to_owned(), |text, (from, to)| text.replace(from, to))
}

impl Package {
    /// The cases with a snapshot each.
    pub fn new(cases: &[&str]) -> Self {
        let package = Self(TempDir::new().unwrap());
        for case in cases {
            package.write(&format!("cases/{case}.yaml"), CASE);
            package.write(&format!("snapshots/{case}.snap"), &accepted(LAW));
        }
        package
    }

    /// Three cases with one change and one with two.
    pub fn pending() -> Self {
        let package = Self::new(&["ssm/first", "ssm/second", "third", "fourth"]);
        for case in ["ssm/first", "ssm/second", "third"] {
            package.write(&format!("snapshots/{case}.snap.new"), &file(&changed(&[EXCHANGED])));
        }
        let two = changed(&[EXCHANGED, WIDER]);
        package.write("snapshots/fourth.snap.new", &file(&two));
        package
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path().join(name)).ok()
    }

    /// The snapshots that are pending, by the names of their cases.
    pub fn waiting(&self) -> Vec<&'static str> {
        let cases = ["ssm/first", "ssm/second", "third", "fourth"];
        let waits = |case: &&str| self.read(&format!("snapshots/{case}.snap.new")).is_some();
        cases.into_iter().filter(waits).collect()
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shapelock"));
        command.current_dir(self.path()).args(words).env("COLUMNS", "100").env("NO_COLOR", "1");
        for name in ["SHAPELOCK_POINT", "SHAPELOCK_REQUIRE", "SHAPELOCK_REPORT"] {
            command.env_remove(name);
        }
        command
    }

    /// Runs the binary with those answers: its exit code and all that it prints.
    pub fn run(&self, words: &[&str], answers: &str) -> (i32, String) {
        let mut command = self.command(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(answers.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (output.status.code().unwrap(), text(&output.stdout) + &text(&output.stderr))
    }
}
