//! The section of one case.

use maud::{Markup, html};

use super::difference::difference;
use super::picture::{Beside, picture};
use crate::harness::report::flow::Flow;
use crate::harness::report::record::{Record, State};

/// Lines of a failure that are shown.
const LINES: usize = 160;

/// The section: open where something failed. Where `whole` is not set, pictures and texts are left out.
pub fn section(at: usize, case: &str, trials: &[&Record], whole: bool) -> Markup {
    let failed: Vec<&&Record> =
        trials.iter().filter(|trial| trial.state == State::Failed).collect();
    let bad = !failed.is_empty();
    let line = trials.first().map(|trial| (&trial.file, trial.line));
    html! {
        details class="case" id=(format!("c{at}")) data-bad[bad] open[bad && whole] {
            summary {
                h3 { span class=(if bad { "sign bad" } else { "sign ok" }) { (if bad { "✗" } else { "✓" }) } span { (case) } }
                span class="says" { (says(trials, &failed)) }
            }
            @if whole {
                div class="body" {
                    @let flows = flows(trials, bad);
                    @if !flows.is_empty() { div class="flows" { @for flow in flows { (drawn(flow, trials)) } } }
                    div class="texts" {
                        @if let Some((file, line)) = line { p class="file" { code { (file) ":" (line) } } }
                        @for trial in &failed { (failure(trial)) }
                        (beside(trials))
                    }
                }
            } @else {
                p class="left-out" {
                    "Left out, to keep the page small: " code { "shapelock check " (case) " --report html=case.html" } " shows it."
                }
            }
        }
    }
}

/// `1 of 6 failed: states (b, l, n) became (b·l, 1, n)`
fn says(trials: &[&Record], failed: &[&&Record]) -> String {
    let skipped = trials.iter().filter(|trial| matches!(trial.state, State::Skipped(_))).count();
    match failed {
        [] if skipped == trials.len() => "skipped".into(),
        [] => format!("{} passed", trials.len() - skipped),
        failed => {
            let change = failed.iter().find_map(|trial| trial.shown.changes.first());
            let what = change.map(|change| format!(": {change}")).unwrap_or_default();
            format!("{} of {} failed{what}", failed.len(), trials.len() - skipped)
        }
    }
}

/// The passes of the first trial that has any: of those that failed, where one did.
fn flows<'a>(trials: &[&'a Record], bad: bool) -> &'a [Flow] {
    let with = |trial: &&&'a Record| !trial.shown.flows.is_empty();
    let failed = trials.iter().filter(|trial| bad && trial.state == State::Failed).find(with);
    failed.or_else(|| trials.iter().find(with)).map_or(&[], |trial| &trial.shown.flows)
}

fn drawn(flow: &Flow, trials: &[&Record]) -> Markup {
    let of = |variant: &String| *variant == flow.variant;
    let shown = trials.iter().map(|trial| &trial.shown);
    let stops: Vec<_> =
        shown.clone().flat_map(|s| &s.stops).filter(|stop| of(&stop.variant)).collect();
    let marks = shown.flat_map(|s| &s.marks).filter(|mark| of(&mark.variant)).collect();
    let gradients =
        trials.iter().any(|trial| trial.check == "gradients" && trial.state == State::Passed);
    let beside = Beside { marks, stops: stops.clone(), gradients };
    html! {
        figure class="picture" {
            figcaption {
                @if !flow.variant.is_empty() { strong { (flow.variant) } " " }
                span { "at " code { (flow.at) } }
                @if !stops.is_empty() {
                    ul class="stops" {
                        @for stop in &stops {
                            li { "gradient of " code { (stop.parameters.join(", ")) } ": " (stop.text) (place(&stop.without, &stop.with)) }
                        }
                    }
                }
            }
            (picture(flow, &beside))
            @if !flow.parameters.is_empty() {
                details class="parameters" {
                    summary { "Parameters: " (flow.parameters.len()) }
                    ul { @for (name, axes) in &flow.parameters { li { code { (name) } " " (axes) } } }
                }
            }
        }
    }
}

/// Where a gradient stops.
fn place(without: &Option<String>, with: &Option<String>) -> Markup {
    match (without, with) {
        (Some(before), Some(after)) => {
            html! { "; it stops between " code { (after) } " and " code { (before) } }
        }
        (Some(before), None) => html! { "; it stops after " code { (before) } },
        (None, Some(after)) => html! { "; it stops before " code { (after) } },
        (None, None) => html! {},
    }
}

fn failure(trial: &Record) -> Markup {
    let text = without_change(&trial.shown.text);
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let more = lines.len().saturating_sub(LINES);
    html! {
        section class="failure" {
            h4 { (trial.check) (device(trial)) }
            pre tabindex="0" {
                (lines.iter().take(LINES).copied().collect::<Vec<_>>().join("\n"))
                @if more > 0 { "\n… " (more) " more lines" }
            }
            @if let Some(diff) = &trial.shown.diff { (difference(diff)) }
        }
    }
}

/// A failure without the lines of the snapshot that changed, which are shown by themselves.
fn without_change(text: &str) -> String {
    let Some((before, rest)) = text.split_once("\n\n--- ") else { return text.to_owned() };
    let after = rest.split_once("\n\n").map_or("", |(_, after)| after);
    format!("{before}\n\n{after}")
}

/// What else there is to tell: skips with their reasons, notes.
fn beside(trials: &[&Record]) -> Markup {
    let notes = trials.iter().flat_map(|trial| &trial.shown.notes);
    html! {
        ul class="checks" {
            @for trial in trials {
                @match &trial.state {
                    State::Failed => {},
                    State::Passed => li {
                        span class="sign ok" { "✓" } (trial.check) (device(trial))
                        span class="points" { (points(trial.points)) }
                    },
                    State::Skipped(reason) => li {
                        span class="sign skip" { "–" } (trial.check) (device(trial))
                        span class="points" { "skipped: " (reason) }
                    },
                }
            }
        }
        @for note in notes { p class="note" { (note) } }
    }
}

fn device(trial: &Record) -> Markup {
    html! { @if trial.device != "cpu" { " on " (trial.device) } }
}

fn points(count: usize) -> String {
    if count == 1 { "1 point".into() } else { format!("{count} points") }
}
