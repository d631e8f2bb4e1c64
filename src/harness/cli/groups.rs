//! Pending snapshots grouped by what changed, so that one change in thirty cases is looked at once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use similar::{ChangeTag, TextDiff};

use super::style::{bad, faint, good};
use crate::harness::outcome::counted;
use crate::harness::report::{Delta, deltas};
use crate::harness::snapshot::Pending;

/// Pending snapshots that changed in the same way. A file is accepted whole, so all of its changes are in its group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    /// What changed.
    pub(super) deltas: BTreeSet<Delta>,
    /// The files, at least one.
    pub(super) files: Vec<Pending>,
}

/// The groups, the largest first, and what is pending but says the same as its snapshot.
pub(super) fn groups(all: Vec<Pending>) -> (Vec<Group>, Vec<Pending>) {
    let mut groups: BTreeMap<BTreeSet<Delta>, Vec<Pending>> = BTreeMap::new();
    let mut same = Vec::new();
    for pending in all {
        let deltas = deltas(pending.old.as_deref(), Some(&pending.new));
        match deltas.is_empty() {
            true => same.push(pending),
            false => groups.entry(deltas).or_default().push(pending),
        }
    }
    let mut groups: Vec<Group> =
        groups.into_iter().map(|(deltas, files)| Group { deltas, files }).collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.files.len()));
    (groups, same)
}

/// `30 files, 2 changes`.
pub(super) fn heading(groups: &[Group]) -> String {
    let files = groups.iter().map(|group| group.files.len()).sum();
    let changes: BTreeSet<&Delta> = groups.iter().flat_map(|group| &group.deltas).collect();
    format!("{}, {}", counted(files, "file"), counted(changes.len(), "change"))
}

/// As many as can be read at a glance.
const FEW: usize = 6;
/// Lines of a file's change that are shown.
const LINES: usize = 40;

/// What changed, in which files, and the lines of the first of them.
pub(super) fn text(number: usize, group: &Group) -> String {
    let mut text = format!("{number}  {}\n", counted(group.files.len(), "file"));
    for delta in group.deltas.iter().take(LINES) {
        text.push_str(&format!("   {delta}\n"));
    }
    if let Some(more @ 1..) = group.deltas.len().checked_sub(LINES) {
        text.push_str(&format!("   … {more} more\n"));
    }
    let Some(first) = group.files.first() else { return text };
    for line in lines(first.old.as_deref().unwrap_or_default(), &first.new) {
        text.push_str(&format!("     {line}\n"));
    }
    for file in group.files.iter().take(FEW) {
        text.push_str(&format!("   {}\n", faint(shown(&file.path))));
    }
    if let Some(more @ 1..) = group.files.len().checked_sub(FEW) {
        text.push_str(&format!("   {}\n", faint(format!("… {more} more"))));
    }
    text
}

/// The lines that differ.
fn lines(old: &str, new: &str) -> Vec<String> {
    let diff = TextDiff::from_lines(old.trim_end(), new.trim_end());
    let changed = diff.iter_all_changes().filter_map(|change| {
        let line = format!("{}{}", change.tag(), change.value().trim_end_matches('\n'));
        match change.tag() {
            ChangeTag::Equal => None,
            ChangeTag::Delete => Some(bad(line)),
            ChangeTag::Insert => Some(good(line)),
        }
    });
    let all: Vec<String> = changed.collect();
    let more = all.len().checked_sub(LINES).filter(|more| *more > 0);
    let more = more.map(|more| faint(format!("… {more} more changed lines")));
    all.into_iter().take(LINES).chain(more).collect()
}

/// A path with slashes on every system.
pub(super) fn shown(path: &Path) -> String {
    path.display().to_string().replace('\\', "/")
}
