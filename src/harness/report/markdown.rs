//! Markdown: what a pull request or a job's summary shows.

use super::record::{Record, Run, State};

/// Failures that are shown whole; GitHub refuses a summary of more than a megabyte, and a comment of more than 65536
/// characters.
const MOST: usize = 12;
/// Lines of one failure that are shown.
const LINES: usize = 80;

/// The whole text.
pub fn text(run: &Run) -> String {
    let counts = run.counts();
    let state = if counts.failed == 0 { "passed" } else { "failed" };
    let mut text = format!("### shapelock {state}\n\n{}\n", counts.text());
    text.push_str(&common(run));
    let failed: Vec<&Record> = run.failed().collect();
    if !failed.is_empty() {
        text.push_str("\n| check | what fails | line |\n|---|---|---|\n");
        failed.iter().for_each(|trial| text.push_str(&row(trial)));
    }
    failed.iter().take(MOST).for_each(|trial| text.push_str(&details(trial)));
    if let Some(others @ 1..) = failed.len().checked_sub(MOST) {
        text.push_str(&format!("\nand {others} more, which the table names\n"));
    }
    text.push_str(&beside(run));
    text
}

fn common(run: &Run) -> String {
    let common = run.common();
    let line = |(change, cases): &(&str, usize)| format!("- {cases} cases: {}\n", code(change));
    match common.is_empty() {
        true => String::new(),
        false => format!("\n{}", common.iter().map(line).collect::<String>()),
    }
}

fn row(trial: &Record) -> String {
    let Record { name, file, line, .. } = trial;
    let change = match trial.shown.changes.first() {
        Some(change) => format!("{}<br>{}", plain(trial.headline()), code(change)),
        None => plain(trial.headline()),
    };
    format!("| {} | {change} | {} |\n", code(name), code(&format!("{file}:{line}")))
}

/// A failure that is folded until somebody opens it.
fn details(trial: &Record) -> String {
    let lines: Vec<&str> = trial.shown.text.trim_end().lines().collect();
    let mut body = lines.iter().take(LINES).map(|line| format!("{line}\n")).collect::<String>();
    if let Some(others @ 1..) = lines.len().checked_sub(LINES) {
        body.push_str(&format!("… {others} more lines\n"));
    }
    let fence = "`".repeat(longest_run(&body).max(2) + 1);
    let name = escaped(&trial.name);
    format!(
        "\n<details><summary><code>{name}</code></summary>\n\n{fence}text\n{body}{fence}\n\n</details>\n"
    )
}

/// Why some did not run, and what those that passed leave to be told.
fn beside(run: &Run) -> String {
    let skipped = run.skipped().into_iter();
    let skipped = skipped.map(|(reason, count)| format!("- {count} skipped: {}\n", plain(reason)));
    let passed = run.trials.iter().filter(|trial| trial.state == State::Passed);
    let notes =
        passed.flat_map(|trial| &trial.shown.notes).map(|note| format!("- {}\n", plain(note)));
    let lines: String = skipped.chain(notes).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

/// A text in a line of prose: nothing in it is markup, and it ends no cell.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for c in escaped(text).chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '@' => plain.extend(['\\', c]),
            '\n' | '\r' => plain.push(' '),
            c => plain.push(c),
        }
    }
    plain
}

/// A text as code within a line; a bar would end the cell of a table also there.
fn code(text: &str) -> String {
    format!("<code>{}</code>", escaped(text).replace('|', "&#124;").replace(['\n', '\r'], " "))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The most backticks in a row.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}
