//! The text of one case, and the way from a path in it to a line.
use std::path::{Path, PathBuf};

use super::error::{CaseError, Position};
use super::tree::{self, Node, Problem};

/// Bytes that a case file may have.
pub(super) const MAX_BYTES: u64 = 1 << 20;

/// Characters of one quotation in a message.
const MAX_QUOTE: usize = 80;

/// Characters of a message: it may quote text of any length from the file.
const MAX_MESSAGE: usize = 500;

/// The text of a case with its tree, kept so that faults found later still point at their line.
#[derive(Clone, Debug)]
pub struct Source {
    pub(super) file: PathBuf,
    text: String,
    pub(super) root: Node,
}

impl Source {
    /// Reads `bytes` as the YAML of `file`. Faults that leave a tree behind are pushed to `errors`.
    pub(super) fn parse(
        file: &Path,
        bytes: &[u8],
        errors: &mut Vec<CaseError>,
    ) -> Result<Self, CaseError> {
        if bytes.len() as u64 > MAX_BYTES {
            return Err(too_large(file));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| not_utf8(file, bytes, &error))?;
        // A mark of the byte order is no part of the first key.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut problems = vec![];
        let root = tree::parse(text, &mut problems);
        let error = |problem: Problem| place(file, text, problem);
        errors.extend(problems.into_iter().map(error));
        let root = root.map_err(error)?;
        Ok(Self { file: file.to_owned(), text: text.to_owned(), root })
    }

    /// The place that a path of keys and list indices leads to, such as `["matrix", "batch", "1"]`. Where the path
    /// leaves the file, the last place on it.
    pub fn locate(&self, path: &[&str]) -> Position {
        self.root.locate(path)
    }

    /// Whether a path of keys leads to something that was written.
    pub fn has(&self, path: &[&str]) -> bool {
        let mut node = Some(&self.root);
        for key in path {
            node = node.and_then(|node| node.get(key)).map(|entry| &entry.value);
        }
        node.is_some()
    }

    /// A fault at a place.
    pub fn error(&self, at: Position, message: impl Into<String>) -> CaseError {
        place(&self.file, &self.text, tree::problem(at, message, None))
    }

    pub(super) fn place(&self, problem: Problem) -> CaseError {
        place(&self.file, &self.text, problem)
    }

    /// Where the character `column` (from 1) of a scalar's text stands, if the text was written as it is.
    pub(super) fn inside(&self, at: Position, text: &str, column: usize) -> Position {
        let line = line(&self.text, at.line).unwrap_or_default();
        let rest: String = line.chars().skip(at.column.saturating_sub(1)).collect();
        let quote = usize::from(rest.starts_with(['"', '\'']));
        let written: String = rest.chars().skip(quote).collect();
        if !written.starts_with(text) {
            return at;
        }
        Position { line: at.line, column: at.column + quote + column.saturating_sub(1) }
    }

    /// All of what stands at a place whose scalar YAML ended at a comma between parentheses.
    pub(super) fn cut_at_comma(&self, at: Position, text: &str) -> Option<String> {
        let line = line(&self.text, at.line)?;
        let written: String = line.chars().skip(at.column.saturating_sub(1)).collect();
        let is_cut = written.strip_prefix(text)?.trim_start().starts_with(',');
        if !is_cut || text.matches('(').count() <= text.matches(')').count() {
            return None;
        }
        let mut depth = 0i32;
        let end = written.find(|c: char| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 0 && matches!(c, ',' | ']' | '}')
        });
        Some(written[..end.unwrap_or(written.len())].trim_end().to_owned())
    }
}

pub(super) fn too_large(file: &Path) -> CaseError {
    CaseError::whole(file, format!("more than {} KiB", MAX_BYTES >> 10))
        .with_help("a case is a page of text: split it")
}

fn not_utf8(file: &Path, bytes: &[u8], error: &std::str::Utf8Error) -> CaseError {
    let (good, _) = bytes.split_at(error.valid_up_to().min(bytes.len()));
    let good = String::from_utf8_lossy(good);
    let last = good.rsplit('\n').next().unwrap_or_default();
    let at = Position { line: good.matches('\n').count() + 1, column: last.chars().count() + 1 };
    place(file, &good, tree::problem(at, "not UTF-8", Some("save the file as UTF-8")))
}

fn place(file: &Path, text: &str, problem: Problem) -> CaseError {
    let Problem { at, message, help } = problem;
    let excerpt = line(text, at.line).map(str::to_owned);
    let (message, help) = (short_quotes(&message), help.map(|help| short_quotes(&help)));
    let message = match message.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}…", message.get(..end).unwrap_or_default()),
        None => message,
    };
    CaseError { file: file.to_owned(), at: Some(at), excerpt, message, help }
}

/// The text with what stands between two backticks cut to its beginning.
fn short_quotes(text: &str) -> String {
    let short = |(i, part): (usize, &str)| match part.char_indices().nth(MAX_QUOTE) {
        Some((end, _)) if i % 2 == 1 => format!("{}…", part.get(..end).unwrap_or_default()),
        _ => part.to_owned(),
    };
    text.split('`').enumerate().map(short).collect::<Vec<_>>().join("`")
}

fn line(text: &str, line: usize) -> Option<&str> {
    text.lines().nth(line.checked_sub(1)?)
}
