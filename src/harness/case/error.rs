//! What is wrong with a case, and where.
use std::fmt;
use std::path::PathBuf;

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
}

impl Position {
    /// The first character of a file.
    pub const START: Self = Self { line: 1, column: 1 };
}

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where it starts.
    pub at: Position,
}

/// One fault of a case file or of a folder of cases.
///
/// Shown as `file:line:column: message`, the line of the file with a caret, and what to do about it:
///
/// ```text
/// cases/dense_ssm/bug_report.yaml:7:18: size 8 stands twice in `batch`
///       batch: [8, 1, 8]
///                     ^
/// help: each value once: the points of a case are distinct
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseError {
    /// The file or folder.
    pub file: PathBuf,
    /// Where in the file; nothing if the fault is that of a whole file or folder.
    pub at: Option<Position>,
    /// The line there, as text.
    pub excerpt: Option<String>,
    /// What was expected and what was found.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl CaseError {
    /// A fault of a whole file or folder.
    pub(crate) fn whole(file: impl Into<PathBuf>, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { file: file.into(), at: None, excerpt: None, message, help: None }
    }

    /// The same fault with what to do about it.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl std::error::Error for CaseError {}

impl fmt::Display for CaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Slashes on every system, so that the text is the same everywhere.
        write!(f, "{}", visible(&self.file.to_string_lossy().replace('\\', "/")))?;
        if let Some(Position { line, column }) = self.at {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.message)?;
        if let (Some(at), Some(excerpt)) = (self.at, &self.excerpt) {
            let (shown, caret) = window(excerpt, at.column);
            write!(f, "\n    {shown}\n    {:caret$}^", "")?;
        }
        match &self.help {
            Some(help) => write!(f, "\nhelp: {help}"),
            None => Ok(()),
        }
    }
}

/// The text on one line: a control character is written as Rust writes it.
pub(crate) fn visible(text: &str) -> String {
    let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.into() };
    text.chars().map(shown).collect()
}

/// Characters of a line that are shown.
const WIDTH: usize = 100;

/// The part of a line around `column`, and how far from its start the caret stands.
fn window(line: &str, column: usize) -> (String, usize) {
    let before = column.saturating_sub(1);
    let skipped = (before + WIDTH / 2).saturating_sub(WIDTH).min(before);
    let shown = line.chars().skip(skipped).take(WIDTH);
    let shown: String = shown.map(|c| if c.is_control() { ' ' } else { c }).collect();
    (shown.trim_end().to_owned(), before - skipped)
}

/// All faults that were found in one go, at least one, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseErrors(Vec<CaseError>);

impl CaseErrors {
    /// The faults, sorted by place; nothing if there are none.
    pub(crate) fn collect(mut errors: Vec<CaseError>) -> Option<Self> {
        errors.sort_by(|a, b| (&a.file, a.at).cmp(&(&b.file, b.at)));
        errors.dedup();
        (!errors.is_empty()).then_some(Self(errors))
    }

    /// The faults one by one.
    pub fn iter(&self) -> impl Iterator<Item = &CaseError> {
        self.0.iter()
    }
}

impl From<CaseError> for CaseErrors {
    fn from(error: CaseError) -> Self {
        Self(vec![error])
    }
}

impl std::error::Error for CaseErrors {}

impl fmt::Display for CaseErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.iter().enumerate() {
            let gap = if index == 0 { "" } else { "\n\n" };
            write!(f, "{gap}{error}")?;
        }
        Ok(())
    }
}
