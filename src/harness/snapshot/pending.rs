//! Pending snapshots: the `.snap.new` that insta leaves beside a `.snap`, and taking them over.
//!
//! A snapshot is never written in place. The new one is written to a file of its own in the same folder, brought to the disk,
//! and renamed over the old one; only then is the pending one removed. Whenever that ends, by a kill or a full disk, the
//! snapshot is the old one or the new one, whole, and what was not taken over is still pending.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::store::{persisted, read_text};

/// What insta appends to the name of a snapshot.
const NEW: &str = ".new";

/// A pending snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// The snapshot's own file.
    pub path: PathBuf,
    /// Its text now, if there is one.
    pub old: Option<String>,
    /// The text that is pending.
    pub new: String,
}

/// Why a pending snapshot cannot be read, taken over or dropped.
#[derive(Debug, thiserror::Error)]
#[error("{}: {message}", path.display())]
pub struct PendingError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong.
    pub message: String,
}

impl PendingError {
    fn new(path: &Path, message: impl ToString) -> Self {
        Self { path: path.to_owned(), message: message.to_string() }
    }
}

/// What is done to files, one step at a time, so that a test can let each of them be the last.
pub trait Files {
    /// Writes a whole file.
    ///
    /// # Errors
    /// The system's own.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// Brings a file, or the names in a folder, to the disk.
    ///
    /// # Errors
    /// The system's own.
    fn sync(&self, path: &Path) -> io::Result<()>;
    /// Gives a file the name of another, which is gone.
    ///
    /// # Errors
    /// The system's own.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    ///
    /// # Errors
    /// The system's own.
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// The files of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl Files for Disk {
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        fs::write(path, bytes)
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        // A folder cannot be opened so everywhere; where it cannot, its names are left to the system.
        match File::open(path) {
            Ok(file) if path.is_dir() => file.sync_all().or(Ok(())),
            Ok(file) => file.sync_all(),
            Err(_) if path.is_dir() => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

/// All that is pending below a folder, by path, and what cannot be read; links are not followed.
pub fn pending(folder: &Path) -> (Vec<Pending>, Vec<PendingError>) {
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for file in files(folder) {
        let Some(path) = snapshot_of(&file) else { continue };
        match Pending::read(&file, &path) {
            Ok(pending) => found.push(pending),
            Err(error) => errors.push(error),
        }
    }
    (found, errors)
}

/// The snapshot that a `.snap.new` is for.
pub fn snapshot_of(file: &Path) -> Option<PathBuf> {
    let name = file.to_str()?.strip_suffix(NEW)?;
    name.ends_with(".snap").then(|| PathBuf::from(name))
}

/// Every file below a folder, sorted; links are left out.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(entry.path()),
                Ok(kind) if kind.is_file() => found.push(entry.path()),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

impl Pending {
    /// Reads `file`, which is pending for the snapshot at `path`.
    ///
    /// # Errors
    /// Where one of the two is no snapshot.
    pub fn read(file: &Path, path: &Path) -> Result<Self, PendingError> {
        let text =
            |file: &Path| read_text(file).map_err(|message| PendingError::new(file, message));
        let new = text(file)?.ok_or_else(|| PendingError::new(file, "it is gone"))?;
        Ok(Self { path: path.to_owned(), old: text(path)?, new })
    }

    /// The file in which it is pending.
    pub fn file(&self) -> PathBuf {
        beside(&self.path, NEW)
    }

    /// Makes the pending snapshot the snapshot.
    ///
    /// # Errors
    /// What went wrong; the snapshot is then the old one or the new one.
    pub fn accept(&self, files: &impl Files) -> Result<(), PendingError> {
        let file = self.file();
        let text = persisted(&file).map_err(|message| PendingError::new(&file, message))?;
        replace(files, &self.path, text.as_bytes())
            .map_err(|error| PendingError::new(&self.path, error))?;
        files.remove(&file).map_err(|error| PendingError::new(&file, error))
    }

    /// Drops what is pending.
    ///
    /// # Errors
    /// A file that cannot be removed.
    pub fn reject(&self, files: &impl Files) -> Result<(), PendingError> {
        let file = self.file();
        files.remove(&file).map_err(|error| PendingError::new(&file, error))
    }
}

/// Gives a file other contents: all of them, or none.
///
/// # Errors
/// The system's own; the file is then as it was.
pub fn replace(files: &impl Files, path: &Path, bytes: &[u8]) -> io::Result<()> {
    // By the process, so that two that run at once do not write into one file.
    let scratch = beside(path, &format!(".{}.tmp", std::process::id()));
    let written = files
        .write(&scratch, bytes)
        .and_then(|()| files.sync(&scratch))
        .and_then(|()| files.rename(&scratch, path));
    if written.is_err() {
        let _ = files.remove(&scratch);
    }
    written?;
    path.parent().map_or(Ok(()), |folder| files.sync(folder))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
