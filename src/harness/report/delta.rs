//! What changed from one snapshot to another, in words that are the same for every case that changed so.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::harness::snapshot::{PLAIN, Section, Snapshot, parse, render};

/// One change of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Delta {
    /// There was no snapshot.
    First,
    /// A step, loop or parameter that is not what it was.
    Became {
        /// Its name.
        name: String,
        /// What the snapshot said of it.
        from: String,
        /// What it says of it.
        to: String,
    },
    /// A line that was not there.
    Added(String),
    /// A line that is gone.
    Removed(String),
    /// Other sizes at the reference point, and no other law.
    Sizes,
}

impl fmt::Display for Delta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::First => f.write_str("the first snapshot of its case"),
            Self::Became { name, from, to } => write!(f, "{name} {from} became {to}"),
            Self::Added(line) => write!(f, "{line} is new"),
            Self::Removed(line) => write!(f, "{line} is gone"),
            Self::Sizes => f.write_str("other sizes at the reference point, the same law"),
        }
    }
}

/// What changed, each once however many variants have it; nothing where the texts say the same.
pub fn deltas(old: Option<&str>, new: Option<&str>) -> BTreeSet<Delta> {
    let (old, new) = match (old, new) {
        (None, None) => return BTreeSet::new(),
        (None, Some(_)) => return BTreeSet::from([Delta::First]),
        (Some(old), None) => return BTreeSet::from([Delta::Removed(first_line(old))]),
        (Some(old), Some(new)) => (old.trim_end(), new.trim_end()),
    };
    match (parse(&format!("{old}\n")), parse(&format!("{new}\n"))) {
        (Ok(a), Ok(b)) => of_laws(&a, &b),
        // The text of a failure, which zoo cases lock, is lines and nothing else.
        _ => between(&lines(old), &lines(new)),
    }
    .into_iter()
    .chain((old != new).then_some(Delta::Sizes))
    .fold(BTreeSet::new(), keep)
}

/// Sizes are told where nothing else is.
fn keep(mut all: BTreeSet<Delta>, one: Delta) -> BTreeSet<Delta> {
    if one != Delta::Sizes || all.is_empty() {
        all.insert(one);
    }
    all
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

fn of_laws(old: &Snapshot, new: &Snapshot) -> Vec<Delta> {
    let by_variant = |snapshot: &Snapshot| -> BTreeMap<String, Vec<String>> {
        let one = |section: &Section| (section.variant.clone(), law(section));
        snapshot.sections.iter().map(one).collect()
    };
    let (old, new) = (by_variant(old), by_variant(new));
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let variant = |name: &str| match name {
        PLAIN => "the case without a variant".to_owned(),
        name => format!("the variant {name}"),
    };
    let one = |name: &String| match (old.get(name), new.get(name)) {
        (Some(a), Some(b)) => between(a, b),
        (None, _) => vec![Delta::Added(variant(name))],
        (_, None) => vec![Delta::Removed(variant(name))],
    };
    names.into_iter().flat_map(one).collect()
}

/// The lines of a section without what is only true at its reference point.
fn law(section: &Section) -> Vec<String> {
    let text = render(&Snapshot { sections: vec![section.clone()] });
    let without_sizes = |line: String| match line.split_once(" [") {
        Some((before, after)) => {
            format!("{before}{}", after.split_once(']').map_or("", |(_, rest)| rest))
        }
        None => line,
    };
    lines(&text).into_iter().skip(1).map(without_sizes).collect()
}

/// What changed between two lists of lines; a line that was replaced by one of the same name became it.
fn between(old: &[String], new: &[String]) -> Vec<Delta> {
    let mut found = Vec::new();
    for op in capture_diff_slices(Algorithm::Patience, old, new) {
        if matches!(op, DiffOp::Equal { .. }) {
            continue;
        }
        let gone = &old[op.old_range()];
        let mut come: Vec<&String> = new[op.new_range()].iter().collect();
        for line in gone {
            let same = come.iter().position(|other| name(other) == name(line));
            found.push(match same.map(|at| come.remove(at)) {
                Some(other) => Delta::Became {
                    name: name(line).to_owned(),
                    from: line[name(line).len()..].trim().to_owned(),
                    to: other[name(other).len()..].trim().to_owned(),
                },
                None => Delta::Removed(line.clone()),
            });
        }
        found.extend(come.into_iter().cloned().map(Delta::Added));
    }
    found
}

/// The name at the start of a line of a snapshot.
fn name(line: &str) -> &str {
    let ends = [" (", " ×", " zero"].into_iter().filter_map(|mark| line.find(mark));
    &line[..ends.min().unwrap_or(line.len())]
}
