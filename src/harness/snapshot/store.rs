//! Snapshots on disk, by insta: the only file that names it.
//!
//! insta compares, writes `.snap.new` and lets people review; what a change means is said by the report. So its panic is
//! caught in silence and becomes a [`Changed`]. Its macro is expanded in the user's crate, which passes it in as an
//! [`Assert`]: the workspace and the source line that insta notes are then the user's.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

#[doc(hidden)]
pub use insta;

use super::{ParseError, Snapshot, parse};
use crate::harness::run::panics;

/// Asserts a text under a name: `|name, text| insta::assert_snapshot!(name, text)`.
pub type Assert = fn(&str, &str);

/// Where a case's snapshot lies, and what insta notes beside it.
#[derive(Debug, Clone)]
pub struct Target {
    /// The snapshot's file, absolute.
    pub path: PathBuf,
    /// The case's file.
    pub case_file: PathBuf,
    /// Why the case exists.
    pub why: String,
}

/// A text that is not the one on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The text on disk, if there is one.
    pub old: Option<String>,
    /// The text now.
    pub new: String,
    /// Why insta could not do its part, where it was more than a difference.
    pub trouble: Option<String>,
}

/// Why a snapshot cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// insta cannot read the file.
    #[error("{}: not readable as a snapshot: {message}; restore it from git, or delete it and accept it anew", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// The text in it is no snapshot.
    #[error("{}:{}: {}; restore it from git, or delete it and accept it anew", path.display(), head + error.line, error.message)]
    Text {
        /// The file.
        path: PathBuf,
        /// The lines of insta's head, before the text.
        head: usize,
        /// What is wrong.
        error: ParseError,
    },
}

/// Larger than the snapshot of any model, and small enough to be read at once.
const MAX_BYTES: u64 = 16 << 20;

/// The snapshot on disk; `None` if there is no file.
///
/// # Errors
/// A file that is there and is no snapshot.
pub fn read_baseline(path: &Path) -> Result<Option<Snapshot>, StoreError> {
    let file = |message: String| StoreError::File { path: path.to_owned(), message };
    let Some(text) = read_text(path).map_err(file)? else {
        return Ok(None);
    };
    parse(&text).map(Some).map_err(|error| {
        let whole = fs::read_to_string(path).unwrap_or_default();
        let ends = whole.lines().enumerate().filter(|(_, line)| line.trim_end() == "---");
        let head = ends.map(|(index, _)| index + 1).nth(1).unwrap_or(0);
        StoreError::Text { path: path.to_owned(), head, error }
    })
}

/// Compares `text` with the snapshot on disk. A difference is left in a `.snap.new` beside it unless insta is told
/// otherwise (`CI`, `INSTA_UPDATE`); under `INSTA_FORCE_PASS`, which `cargo insta test` sets, it passes.
///
/// # Errors
/// The difference.
pub fn assert_text(target: &Target, text: &str, assert: Assert) -> Result<(), Changed> {
    let old = read_text(&target.path).ok().flatten();
    let (Some(folder), Some(stem)) = (target.path.parent(), target.path.file_stem()) else {
        let trouble = Some(format!("{} is no path of a file", target.path.display()));
        return Err(Changed { old, new: text.to_owned(), trouble });
    };
    let mut settings = insta::Settings::new();
    settings.set_snapshot_path(folder);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_input_file(&target.case_file);
    settings.set_description(target.why.trim());
    let name = stem.to_string_lossy();
    let asserted = panics::catch(|| settings.bind(|| assert(&name, text)));
    asserted.map_err(|panic| {
        let difference = panic.message.starts_with("snapshot assertion");
        Changed { old, new: text.to_owned(), trouble: (!difference).then_some(panic.message) }
    })
}

/// Tells `cargo insta test --unreferenced` that the snapshot has an owner, also where its case is filtered out or
/// cannot run here.
///
/// # Errors
/// A list that cannot be written.
pub fn claim(paths: &[PathBuf]) -> io::Result<()> {
    let Some(list) = std::env::var_os("INSTA_SNAPSHOT_REFERENCES_FILE") else {
        return Ok(());
    };
    let mut list = OpenOptions::new().append(true).create(true).open(list)?;
    // One write, so that processes that run at the same time do not mix their lines.
    let lines: String = paths.iter().map(|path| format!("{}\n", path.display())).collect();
    list.write_all(lines.as_bytes())
}

/// The text on disk; `None` if there is no file.
///
/// # Errors
/// Why it cannot be read.
pub fn read_text(path: &Path) -> Result<Option<String>, String> {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    // Reading a pipe would wait for a writer that may never come.
    if !found.is_file() {
        return Err("a snapshot is a regular file, and this is none".into());
    }
    if found.len() > MAX_BYTES {
        return Err(format!("{} bytes, and a snapshot has {MAX_BYTES} at most", found.len()));
    }
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut first = String::new();
    BufReader::new(file).read_line(&mut first).map_err(|error| error.to_string())?;
    // Without this line insta takes the file for one of its oldest form, and skips to the first empty line.
    if first.trim_end() != "---" {
        return Err(format!("expected `---` in line 1, got `{}`", first.trim_end()));
    }
    let stored = insta::Snapshot::from_file(path).map_err(|error| error.to_string())?;
    let text = stored.as_text().ok_or("not a snapshot of text")?;
    Ok(Some(text.to_string()))
}

/// The text in what a file holds: what follows insta's head.
///
/// # Errors
/// Where there is no such head.
pub fn text_of(stored: &str) -> Result<String, String> {
    let rest = stored.strip_prefix("---\n").ok_or("expected `---` in line 1")?;
    let (_, text) = rest.split_once("\n---\n").ok_or("the head has no end")?;
    Ok(text.trim_end().to_owned())
}

/// A pending snapshot as insta keeps an accepted one: without the line of the assertion in its head.
///
/// # Errors
/// Why it cannot be read.
pub(super) fn persisted(pending: &Path) -> Result<String, String> {
    read_text(pending)?.ok_or("it is gone")?;
    let text = fs::read_to_string(pending).map_err(|error| error.to_string())?;
    let head = text.match_indices("\n---\n").next().map_or(text.len(), |(at, _)| at);
    let (head, rest) = text.split_at(head);
    let kept = head.lines().filter(|line| !line.starts_with("assertion_line:"));
    Ok(format!("{}{rest}", kept.collect::<Vec<_>>().join("\n")))
}
