//! Cases × checks × devices as a table.

use maud::{Markup, html};

use crate::harness::report::record::{Record, Run, State};

/// The table; a case's name leads to its section.
pub fn matrix(run: &Run) -> Markup {
    let columns = columns(run);
    html! {
        div class="table" role="region" aria-labelledby="matrix" tabindex="0" {
            table class="matrix" {
                thead { tr {
                    th scope="col" { "Case" }
                    @for (check, device) in &columns {
                        th scope="col" { (heading(check)) @if *device != "cpu" { " " (device) } }
                    }
                } }
                tbody {
                    @for (at, (case, trials)) in run.cases().into_iter().enumerate() {
                        @let bad = trials.iter().any(|trial| trial.state == State::Failed);
                        tr data-bad[bad] {
                            th scope="row" { a href=(format!("#c{at}")) { (case) } }
                            @for column in &columns { (cell(trials.iter().find(|trial| key(trial) == *column))) }
                        }
                    }
                }
            }
        }
    }
}

/// A case that cannot be read has one trial, which is of no check.
fn heading(check: &str) -> &str {
    if check == "case" { "case file" } else { check }
}

/// A check on a device each, in the order of the run, the CPU's first.
fn columns(run: &Run) -> Vec<(&str, &str)> {
    let mut columns: Vec<(&str, &str)> = Vec::new();
    for trial in &run.trials {
        if !columns.contains(&key(trial)) {
            columns.push(key(trial));
        }
    }
    columns.sort_by_key(|(_, device)| *device != "cpu");
    columns
}

fn key(trial: &Record) -> (&str, &str) {
    (&trial.check, &trial.device)
}

fn cell(trial: Option<&&Record>) -> Markup {
    match trial.map(|trial| &trial.state) {
        None => html! { td {} },
        Some(State::Passed) => html! { td class="ok" title="passed" { "✓" } },
        Some(State::Failed) => html! { td class="bad" title="failed" { "✗" } },
        Some(State::Skipped(reason)) => {
            html! { td class="skip" title=(format!("skipped: {reason}")) { "–" } }
        }
    }
}
