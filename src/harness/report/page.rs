//! One page for a browser, in one file: it asks the network for nothing and works without its script.
//!
//! Every text goes through maud, which escapes it: the name of a tap may be hostile. The page stays within a few
//! megabytes: what failed is shown first, and when the room is spent sections are shortened to their first line.

mod case;
mod difference;
mod matrix;
mod picture;
mod rail;
mod tree;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::record::{Record, Run, State};
use case::section;
use matrix::matrix;

/// Bytes that the sections of cases may take together.
const ROOM: usize = 2 << 20;
const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/script.js");
/// The page may run its own style and script, and load nothing at all.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// The whole page.
pub fn text(run: &Run) -> String {
    let counts = run.counts();
    let bad = counts.failed > 0;
    let verdict = match (counts.passed, counts.failed) {
        (0, 0) => "nothing ran".to_owned(),
        (_, 0) => "all checks pass".to_owned(),
        (_, 1) => "1 check fails".to_owned(),
        (_, failed) => format!("{failed} checks fail"),
    };
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                link rel="icon" href="data:,";
                title { "shapelock: " (verdict) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a class="skip-link" href="#main" { "Skip to the results" }
                (arrows())
                header {
                    div {
                        p class="name" { "shapelock" }
                        h1 class=(if bad { "bad" } else { "ok" }) { (if bad { "✗ " } else { "✓ " }) (verdict) }
                        p { (counts.text()) }
                    }
                    button type="button" id="theme" hidden { "Dark" }
                }
                main id="main" tabindex="-1" { (overview(run, bad)) (cases(run)) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
    .into_string()
}

/// What failed, what failures have in common, why some did not run; and the matrix.
fn overview(run: &Run, bad: bool) -> Markup {
    let (common, skipped) = (run.common(), run.skipped());
    html! {
        @if !common.is_empty() {
            section {
                h2 { "What cases have in common" }
                ul { @for (change, cases) in common { li { strong { (cases) " cases" } ": " code { (change) } } } }
            }
        }
        section {
            h2 id="matrix" { "Cases and checks" }
            form class="filter" hidden {
                label { "Filter " input id="words" type="search" autocomplete="off" placeholder="part of a name"; }
                @if bad { label { input id="only" type="checkbox"; " Only what failed" } }
                output id="found" aria-live="polite" {}
            }
            (matrix(run))
            p class="legend" { span { "✓ passed" } span { "✗ failed" } span { "– skipped" } span { "blank: not asked for" } }
            @if !skipped.is_empty() {
                ul class="skipped" { @for (reason, count) in skipped { li { (count) " skipped: " (reason) } } }
            }
        }
    }
}

/// The sections: first all that failed, then the others; both in the order of the run.
fn cases(run: &Run) -> Markup {
    let failed = |trials: &[&Record]| trials.iter().any(|trial| trial.state == State::Failed);
    let mut cases: Vec<_> = run.cases().into_iter().enumerate().collect();
    cases.sort_by_key(|(_, (_, trials))| !failed(trials));
    let mut room = ROOM;
    let mut sections = Vec::with_capacity(cases.len());
    for (at, (case, trials)) in &cases {
        let whole = section(*at, case, trials, true);
        let fits = whole.0.len() <= room;
        room = room.saturating_sub(if fits { whole.0.len() } else { 0 });
        sections.push(if fits { whole } else { section(*at, case, trials, false) });
    }
    html! {
        section {
            h2 { "Case by case" }
            p class="legend" {
                "Boxes are the steps of a forward pass in the order in which they ran, and arrows carry the shapes. \
                 The line on the right of a picture is the gradient on its way back."
            }
            p class="tools" hidden {
                button type="button" id="open" { "Open all" } " " button type="button" id="close" { "Close all" }
            }
            @for section in sections { (section) }
        }
    }
}

/// The heads of arrows, which every picture refers to.
fn arrows() -> Markup {
    html! {
        svg width="0" height="0" class="defs" aria-hidden="true" {
            defs {
                marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto" {
                    path class="head" d="M0 0.5L8 4L0 7.5z" {}
                }
                marker id="up" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" markerHeight="5" orient="auto" {
                    path class="up" d="M0 0.5L8 4L0 7.5z" {}
                }
            }
        }
    }
}
