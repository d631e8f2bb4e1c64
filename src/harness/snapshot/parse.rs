//! From text to snapshot.

use crate::dims::{Axes, Condition, Dims};
use crate::harness::case::visible;
use crate::harness::law::{Item, Law, LawStep, Loop};

use super::{PLAIN, Section, Snapshot, names, render};

/// How deep loops may nest, so that no text exhausts the stack.
const MAX_DEPTH: usize = 64;

/// Why a text is no snapshot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ParseError {
    /// The line, from 1; one past the last where the text ends too early.
    pub line: usize,
    /// What was expected and what stands there.
    pub message: String,
}

/// Reads a snapshot. Only what [`render`](super::render()) writes is one; the last line feed may be missing.
///
/// # Errors
/// Any other text, with the first line that does not fit.
pub fn parse(text: &str) -> Result<Snapshot, ParseError> {
    let lines: Vec<&str> = text.strip_suffix('\n').unwrap_or(text).split('\n').collect();
    foreign(&lines)?;
    let mut reader = Reader { lines: &lines, next: 0 };
    let mut snapshot = Snapshot::default();
    loop {
        let start = reader.next;
        let section = reader.section()?;
        if snapshot.section(&section.variant).is_some() {
            let message = format!("variant `{}` has a section already", section.variant);
            return Err(ParseError { line: start + 1, message });
        }
        snapshot.sections.push(section);
        if reader.peek().is_none() {
            break;
        }
        reader.expect("")?;
    }
    as_rendered(&snapshot, &lines)?;
    Ok(snapshot)
}

/// Refuses what is clearly no snapshot of this form, by its name.
fn foreign(lines: &[&str]) -> Result<(), ParseError> {
    let error = |line: usize, message: String| Err(ParseError { line: line + 1, message });
    let first = lines.first().copied().unwrap_or_default();
    let form = first.strip_prefix("shapelock ").filter(|form| !form.starts_with(['a', '/']));
    if let Some(form) = form {
        return error(
            0,
            format!(
                "written in form `{form}`, which this version of shapelock does not read; update it"
            ),
        );
    }
    for (i, line) in lines.iter().enumerate() {
        if line.ends_with('\r') {
            return error(i, "ends in CR LF, expected LF alone".into());
        }
        let markers = ["<<<<<<<", "|||||||", "=======", ">>>>>>>"];
        if markers.iter().any(|marker| line.starts_with(marker)) {
            return error(i, format!("merge conflict marker `{line}`; resolve the conflict first"));
        }
    }
    Ok(())
}

/// Spacing, numbers and order have one form each: a text that reads well but is not it was written by something else.
fn as_rendered(snapshot: &Snapshot, lines: &[&str]) -> Result<(), ParseError> {
    let text = render(snapshot);
    let expected = text.strip_suffix('\n').unwrap_or(&text).split('\n');
    for (i, (expected, line)) in expected.zip(lines).enumerate() {
        if expected != *line {
            return Err(ParseError {
                line: i + 1,
                message: format!("expected `{}`, got `{}`", quoted(expected), quoted(line)),
            });
        }
    }
    Ok(())
}

struct Reader<'a> {
    lines: &'a [&'a str],
    next: usize,
}

impl<'a> Reader<'a> {
    fn section(&mut self) -> Result<Section, ParseError> {
        let (subject, variant, reference, dtype) = self.line(heading)?;
        self.expect("")?;
        self.expect("forward")?;
        let forward = self.items(0)?;
        self.expect("")?;
        self.expect("gradient")?;
        let (mut parameters, mut zero) = (Vec::new(), Vec::new());
        while self.peek().is_some_and(|line| !line.is_empty()) {
            let (name, axes, condition) = self.line(parameter)?;
            zero.extend(condition.map(|condition| (name.clone(), condition)));
            parameters.extend(axes.map(|axes| (name, axes)));
        }
        Ok(Section { subject, variant, reference, dtype, law: Law { forward, parameters }, zero })
    }

    /// The steps and loops at one depth of indentation.
    fn items(&mut self, depth: usize) -> Result<Vec<Item>, ParseError> {
        let mut items = Vec::new();
        while let Some(line) = self.peek() {
            let own = line.len() - line.trim_start_matches(' ').len();
            if line.is_empty() || own < 2 * depth {
                break;
            }
            if own != 2 * depth || depth == MAX_DEPTH {
                return Err(self.wrong(&format!(
                    "a step indented by {} spaces",
                    2 * depth.min(MAX_DEPTH - 1)
                )));
            }
            let mut item = self.line(|line| item(line.trim_start_matches(' ')))?;
            if let Item::Loop(repeated) = &mut item {
                repeated.body = self.items(depth + 1)?;
            }
            items.push(item);
        }
        Ok(items)
    }

    fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.next).copied()
    }

    /// Reads one line; the error of `read` is what it expected.
    fn line<T>(&mut self, read: impl Fn(&'a str) -> Result<T, String>) -> Result<T, ParseError> {
        let value =
            read(self.peek().unwrap_or_default()).map_err(|expected| self.wrong(&expected))?;
        self.next += 1;
        Ok(value)
    }

    fn expect(&mut self, expected: &str) -> Result<(), ParseError> {
        let text =
            if expected.is_empty() { "an empty line".into() } else { format!("`{expected}`") };
        self.line(|line| if line == expected { Ok(()) } else { Err(text.clone()) })?;
        if self.next > self.lines.len() {
            self.next = self.lines.len();
            return Err(self.wrong(&text));
        }
        Ok(())
    }

    fn wrong(&self, expected: &str) -> ParseError {
        let got = match self.peek() {
            None => "the end of the file; it may have been cut short".to_owned(),
            Some("") => "an empty line".to_owned(),
            Some(line) => format!("`{}`", quoted(line)),
        };
        ParseError { line: self.next + 1, message: format!("expected {expected}, got {got}") }
    }
}

/// A line as it can be shown: a control character is written as Rust writes it, and the end of a long one left out.
fn quoted(line: &str) -> String {
    const SHOWN: usize = 100;
    let mut shown = visible(&line.chars().take(SHOWN).collect::<String>());
    if line.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

/// `dense_ssm / VARIANT at b=8 l=60 f32`
fn heading(line: &str) -> Result<(String, String, Dims, String), String> {
    let form = |_| "the head of a section, as in `dense_ssm at b=8 l=60 f32`".to_owned();
    let (subject, mut rest) = names::read(line).map_err(form)?;
    let mut variant = PLAIN.to_owned();
    if let Some(after) = rest.strip_prefix(" / ") {
        (variant, rest) = names::read(after)?;
    }
    let mut rest = rest
        .strip_prefix(" at ")
        .ok_or("` at ` and the reference point")
        .map_err(|e| form(e.to_owned()))?;
    let mut reference = Dims::new();
    loop {
        let (name, after) =
            names::read(rest).map_err(|_| "the number format at the line's end, as in `f32`")?;
        let Some(value) = after.strip_prefix('=') else {
            return if after.is_empty() {
                Ok((subject, variant, reference, name))
            } else {
                Err(format!("`{name}=…` or the line's end after `{name}`"))
            };
        };
        let (value, after) =
            value.split_once(' ').ok_or("the number format at the line's end, as in `f32`")?;
        let value = value.parse().map_err(|_| format!("a number after `{name}=`"))?;
        reference = reference.with(name, value);
        rest = after;
    }
}

/// A step or the head of a loop, without indentation.
fn item(line: &str) -> Result<Item, String> {
    let unmarked = line.strip_prefix("· ");
    let (name, rest) = names::read(unmarked.unwrap_or(line))?;
    if let (Some(count), None) = (rest.strip_prefix(" ×"), unmarked) {
        let count = count.parse().map_err(|error| format!("a count after `×` ({error})"))?;
        return Ok(Item::Loop(Loop { name, count, body: Vec::new() }));
    }
    let (axes, rest) = shape(rest)?;
    let mixing = match rest {
        "" => false,
        " mixes axes" => true,
        _ => return Err("the line's end or ` mixes axes` after the extents".into()),
    };
    Ok(Item::Step(LawStep { name, named: unmarked.is_none(), axes, mixing, computes: vec![] }))
}

/// `A (n, n) [16, 16] zero where l = 1`; a pattern that is no parameter's name has the condition alone.
fn parameter(line: &str) -> Result<(String, Option<Axes>, Option<Condition>), String> {
    let (name, rest) = names::read(line)?;
    if let Some(text) = rest.strip_prefix(" zero where ") {
        return Ok((name, None, Some(condition(text)?)));
    }
    let (axes, rest) = shape(rest)?;
    if rest.is_empty() {
        return Ok((name, Some(axes), None));
    }
    let form = "the line's end or ` zero where …` after the extents";
    let text = rest.strip_prefix(" zero where ").ok_or(form)?;
    Ok((name, Some(axes), Some(condition(text)?)))
}

fn condition(text: &str) -> Result<Condition, String> {
    let read = text.replace(" = ", " == ").parse();
    read.map_err(|error| format!("a condition after `zero where` ({error})"))
}

/// ` (b, l, n) [8, 60, 16]`; the extents follow from the axes and are compared at the end.
fn shape(text: &str) -> Result<(Axes, &str), String> {
    let form = "axes and extents after the name, as in `states (b, l, n) [8, 60, 16]`";
    let (axes, rest) = text.strip_prefix(' ').and_then(|text| text.split_once(" [")).ok_or(form)?;
    let (_, rest) = rest.split_once(']').ok_or("`]` after the extents")?;
    let axes = axes.parse().map_err(|error| format!("axes, as in `(b, l, n)` ({error})"))?;
    Ok((axes, rest))
}
