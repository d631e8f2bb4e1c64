//! What a case promises of steps and gradients before any snapshot exists.
use std::fmt;

use super::error::Position;
use super::reader::Reader;
use super::tree::{Entry, Node};
use crate::dims::{Axes, Condition};

/// A dotted name of a step or parameter in which `*` stands for one segment: `layers.*.mixer.x`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern(Vec<String>);

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// A segment that is empty, has white space in it, or has `*` beside other characters.
    pub fn new(text: &str) -> Result<Self, PatternError> {
        let segments: Vec<String> = text.split('.').map(str::to_owned).collect();
        for segment in &segments {
            if segment.is_empty() {
                return Err(PatternError::Empty);
            }
            if segment.contains('*') && segment != "*" {
                return Err(PatternError::Star(segment.clone()));
            }
            if segment.contains(|c: char| c.is_whitespace() || c.is_control()) {
                return Err(PatternError::Space(segment.clone()));
            }
        }
        Ok(Self(segments))
    }

    /// Whether `name` has as many segments and each is the one here, or `*` is.
    pub fn matches(&self, name: &str) -> bool {
        let mut segments = name.split('.');
        let all = self
            .0
            .iter()
            .all(|own| segments.next().is_some_and(|segment| own == "*" || own == segment));
        all && segments.next().is_none()
    }
}

/// A text that is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// Nothing between two dots, or no text at all.
    #[error("has an empty segment")]
    Empty,
    /// `*` beside other characters.
    #[error("has `*` inside the segment `{0}`")]
    Star(String),
    /// White space or a control character.
    #[error("has white space in the segment `{0}`")]
    Space(String),
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

/// The axes that every step of a name has.
#[derive(Clone, Debug)]
pub struct Contract {
    /// Which steps.
    pub pattern: Pattern,
    /// Their axes.
    pub axes: Axes,
    /// Where the contract stands.
    pub at: Position,
}

/// Parameters whose gradient is exactly zero where a condition holds, and not zero somewhere else.
#[derive(Clone, Debug)]
pub struct ZeroGradient {
    /// Which parameters.
    pub pattern: Pattern,
    /// Where their gradient is zero.
    pub when: Condition,
    /// Where the entry stands.
    pub at: Position,
}

/// Reads `shapes`.
pub(super) fn shapes<'a>(reader: &mut Reader<'a>, node: &'a Node) -> Vec<Contract> {
    let mut contracts = vec![];
    let entries = reader.some_entries(node, "`shapes`");
    for entry in whole(reader, entries) {
        let pattern = pattern(reader, &entry.key, entry.at);
        let what = format!("shape of `{}`", entry.key);
        let axes = reader.parsed(&entry.value, &what, Axes::parse_contract);
        if let (Some(pattern), Some(axes)) = (pattern, axes) {
            contracts.push(Contract { pattern, axes, at: entry.at });
        }
    }
    contracts
}

/// Reads `zero_gradient`.
pub(super) fn zero_gradient<'a>(reader: &mut Reader<'a>, node: &'a Node) -> Vec<ZeroGradient> {
    let mut zeros = vec![];
    let entries = reader.some_entries(node, "`zero_gradient`");
    for entry in whole(reader, entries) {
        let pattern = pattern(reader, &entry.key, entry.at);
        let what = format!("condition of `{}`", entry.key);
        let when = reader.parsed(&entry.value, &what, str::parse);
        if let (Some(pattern), Some(when)) = (pattern, when) {
            zeros.push(ZeroGradient { pattern, when, at: entry.at });
        }
    }
    zeros
}

/// Reads a list of patterns.
pub(super) fn patterns<'a>(reader: &mut Reader<'a>, node: &'a Node, what: &str) -> Vec<Pattern> {
    let mut patterns = vec![];
    for item in reader.items(node, what) {
        let text = reader.text(item, what);
        patterns.extend(text.and_then(|text| pattern(reader, &text.value, text.at)));
    }
    patterns
}

/// The entries without the second halves of those that YAML cut at a comma, `4)` of `min(l, 4)`: the first half is told.
fn whole<'a>(reader: &Reader<'_>, entries: &'a [Entry]) -> Vec<&'a Entry> {
    let mut cut = false;
    let is_whole = |entry: &&Entry| {
        let is_rest = cut && entry.key.contains(')');
        cut = reader.cut_at_comma(&entry.value).is_some();
        !is_rest
    };
    entries.iter().filter(is_whole).collect()
}

fn pattern(reader: &mut Reader<'_>, text: &str, at: Position) -> Option<Pattern> {
    match Pattern::new(text) {
        Ok(pattern) => Some(pattern),
        Err(error) => {
            let help = "segments with dots between them; `*` is one whole segment";
            reader.fault(at, format!("pattern `{text}` {error}"), help);
            None
        }
    }
}
