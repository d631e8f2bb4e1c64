//! How output looks: colours, and how wide it may be.
//!
//! anstream leaves colours out where stdout is no terminal, where `NO_COLOR` is set or `CLICOLOR` is 0, and keeps them for
//! `CLICOLOR_FORCE`.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};

/// Something that is right.
pub(super) fn good(text: impl Display) -> String {
    painted(AnsiColor::Green.on_default(), text)
}

/// Something that is wrong.
pub(super) fn bad(text: impl Display) -> String {
    painted(AnsiColor::Red.on_default().bold(), text)
}

/// Something that was left out.
pub(super) fn left_out(text: impl Display) -> String {
    painted(AnsiColor::Yellow.on_default(), text)
}

/// Something beside the point.
pub(super) fn faint(text: impl Display) -> String {
    painted(Style::new().dimmed(), text)
}

/// How many letters a line may have: `COLUMNS`, or what the terminal has; a file or a pipe takes any.
pub(super) fn width() -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || terminal_size::terminal_size_of(std::io::stdout());
    asked.or_else(|| Some(terminal()?.0.0.into())).unwrap_or(usize::MAX)
}

fn painted(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}
