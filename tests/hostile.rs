//! Input that nobody writes by mistake alone: each gives one clear error with its place, hides no other case, and changes
//! no file. `docs/hostile.md` shows the table.
#[path = "hostile/cases.rs"]
mod cases;
#[path = "hostile/names.rs"]
mod names;
#[path = "hostile/snapshots.rs"]
mod snapshots;
#[path = "hostile/values.rs"]
mod values;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// A hostile input: its name, what it is, and a part of what is said of it.
pub struct Row<T> {
    name: &'static str,
    what: &'static str,
    input: T,
    says: &'static str,
}

pub const GOOD: &str = "\
subject: dense_ssm
why: hostile neighbours must not hide it
config: {d_model: 4, d_state: 3}
matrix: {batch: [2, 1], seq: [5, 1]}
checks: [shapes]
";

/// A package with one good case.
pub fn package() -> TempDir {
    let package = TempDir::new().unwrap();
    fs::create_dir(package.path().join("cases")).unwrap();
    fs::write(package.path().join("cases/good.yaml"), GOOD).unwrap();
    package
}

/// What the binary says there, and its exit code.
pub fn shapelock(folder: &Path, words: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shapelock"));
    command.current_dir(folder).args(words).env("COLUMNS", "400").env("NO_COLOR", "1");
    for name in ["SHAPELOCK_POINT", "SHAPELOCK_REQUIRE", "SHAPELOCK_REPORT"] {
        command.env_remove(name);
    }
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).expect("what is printed is UTF-8");
    (status.code().expect("an exit code, and no signal"), text(stdout) + &text(stderr))
}

/// What is said must be readable: short lines, no control characters.
fn is_readable(text: &str) {
    let unreadable = |line: &&str| line.chars().count() > 600 || line.chars().any(char::is_control);
    assert_eq!(text.lines().find(unreadable), None);
}

#[test]
fn the_document_has_the_table() {
    let mut rows: Vec<(String, &str, &str)> = Vec::new();
    rows.extend(cases::ROWS.iter().map(|r| (format!("cases::{}", r.name), r.what, r.says)));
    rows.extend(values::ROWS.iter().map(|r| (format!("values::{}", r.name), r.what, r.says)));
    rows.extend(names::ROWS.iter().map(|r| (format!("names::{}", r.name), r.what, r.says)));
    rows.extend(snapshots::ROWS.iter().map(|r| (format!("snapshots::{}", r.name), r.what, r.says)));
    assert!(rows.len() >= 60, "{} rows", rows.len());
    let row = |(name, what, says): &(String, &str, &str)| {
        format!("| {what} | {} | `{name}` |\n", says.replace('|', "\\|"))
    };
    let table: String = rows.iter().map(row).collect();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/hostile.md");
    let document = fs::read_to_string(&file).unwrap_or_default();
    assert!(document.contains(&table), "docs/hostile.md should have\n{table}");
}
