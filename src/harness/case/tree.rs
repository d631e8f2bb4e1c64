//! YAML as a tree in which every key and value knows where it stands.
//!
//! The tree is narrower than YAML on purpose. A case reads from top to bottom, so there are no anchors, aliases, merge
//! keys, tags or further documents; a key stands once and is text.
use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput};
use serde_json::Value;

use super::error::Position;
use super::reader::MAX_FAULTS;

/// Levels of lists and mappings. The deepest field of a case has four; a config may have more.
const MAX_DEPTH: usize = 32;

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) at: Position,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// Text that was quoted, or anything else on one line.
    Scalar {
        text: String,
        quoted: bool,
    },
    List(Vec<Node>),
    Mapping(Vec<Entry>),
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) at: Position,
    pub(super) value: Node,
}

/// A fault with its place, before it is known which file it is in.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    pub(super) at: Position,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

/// Reads `text`. Faults that leave a tree behind are pushed to `problems`.
///
/// # Errors
/// The first fault after which nothing more can be read.
pub(super) fn parse(text: &str, problems: &mut Vec<Problem>) -> Result<Node, Problem> {
    let mut builder = Builder { events: Parser::new_from_str(text), problems };
    loop {
        match builder.next()? {
            (Event::StreamStart | Event::DocumentStart(_) | Event::Nothing, _) => {}
            (Event::StreamEnd | Event::DocumentEnd, _) => {
                return Err(problem(Position::START, "the file is empty", None));
            }
            root => {
                let root = builder.node(root, 0)?;
                builder.end()?;
                return Ok(root);
            }
        }
    }
}

struct Builder<'a> {
    events: Parser<'a, StrInput<'a>>,
    problems: &'a mut Vec<Problem>,
}

impl<'a> Builder<'a> {
    fn node(&mut self, (event, span): (Event<'a>, Span), depth: usize) -> Result<Node, Problem> {
        let at = position(span);
        if depth > MAX_DEPTH {
            return Err(problem(at, format!("more than {MAX_DEPTH} levels"), None));
        }
        let (kind, anchor, tag) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let quoted = style != ScalarStyle::Plain;
                (Kind::Scalar { text: text.into_owned(), quoted }, anchor, tag)
            }
            Event::SequenceStart(anchor, tag) => (self.list(depth)?, anchor, tag),
            Event::MappingStart(anchor, tag) => (self.mapping(depth)?, anchor, tag),
            Event::Alias(_) => return Err(problem(at, "an alias (`*name`)", Some(WRITE_OUT))),
            _ => return Err(problem(at, "expected a value", None)),
        };
        if anchor != 0 {
            self.fault(problem(at, "an anchor (`&name`)", Some(WRITE_OUT)));
        }
        if let Some(tag) = tag {
            let help = "a case needs no tags; quote what is meant as text";
            self.fault(problem(at, format!("a tag (`{tag}`)"), Some(help)));
        }
        Ok(Node { at, kind })
    }

    fn list(&mut self, depth: usize) -> Result<Kind, Problem> {
        let mut items = vec![];
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(Kind::List(items)),
                event => items.push(self.node(event, depth + 1)?),
            }
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<Kind, Problem> {
        let mut entries: Vec<Entry> = vec![];
        let mut lines: HashMap<String, usize> = HashMap::new();
        loop {
            let key = match self.next()? {
                (Event::MappingEnd, _) => return Ok(Kind::Mapping(entries)),
                event => self.node(event, depth + 1)?,
            };
            let value = self.next()?;
            let mut value = self.node(value, depth + 1)?;
            let Kind::Scalar { text: name, quoted } = key.kind else {
                self.fault(problem(key.at, "a key that is no text", None));
                continue;
            };
            if matches!(&value.kind, Kind::Scalar { text, quoted: false } if text.is_empty()) {
                // Nothing was written, so there is no better place than the key.
                value.at = key.at;
            }
            if name == "<<" && !quoted {
                self.fault(problem(key.at, "a merge key (`<<`)", Some(WRITE_OUT)));
            } else if let Some(line) = lines.get(&name) {
                let message = format!("key `{name}` stands here again");
                let help = format!("it stands in line {line} already: keep one");
                self.fault(problem(key.at, message, Some(&help)));
            } else {
                lines.insert(name.clone(), key.at.line);
                entries.push(Entry { key: name, at: key.at, value });
            }
        }
    }

    /// Steps over the end of the document; nothing may follow.
    fn end(&mut self) -> Result<(), Problem> {
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => return Ok(()),
                (Event::DocumentEnd | Event::Nothing, _) => {}
                (_, span) => {
                    let help = "one file is one case: move the rest to a file of its own";
                    return Err(problem(position(span), "a second document", Some(help)));
                }
            }
        }
    }

    fn fault(&mut self, problem: Problem) {
        if self.problems.len() < MAX_FAULTS {
            self.problems.push(problem);
        }
    }

    fn next(&mut self) -> Result<(Event<'a>, Span), Problem> {
        match self.events.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(not_yaml(&error)),
            None => Err(problem(Position::START, "the file ends too early", None)),
        }
    }
}

