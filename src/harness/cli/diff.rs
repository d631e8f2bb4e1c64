//! The command `diff`: what changed between two snapshots, two folders of them, or two revisions in git.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::groups::{groups, heading, shown, text};
use crate::harness::snapshot::{Pending, files, read_text, text_of};
use crate::harness::trials::Suite;

/// Texts of snapshots by path.
type Texts = BTreeMap<PathBuf, String>;

/// Prints what changed from `a` to `b`; 0 where nothing did, 1 where something did.
///
/// # Errors
/// A side that is neither a path nor a revision, or that cannot be read.
pub(super) fn diff(suite: &Suite, a: &str, b: &str) -> Result<u8, String> {
    let (old, new) = (side(suite, a)?, side(suite, b)?);
    // Two files are compared whatever they are called.
    let one = |side: &Texts, text: &str| Path::new(text).is_file() && side.len() == 1;
    let (old, new) = match one(&old, a) && one(&new, b) {
        true => (renamed(old, Path::new(b)), renamed(new, Path::new(b))),
        false => (old, new),
    };
    let gone: Vec<&PathBuf> = old.keys().filter(|path| !new.contains_key(*path)).collect();
    let changed = new.iter().filter_map(|(path, new)| {
        let old = old.get(path).cloned();
        let pending = Pending { path: path.clone(), old, new: new.clone() };
        (pending.old.as_ref() != Some(new)).then_some(pending)
    });
    let (groups, _) = groups(changed.collect());
    if groups.is_empty() && gone.is_empty() {
        anstream::println!("nothing changed");
        return Ok(0);
    }
    if !groups.is_empty() {
        anstream::println!("{}\n", heading(&groups));
    }
    for (i, group) in groups.iter().enumerate() {
        anstream::println!("{}", text(i + 1, group));
    }
    for path in gone {
        anstream::println!("gone: {}", shown(path));
    }
    Ok(super::FAILED)
}

fn renamed(side: Texts, to: &Path) -> Texts {
    side.into_values().map(|text| (to.to_owned(), text)).collect()
}

/// The snapshots of one side: of a file, below a folder, or of a revision.
fn side(suite: &Suite, text: &str) -> Result<Texts, String> {
    let path = Path::new(text);
    if path.is_dir() {
        let all =
            files(path).into_iter().filter(|file| file.extension().is_some_and(|e| e == "snap"));
        let one = |file: PathBuf| {
            let inner = file.strip_prefix(path).unwrap_or(&file).to_owned();
            Ok((inner, read(&file)?))
        };
        return all.map(one).collect();
    }
    if path.is_file() {
        return Ok(Texts::from([(path.to_owned(), read(path)?)]));
    }
    revision(suite, text)
}

fn read(path: &Path) -> Result<String, String> {
    let text = read_text(path).map_err(|error| format!("{}: {error}", shown(path)))?;
    text.ok_or_else(|| format!("{}: it is gone", shown(path)))
}

/// The snapshots as they are in a revision of the repository that the package lies in.
fn revision(suite: &Suite, revision: &str) -> Result<Texts, String> {
    let folder = suite.snapshots().ok_or("these cases have no folder, and so no snapshots")?;
    let neither = |why: &str| {
        format!(
            "`{revision}` is no file or folder here, and git knows no revision of that name: {why}"
        )
    };
    // What looks like an option is none.
    let commit = git(&[
        "rev-parse",
        "--verify",
        "--quiet",
        "--end-of-options",
        &format!("{revision}^{{commit}}"),
    ])
    .map_err(|error| neither(&error))?;
    let commit = commit.trim();
    let folder = shown(&folder);
    let names = git(&["ls-tree", "-r", "-z", "--name-only", commit, "--", &folder])?;
    let names: BTreeSet<&str> = names.split('\0').filter(|name| name.ends_with(".snap")).collect();
    let one = |name: &str| {
        let stored = git(&["show", &format!("{commit}:./{name}")])?;
        let text = text_of(&stored).map_err(|error| format!("{revision}:{name}: {error}"))?;
        Ok((PathBuf::from(name), text))
    };
    names.into_iter().map(one).collect()
}

fn git(words: &[&str]) -> Result<String, String> {
    let output = Command::new("git").args(words).output();
    let output = output.map_err(|error| format!("git cannot be run: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(said.lines().next().unwrap_or("it is not there").to_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
