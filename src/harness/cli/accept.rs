//! The command `accept`: takes over the pending snapshots that another machine left, as a runner with a GPU does.
//!
//! What comes from elsewhere is not trusted: it goes nowhere but to the snapshot of a case that is here, and it has to be a
//! snapshot of that case's subject.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::groups::{groups, heading, shown, text};
use super::review::each;
use crate::harness::case::CasePath;
use crate::harness::outcome::counted;
use crate::harness::snapshot::{Disk, Pending, files, parse, replace, snapshot_of};
use crate::harness::trials::Suite;

/// Larger than any snapshot is.
const MAX_BYTES: u64 = 16 << 20;

/// Lays what the folder holds beside the snapshots of this package and, unless it is only to be `pending`, accepts it.
///
/// # Errors
/// Where the folder holds nothing that is pending, or anything that is refused; nothing is written then.
pub(super) fn accept(suite: &Suite, artifact: &Path, only_pending: bool) -> Result<u8, String> {
    let found: Vec<PathBuf> =
        files(artifact).into_iter().filter(|file| snapshot_of(file).is_some()).collect();
    if found.is_empty() {
        let help = "an artifact is a folder; unpack it first";
        return Err(format!("{}: no *.snap.new is below it; {help}", shown(artifact)));
    }
    let checked: Vec<Result<Pending, String>> =
        found.iter().map(|file| checked(suite, artifact, file)).collect();
    let refused: Vec<String> =
        checked.iter().filter_map(|one| one.as_ref().err().cloned()).collect();
    if !refused.is_empty() {
        return Err(format!("nothing was taken over\n{}", refused.join("\n")));
    }
    let taken: Vec<Pending> = checked.into_iter().flatten().collect();
    for (pending, file) in taken.iter().zip(&found) {
        let bytes = fs::read(file).map_err(|error| format!("{}: {error}", shown(file)))?;
        if let Some(folder) = pending.path.parent() {
            fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", shown(folder)))?;
        }
        replace(&Disk, &pending.file(), &bytes)
            .map_err(|error| format!("{}: {error}", shown(&pending.file())))?;
    }
    let (groups, same) = groups(taken);
    each(&same, |file| file.reject(&Disk))?;
    if groups.is_empty() {
        anstream::println!("{} the same as here: nothing to accept", counted(same.len(), "file"));
        return Ok(0);
    }
    anstream::println!("{}\n", heading(&groups));
    for (i, group) in groups.iter().enumerate() {
        anstream::println!("{}", text(i + 1, group));
    }
    let all: Vec<Pending> = groups.into_iter().flat_map(|group| group.files).collect();
    let count = counted(all.len(), "file");
    if only_pending {
        anstream::println!("{count} pending: see the command review");
        return Ok(super::FAILED);
    }
    each(&all, |file| file.accept(&Disk))?;
    anstream::println!("accepted: {count}");
    Ok(0)
}

/// The pending snapshot in a file of the artifact, if a case of this package is waiting for it.
fn checked(suite: &Suite, artifact: &Path, file: &Path) -> Result<Pending, String> {
    let refused = |why: String| format!("{}: {why}", shown(file));
    let inner = file.strip_prefix(artifact).unwrap_or(file);
    let size = fs::symlink_metadata(file).map_err(|error| refused(error.to_string()))?.len();
    if size > MAX_BYTES {
        return Err(refused(format!("{size} bytes; a snapshot has {MAX_BYTES} at most")));
    }
    let case = case_of(inner).ok_or_else(|| refused("its path names no case".into()))?;
    let name = case.to_string();
    let listed =
        suite.case(&case).ok_or_else(|| refused(format!("no case is called `{name}` here")))?;
    let path = suite.snapshot(&case).ok_or_else(|| refused("these cases have no folder".into()))?;
    let pending = Pending::read(file, &path).map_err(|error| error.to_string())?;
    // What a case of the zoo locks is the text of its failure.
    if listed.fault.is_none() {
        let law = parse(&format!("{}\n", pending.new.trim_end()))
            .map_err(|error| refused(format!("line {}: {}", error.line, error.message)))?;
        if let Some(other) = law.sections.iter().find(|section| section.subject != listed.subject) {
            let of = &other.subject;
            return Err(refused(format!(
                "it is of `{of}`, and `{name}` tests `{}`",
                listed.subject
            )));
        }
    }
    Ok(pending)
}

/// The case that a path in an artifact is of: what follows its last folder `snapshots`, or all of it.
fn case_of(inner: &Path) -> Option<CasePath> {
    let parts: Option<Vec<&str>> = inner
        .components()
        .map(|part| match part {
            Component::Normal(part) => part.to_str(),
            _ => None,
        })
        .collect();
    let parts = parts?;
    let from = parts.iter().rposition(|part| *part == "snapshots").map_or(0, |at| at + 1);
    let name = parts[from..].join("::");
    CasePath::new(name.strip_suffix(".snap.new")?).ok()
}