const WRITE_OUT: &str = "write the values out: a case reads from top to bottom without jumps in it";

impl Node {
    pub(super) fn get(&self, key: &str) -> Option<&Entry> {
        match &self.kind {
            Kind::Mapping(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// The place that `path` leads to: the key in a mapping, the item in a list (counted from 0). Where the path leaves
    /// the tree, the last place on it.
    pub(super) fn locate(&self, path: &[&str]) -> Position {
        let (mut node, mut at) = (self, self.at);
        for step in path {
            let next = match &node.kind {
                Kind::Mapping(_) => node.get(step).map(|entry| (&entry.value, entry.at)),
                Kind::List(items) => {
                    let item = step.parse().ok().and_then(|index: usize| items.get(index));
                    item.map(|item| (item, item.at))
                }
                Kind::Scalar { .. } => None,
            };
            let Some(found) = next else { break };
            (node, at) = found;
        }
        at
    }

    /// The value as JSON.
    ///
    /// # Errors
    /// A number that JSON does not have.
    pub(super) fn json(&self) -> Result<Value, Problem> {
        match &self.kind {
            Kind::Scalar { text, quoted: true } => Ok(Value::String(text.clone())),
            Kind::Scalar { text, quoted: false } => plain(text).map_err(|message| {
                problem(self.at, message, Some("quote it if it is meant as text"))
            }),
            Kind::List(items) => items.iter().map(Node::json).collect(),
            Kind::Mapping(entries) => {
                let pairs =
                    entries.iter().map(|entry| Ok((entry.key.clone(), entry.value.json()?)));
                pairs.collect::<Result<_, _>>().map(Value::Object)
            }
        }
    }
}

/// What unquoted text means: a number, a truth value, nothing, or text.
pub(super) fn plain(text: &str) -> Result<Value, String> {
    // One word cannot hold any further YAML, so the library decides what it is.
    match serde_yaml::from_str(text) {
        Ok(serde_yaml::Value::Null) => Ok(Value::Null),
        Ok(serde_yaml::Value::Bool(value)) => Ok(Value::Bool(value)),
        Ok(serde_yaml::Value::Number(number)) => {
            let value = match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(value), ..) => Some(Value::from(value)),
                (_, Some(value), _) => Some(Value::from(value)),
                (.., Some(value)) if value.is_finite() => Some(Value::from(value)),
                _ => None,
            };
            value.ok_or_else(|| format!("`{text}` is no finite number"))
        }
        _ => Ok(Value::String(text.to_owned())),
    }
}

fn position(span: Span) -> Position {
    Position { line: span.start.line(), column: span.start.col() + 1 }
}

fn not_yaml(error: &ScanError) -> Problem {
    let marker = error.marker();
    let at = Position { line: marker.line().max(1), column: marker.col() + 1 };
    problem(at, format!("not YAML: {}", error.info()), None)
}

pub(super) fn problem(at: Position, message: impl Into<String>, help: Option<&str>) -> Problem {
    Problem { at, message: message.into(), help: help.map(str::to_owned) }
}
