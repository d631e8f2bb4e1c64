//! Takes values out of the tree and keeps every fault with its place.
use std::collections::HashMap;
use std::hash::Hash;

use serde_json::Value;

use super::error::{CaseError, Position, Spanned};
use super::path::is_name;
use super::source::Source;
use super::tree::{Entry, Kind, Node, Problem};
use crate::dims::ParseError;

/// Faults of one file that are kept: more would tell nobody more.
pub(super) const MAX_FAULTS: usize = 50;

pub(super) struct Reader<'a> {
    pub(super) source: &'a Source,
    pub(super) errors: Vec<CaseError>,
}

impl<'a> Reader<'a> {
    pub(super) fn fault(&mut self, at: Position, message: impl Into<String>, help: &str) {
        let help = (!help.is_empty()).then(|| help.to_owned());
        self.problem(Problem { at, message: message.into(), help });
    }

    /// The entries of a mapping that may have the keys `known` and no others.
    pub(super) fn fields(&mut self, node: &'a Node, what: &str, known: &[&str]) -> &'a [Entry] {
        let entries = self.entries(node, what);
        for entry in entries {
            if self.errors.len() >= MAX_FAULTS {
                break;
            }
            if !known.contains(&entry.key.as_str()) {
                let message = format!("unknown key `{}` in {what}", entry.key);
                self.fault(entry.at, message, &suggest(&entry.key, known.iter().copied()));
            }
        }
        entries
    }

    /// The entries of a mapping with at least one.
    pub(super) fn some_entries(&mut self, node: &'a Node, what: &str) -> &'a [Entry] {
        if matches!(&node.kind, Kind::Mapping(entries) if entries.is_empty()) {
            self.fault(node.at, format!("{what} is empty"), "leave the key out");
        }
        self.entries(node, what)
    }

    /// The entries of a mapping.
    pub(super) fn entries(&mut self, node: &'a Node, what: &str) -> &'a [Entry] {
        match &node.kind {
            Kind::Mapping(entries) => entries,
            _ => {
                self.unexpected::<()>(node, what, "a mapping");
                &[]
            }
        }
    }

    /// The items of a list with at least one.
    pub(super) fn items(&mut self, node: &'a Node, what: &str) -> &'a [Node] {
        match &node.kind {
            Kind::List(items) if items.is_empty() => {
                self.fault(node.at, format!("{what} is an empty list"), "leave the key out");
                &[]
            }
            Kind::List(items) => items,
            Kind::Scalar { text, .. } if !text.is_empty() => {
                let help = format!("one value is a list too: `[{text}]`");
                self.fault(node.at, format!("{what} should be a list, found `{text}`"), &help);
                &[]
            }
            _ => {
                self.unexpected::<()>(node, what, "a list");
                &[]
            }
        }
    }

    /// Text that is not empty.
    pub(super) fn text(&mut self, node: &Node, what: &str) -> Option<Spanned<String>> {
        match node.json() {
            Ok(Value::String(value)) if !value.trim().is_empty() => {
                Some(Spanned { value, at: node.at })
            }
            _ => self.unexpected(node, what, "text"),
        }
    }

    /// A word that can be part of a test's name.
    pub(super) fn name(&mut self, node: &Node, what: &str) -> Option<Spanned<String>> {
        let text = self.text(node, what)?;
        self.named(&text.value, text.at, what).then_some(text)
    }

    pub(super) fn named(&mut self, text: &str, at: Position, what: &str) -> bool {
        if !is_name(text) {
            let message = format!("{what} `{text}` is no name");
            self.fault(at, message, "use letters, digits, `_` and `-`");
        }
        is_name(text)
    }

    /// A whole number that is not negative.
    pub(super) fn whole(&mut self, node: &Node, what: &str) -> Option<u64> {
        match node.json().ok().and_then(|value| value.as_u64()) {
            None => self.unexpected(node, what, "a whole number, 0 or more"),
            value => value,
        }
    }

    /// One of a few words.
    pub(super) fn word<T: Copy>(
        &mut self,
        node: &Node,
        what: &str,
        words: &[(&str, T)],
    ) -> Option<T> {
        let text = self.text(node, what)?.value;
        let found = words.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let help = suggest(&text, words.iter().map(|(word, _)| *word));
            self.fault(node.at, format!("{what} cannot be `{text}`"), &help);
        }
        found.map(|(_, value)| *value)
    }

    /// Text in the notation of dims.
    pub(super) fn parsed<T>(
        &mut self,
        node: &Node,
        what: &str,
        parse: impl Fn(&str) -> Result<T, ParseError>,
    ) -> Option<T> {
        // A contract of one axis, `1`, is a number to YAML.
        let text = match &node.kind {
            Kind::Scalar { text, quoted: false } if text.parse::<u64>().is_ok() => text.clone(),
            _ => self.text(node, what)?.value,
        };
        if let Some(whole) = self.cut_at_comma(node) {
            let message =
                format!("{what}: inside `{{…}}` and `[…]`, YAML ends `{text}` at its comma");
            self.fault(node.at, message, &format!("quote it: `\"{whole}\"`"));
            return None;
        }
        match parse(&text) {
            Ok(value) => Some(value),
            Err(error) => {
                let at = self.source.inside(node.at, &text, error.column);
                self.fault(at, format!("{what}: {}", error.message), "");
                None
            }
        }
    }

    /// The whole of what was written where YAML cuts a text at the comma of `min(l, 4)`: inside `{…}` and `[…]`.
    pub(super) fn cut_at_comma(&self, node: &Node) -> Option<String> {
        match &node.kind {
            Kind::Scalar { text, quoted: false } => self.source.cut_at_comma(node.at, text),
            _ => None,
        }
    }

    /// Says where a value stands a second time, and keeps the first of each.
    pub(super) fn distinct<T: Eq + Hash + Clone>(
        &mut self,
        values: Vec<Spanned<T>>,
        message: impl Fn(&T) -> String,
    ) -> Vec<Spanned<T>> {
        let mut first: HashMap<T, Position> = HashMap::new();
        let mut kept = vec![];
        for value in values {
            if first.contains_key(&value.value) {
                self.fault(value.at, message(&value.value), "write each value once");
            } else {
                first.insert(value.value.clone(), value.at);
                kept.push(value);
            }
        }
        kept
    }

    /// Says what was expected instead of `node`.
    pub(super) fn unexpected<T>(&mut self, node: &Node, what: &str, expected: &str) -> Option<T> {
        let found = match (&node.kind, node.json()) {
            (_, Err(problem)) => {
                self.problem(problem);
                return None;
            }
            (Kind::List(_), _) => "a list".to_owned(),
            (Kind::Mapping(_), _) => "a mapping".to_owned(),
            (_, Ok(Value::Null)) => "nothing".to_owned(),
            (_, Ok(Value::String(text))) if text.is_empty() => "empty text".to_owned(),
            (Kind::Scalar { quoted: false, .. }, Ok(Value::String(text)))
                if text.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                format!("{text}, which is beyond 64 bits")
            }
            (_, Ok(Value::String(text))) => format!("the text `{text}`"),
            (_, Ok(value)) => format!("{value}"),
        };
        let quote = expected == "text"
            && matches!(&node.kind, Kind::Scalar { text, .. } if !text.is_empty());
        let help = if quote { "quote it if it is meant as text" } else { "" };
        self.fault(node.at, format!("{what} should be {expected}, found {found}"), help);
        None
    }

    pub(super) fn problem(&mut self, problem: Problem) {
        if self.errors.len() < MAX_FAULTS {
            self.errors.push(self.source.place(problem));
        }
    }
}

/// `did you mean …` where one of the known words is near, then all of them.
pub(crate) fn suggest<'k>(word: &str, known: impl Iterator<Item = &'k str> + Clone) -> String {
    let all = known.clone().collect::<Vec<_>>().join(", ");
    match nearest(word, known) {
        Some(one) => format!("did you mean `{one}`? known: {all}"),
        None => format!("known: {all}"),
    }
}

/// The known word that may have been meant.
pub(crate) fn nearest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let near = known.map(|one| (strsim::normalized_damerau_levenshtein(word, one), one));
    let near = near.filter(|(score, _)| *score >= 0.5).max_by(|a, b| a.0.total_cmp(&b.0));
    near.map(|(_, one)| one)
}
