//! The forms of a report of a whole run.

use super::record::Run;
use super::{github, junit, markdown, page};

/// What a report of a run looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For a pull request or a job's summary.
    Markdown,
    /// For machines that read JUnit.
    Junit,
    /// One page for a browser.
    Html,
    /// Annotations on the lines of cases, as GitHub reads them from stdout.
    Github,
}

impl Format {
    /// All, with their names.
    pub const ALL: [(&str, Self); 4] = [
        ("markdown", Self::Markdown),
        ("junit", Self::Junit),
        ("html", Self::Html),
        ("github", Self::Github),
    ];

    /// The report. `folder` is the package's below the repository, for annotations, which need paths from there.
    pub fn text(self, run: &Run, folder: &str) -> String {
        match self {
            Self::Markdown => markdown::text(run),
            Self::Junit => junit::text(run),
            Self::Html => page::text(run),
            Self::Github => github::text(run, folder),
        }
    }
}
