//! Colours, which anstream leaves out where nobody can see them or `NO_COLOR` is set.

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

fn painted(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}
