//! The reports of a run: which are wanted, and writing them.
//!
//! Under nextest every trial is a process of its own. Each leaves what it knows in a folder beside the report, which is
//! then written anew from all that are there: the last one to end has seen all. Trials that nextest does not run, since
//! they are ignored, are not in it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::harness::report::{Format, Record, Run};

/// A report that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Its form.
    pub format: Format,
    /// Its file; nothing for what goes to stdout.
    pub path: Option<PathBuf>,
}

/// A report that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WantedError {
    /// No form has that name.
    #[error(
        "no report is called `{0}`, expected html=PATH, junit=PATH, markdown=PATH or github, several with commas"
    )]
    Unknown(String),
    /// A form that goes to a file was given none.
    #[error("`{0}` needs a file, as in {0}=PATH")]
    NoPath(String),
    /// A form that goes to stdout was given a file.
    #[error("`{0}` goes to stdout and takes no file")]
    Path(String),
}

/// Reads `html=PATH,markdown=PATH,github`.
///
/// # Errors
/// A part that is none of these.
pub(super) fn wanted(text: &str) -> Result<Vec<Wanted>, WantedError> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(one).collect()
}

/// Reads one of them.
///
/// # Errors
/// What is none.
pub fn one(part: &str) -> Result<Wanted, WantedError> {
    let (name, path) = part.split_once('=').map_or((part, None), |(name, path)| (name, Some(path)));
    let found = Format::ALL.into_iter().find(|(known, _)| *known == name);
    let (_, format) = found.ok_or_else(|| WantedError::Unknown(name.to_owned()))?;
    match (format, path.filter(|path| !path.is_empty())) {
        (Format::Github, None) => Ok(Wanted { format, path: None }),
        (Format::Github, Some(_)) => Err(WantedError::Path(name.to_owned())),
        (_, None) => Err(WantedError::NoPath(name.to_owned())),
        (_, Some(path)) => Ok(Wanted { format, path: Some(path.into()) }),
    }
}

/// Writes the reports of a run, relative paths from `root`; what goes to stdout is returned.
///
/// # Errors
/// A file that cannot be written, with its name.
pub fn write(wanted: &[Wanted], root: &Path, run: &Run) -> Result<String, String> {
    let folder = below_workspace(root);
    let mut printed = String::new();
    for Wanted { format, path } in wanted {
        match path {
            None => printed.push_str(&format.text(run, &folder)),
            Some(path) => {
                let path = root.join(path);
                let written = match std::env::var("NEXTEST_RUN_ID") {
                    Ok(id) => in_parts(*format, &path, run, &id),
                    Err(_) => add_or_put(&path, &format.text(run, &folder)),
                };
                written.map_err(|error| format!("the report {}: {error}", path.display()))?;
            }
        }
    }
    Ok(printed)
}

/// The package's folder as seen from the repository's root, which GitHub names.
fn below_workspace(root: &Path) -> String {
    let workspace = std::env::var_os("GITHUB_WORKSPACE").unwrap_or_default();
    let below =
        root.strip_prefix(workspace).map(|below| below.to_string_lossy().replace('\\', "/"));
    below.ok().filter(|below| !below.starts_with('/')).unwrap_or_default()
}

/// Writes a file. The summary of a step on GitHub belongs to all its commands, so that is added to.
fn add_or_put(path: &Path, text: &str) -> io::Result<()> {
    if std::env::var_os("GITHUB_STEP_SUMMARY").is_some_and(|summary| Path::new(&summary) == path) {
        return OpenOptions::new().append(true).create(true).open(path)?.write_all(text.as_bytes());
    }
    put(path, text)
}

/// Writes a file whole or not at all.
fn put(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let unfinished = beside(path, &format!("{}.unfinished", std::process::id()));
    fs::write(&unfinished, text)?;
    fs::rename(unfinished, path)
}

/// Leaves the run's trials beside the report and writes it from all that are there. Who finds another process writing
/// leaves it at that: the other looks once more after it has written.
fn in_parts(format: Format, path: &Path, run: &Run, id: &str) -> io::Result<()> {
    let parts = beside(path, "parts");
    forget_others(&parts, id)?;
    let own = parts.join(id);
    fs::create_dir_all(&own)?;
    for trial in &run.trials {
        put(&own.join(format!("{}.json", file_name(&trial.name))), &serde_json::to_string(trial)?)?;
    }
    let lock = File::create(parts.join("lock"))?;
    loop {
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let files = part_files(&own)?;
        let trials = files
            .iter()
            .filter_map(|file| serde_json::from_str(&fs::read_to_string(file).ok()?).ok());
        let run = Run { trials: trials.collect::<Vec<Record>>() };
        put(path, &format.text(&run, ""))?;
        lock.unlock()?;
        if part_files(&own)?.len() == files.len() {
            return Ok(());
        }
    }
}

/// Parts of earlier runs are not of this one.
fn forget_others(parts: &Path, id: &str) -> io::Result<()> {
    for entry in fs::read_dir(parts).into_iter().flatten() {
        let path = entry?.path();
        if path.is_dir() && !path.ends_with(id) {
            // Another process of this run may have been faster.
            let _ = fs::remove_dir_all(path);
        }
    }
    Ok(())
}

fn part_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut files = entries.collect::<io::Result<Vec<_>>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    Ok(files)
}

/// `PATH.suffix`.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

fn file_name(trial: &str) -> String {
    trial.replace("::", ".")
}
