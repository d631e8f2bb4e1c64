//! The change of a snapshot, line by line, with what is around.

use maud::{Markup, html};
use similar::{ChangeTag, TextDiff};

use crate::harness::report::record::Diff;

/// Lines around a change.
const AROUND: usize = 3;
/// Lines that are shown.
const MOST: usize = 160;

/// The change; a snapshot that is new is all of it.
pub fn difference(diff: &Diff) -> Markup {
    let old = diff.old.as_deref().unwrap_or_default().trim_end();
    let texts = TextDiff::from_lines(old, diff.new.trim_end());
    let groups = texts.grouped_ops(AROUND);
    let lines: Vec<(ChangeTag, String)> = groups
        .iter()
        .enumerate()
        .flat_map(|(i, group)| {
            let gap = (i > 0).then(|| (ChangeTag::Equal, "⋮".to_owned()));
            let changes = group.iter().flat_map(|op| texts.iter_changes(op));
            gap.into_iter()
                .chain(changes.map(|c| (c.tag(), c.value().trim_end_matches('\n').to_owned())))
        })
        .collect();
    html! {
        figure {
            figcaption { code { (diff.path) } @if diff.old.is_none() { ", new" } }
            pre class="diff" tabindex="0" {
                @for (tag, line) in lines.iter().take(MOST) {
                    @match tag {
                        ChangeTag::Delete => del { "-" (line) "\n" },
                        ChangeTag::Insert => ins { "+" (line) "\n" },
                        ChangeTag::Equal => span { " " (line) "\n" },
                    }
                }
                @if lines.len() > MOST { span { "… " (lines.len() - MOST) " more lines" } }
            }
        }
    }
}
