//! A small package whose cases are run in a child process: this test binary, at the test `child`.
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

pub mod toy;

/// A package in a folder of its own.
pub struct Package(TempDir);

impl Package {
    pub fn new(cases: &[(&str, &str)]) -> Self {
        let package = Self(TempDir::new().unwrap());
        fs::create_dir(package.0.path().join("cases")).unwrap();
        cases.iter().for_each(|(name, fault)| package.case(name, fault));
        package
    }

    pub fn case(&self, name: &str, fault: &str) {
        let config = format!("config: {{d: 4, fault: {fault}}}");
        let matrix = "matrix: {batch: [3, 1], seq: [5], device: [cpu, cuda]}";
        let text = format!(
            "subject: toy\nwhy: to try the runner\n{config}\n{matrix}\nchecks: [shapes, finite]\n"
        );
        fs::write(self.0.path().join(format!("cases/{name}.yaml")), text).unwrap();
    }

    pub fn contract(&self, name: &str, shapes: &str) {
        self.append(name, &format!("shapes: {{{shapes}}}\n"));
    }

    /// Adds fields to a case.
    pub fn append(&self, name: &str, fields: &str) {
        let file = self.0.path().join(format!("cases/{name}.yaml"));
        let text = fs::read_to_string(&file).unwrap();
        fs::write(file, text + fields).unwrap();
    }

    pub fn run(&self, words: &str, variables: &[(&str, &str)]) -> Run {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["child", "--exact", "--nocapture", "--test-threads=1"]);
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if name == "CI" || name.starts_with("INSTA_") || name.starts_with("SHAPELOCK_") {
                child.env_remove(&*name);
            }
        }
        child.env("SHAPELOCK_TEST_CHILD", words).env("CARGO_MANIFEST_DIR", self.0.path());
        child.env("INSTA_OUTPUT", "none").env("RUST_LIB_BACKTRACE", "1");
        child.envs(variables.iter().copied());
        Run(child.output().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.0.path().join(file)).ok()
    }
}

/// How a child process ended.
pub struct Run(Output);

impl Run {
    pub fn code(&self) -> i32 {
        self.0.status.code().unwrap()
    }

    pub fn out(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }

    pub fn err(&self) -> String {
        String::from_utf8(self.0.stderr.clone()).unwrap()
    }

    #[track_caller]
    pub fn says(&self, wanted: &str) -> &Self {
        let (out, err) = (self.out(), self.err());
        assert!(out.contains(wanted) || err.contains(wanted), "no `{wanted}` in\n{out}\n{err}");
        self
    }
}
