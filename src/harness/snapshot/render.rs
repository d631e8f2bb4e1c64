//! From snapshot to text.

use std::fmt::Write;

use crate::dims::{Axes, Condition, Dims, Expr};
use crate::harness::law::{Item, LawStep};

use super::names::quoted;
use super::{PLAIN, Section, Snapshot};

/// The text of a snapshot; each line ends in a line feed.
pub fn render(snapshot: &Snapshot) -> String {
    snapshot.sections.iter().map(section).collect::<Vec<_>>().join("\n")
}

/// The lines of a law's steps as the snapshot has them, for a part of one in a report.
pub fn render_items(items: &[Item], reference: &Dims) -> String {
    let mut text = String::new();
    push_items(&mut text, items, reference, 0);
    text
}

fn section(section: &Section) -> String {
    let mut text = heading(section);
    text.push_str("\n\nforward\n");
    push_items(&mut text, &section.law.forward, &section.reference, 0);
    text.push_str("\ngradient\n");
    for (name, axes) in &section.law.parameters {
        let _ = write!(text, "{} {}", quoted(name), shape(axes, &section.reference));
        if let Some((_, condition)) = section.zero.iter().find(|(zero, _)| zero == name) {
            text.push_str(&zero_where(condition));
        }
        text.push('\n');
    }
    let parameter = |name: &String| section.law.parameters.iter().any(|(known, _)| known == name);
    for (pattern, condition) in section.zero.iter().filter(|(pattern, _)| !parameter(pattern)) {
        let _ = writeln!(text, "{}{}", quoted(pattern), zero_where(condition));
    }
    text
}

/// A snapshot states facts; `=` reads better there than the `==` of a condition.
fn zero_where(condition: &Condition) -> String {
    format!(" zero where {}", condition.to_string().replace("==", "="))
}

fn heading(section: &Section) -> String {
    let mut text = quoted(&section.subject);
    if section.variant != PLAIN {
        let _ = write!(text, " / {}", quoted(&section.variant));
    }
    text.push_str(" at");
    for (symbol, value) in section.reference.iter() {
        let _ = write!(text, " {}={value}", quoted(symbol));
    }
    let _ = write!(text, " {}", quoted(&section.dtype));
    text
}

fn push_items(text: &mut String, items: &[Item], reference: &Dims, depth: usize) {
    for item in items {
        let _ = write!(text, "{:1$}", "", 2 * depth);
        match item {
            Item::Step(step) => {
                text.push_str(&line(step, reference));
                text.push('\n');
            }
            Item::Loop(repeated) => {
                let _ = writeln!(text, "{} ×{}", quoted(&repeated.name), count(&repeated.count));
                push_items(text, &repeated.body, reference, depth + 1);
            }
        }
    }
}

fn line(step: &LawStep, reference: &Dims) -> String {
    let mark = if step.named { "" } else { "· " };
    let mixes = if step.mixing { " mixes axes" } else { "" };
    format!("{mark}{} {}{mixes}", quoted(&step.name), shape(&step.axes, reference))
}

/// `(b, l, n) [8, 60, 16]`, with `?` for an axis that has no extent at the reference point.
fn shape(axes: &Axes, reference: &Dims) -> String {
    let extent = |axis: &Expr| match axis.eval(reference) {
        Ok(value @ 0..) => value.to_string(),
        _ => "?".to_owned(),
    };
    let extents: Vec<String> = axes.0.iter().map(extent).collect();
    format!("{axes} [{}]", extents.join(", "))
}

/// A count, in parentheses where it is a sum, so that `×` is not read as part of its first term.
fn count(count: &Expr) -> String {
    let text = count.to_string();
    let mut depth = 0usize;
    let is_sum = text.starts_with('-')
        || text.chars().any(|c| {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            c == ' ' && depth == 0
        });
    if is_sum { format!("({text})") } else { text }
}
