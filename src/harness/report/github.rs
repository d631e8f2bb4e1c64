//! Annotations: lines on stdout that GitHub puts beside the line of a case.

use super::record::{Record, Run};

/// One line for each trial that failed. A path in it starts at the repository's root, above the package's `folder`.
pub fn text(run: &Run, folder: &str) -> String {
    run.failed().map(|trial| annotation(trial, folder)).collect()
}

fn annotation(trial: &Record, folder: &str) -> String {
    let file = match folder {
        "" => trial.file.clone(),
        folder => format!("{folder}/{}", trial.file),
    };
    format!(
        "::error file={},line={},title={}::{}\n",
        property(&file),
        trial.line.max(1),
        property(&format!("{}: {}", trial.name, trial.headline())),
        message(&trial.brief()),
    )
}

/// A line feed or a percent sign would end the command or be read as an escape.
fn message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// In a property a colon or a comma would end it too.
fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}
