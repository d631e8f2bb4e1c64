//! A pass as a picture: boxes by scope, arrows with shapes, what is wrong, and how far gradients come.

use maud::{Markup, PreEscaped, html};

use super::rail::rail;
use super::tree::{Node, tree};
use crate::harness::report::flow::{Flow, FlowStep, Mark, Stand, Stop};

/// Width of a picture: what a narrow phone shows without scrolling.
pub const WIDTH: usize = 344;
/// Where the arrows run.
const ARROW: usize = 30;
/// How far a box stands from the one around it.
const INSET: usize = 8;
/// Room on the right for the gradient.
const RAIL: usize = 34;
/// How wide a letter is, at the size of names and of what stands beside arrows.
const LETTER: f32 = 7.3;
const SMALL: f32 = 6.7;

/// What is drawn beside the steps.
pub struct Beside<'a> {
    /// Steps that findings name.
    pub marks: Vec<&'a Mark>,
    /// Gradients that stop.
    pub stops: Vec<&'a Stop>,
    /// Whether gradients were looked at.
    pub gradients: bool,
}

/// The picture of one pass.
pub fn picture(flow: &Flow, beside: &Beside<'_>) -> Markup {
    let mut drawing = Drawing { marks: &beside.marks, y: 2, ..Drawing::default() };
    drawing.nodes(&tree(&flow.steps), 0, 0);
    drawing.end();
    let height = drawing.y + 6;
    let rail = rail(&drawing.places, &beside.stops, beside.gradients);
    let label = format!("Steps of the forward pass at {}, top to bottom", flow.at);
    html! {
        svg class="flow" viewBox=(format!("0 0 {WIDTH} {height}")) width=(WIDTH) height=(height) role="group" aria-label=(label) {
            (PreEscaped(drawing.boxes)) (PreEscaped(drawing.steps)) (rail)
        }
    }
}

#[derive(Default)]
struct Drawing<'a> {
    marks: &'a [&'a Mark],
    /// How far down it has come.
    y: usize,
    /// Where the arrow to the next step starts.
    from: Option<usize>,
    /// Where the last step ends.
    bottom: usize,
    /// Scopes lie behind the steps in them.
    boxes: String,
    steps: String,
    /// The steps, their tops and bottoms.
    places: Vec<(String, usize, usize)>,
}

impl Drawing<'_> {
    /// Draws the nodes; `closing` boxes end after the last. How many boxes of their own end there.
    fn nodes(&mut self, nodes: &[Node<'_>], depth: usize, closing: usize) -> usize {
        let mut closed = 0;
        for (i, node) in nodes.iter().enumerate() {
            let closing = if i + 1 == nodes.len() { closing } else { 0 };
            closed = 0;
            match node {
                Node::Step(step, name) => self.step(step, name, depth, closing),
                Node::Folded(count) => self.folded(*count, depth, closing),
                Node::Scope { label, repeats, inner } => {
                    let top = self.y;
                    self.y += 24;
                    closed = self.nodes(inner, depth + 1, closing + 1) + 1;
                    self.scope((top, self.bottom + 7 * closed), depth, label, *repeats);
                }
            }
        }
        closed
    }

    fn scope(&mut self, (top, bottom): (usize, usize), depth: usize, label: &str, repeats: bool) {
        let (x, width) = (1 + depth * INSET, WIDTH - RAIL - 2 - 2 * depth * INSET);
        let class = if repeats { "scope loop" } else { "scope" };
        let name = cut(label, width - 60, SMALL);
        let drawn = html! {
            rect class=(class) x=(x) y=(top) width=(width) height=(bottom - top) rx="6" {}
            text class="label" x=(ARROW + 12) y=(top + 16) { (name) @if name != label { title { (label) } } }
        };
        // A box is known after those in it, and lies behind them.
        self.boxes.insert_str(0, &drawn.0);
    }

    fn step(&mut self, step: &FlowStep, name: &str, depth: usize, closing: usize) {
        let x = 1 + (depth * INSET) + if depth > 0 { 2 } else { 0 };
        let width = WIDTH - RAIL - 2 * x;
        let mark =
            self.marks.iter().find(|mark| mark.step == crate::harness::law::starred(&step.name));
        let wrong = step.stand != Stand::Right || mark.is_some();
        let class = match (step.stand, mark) {
            (Stand::First, _) | (_, Some(_)) => "step first",
            (Stand::Wrong, _) => "step wrong",
            (Stand::Right, None) if step.named => "step",
            (Stand::Right, None) => "step unnamed",
        };
        let times = if step.count > 1 { format!(" ×{}", step.count) } else { String::new() };
        let sign = if wrong { "✗ " } else { "" };
        let whole = format!("{sign}{name}{times}");
        let shown = cut(&whole, width - 20, LETTER);
        let note =
            mark.map_or(step.note.as_str(), |mark| mark.text.lines().next().unwrap_or_default());
        let notes = wrapped(note, width - 24);
        let height = if step.named || wrong { 28 } else { 20 } + 15 * notes.len();
        let top = self.arrow();
        let place = step.place.as_deref().unwrap_or_default();
        self.steps.push_str(
            &html! {
                g class=(class) {
                    title { (step.name) @if !place.is_empty() { ", " (place) } }
                    rect x=(x) y=(top) width=(width) height=(height) rx="4" {}
                    text x=(x + 10) y=(top + if step.named || wrong { 19 } else { 14 }) { (shown) }
                    @for (i, line) in notes.iter().enumerate() {
                        text class="note" x=(x + 10) y=(top + 35 + 15 * i) { (line) }
                    }
                }
            }
            .into_string(),
        );
        self.leave(&step.name, top + height, closing);
        self.shape(step, closing);
    }

    /// What comes out of a step, beside the arrow that leaves it; below, what should.
    fn shape(&mut self, step: &FlowStep, closing: usize) {
        let room = WIDTH - RAIL - ARROW - 20;
        let shape = cut(&step.shape, room, SMALL);
        let wrong = step.stand != Stand::Right;
        let y = self.bottom + 7 * closing + 19;
        self.steps.push_str(
            &html! {
                text class=(if wrong { "shape bad" } else { "shape" }) x=(ARROW + 12) y=(y) {
                    (shape) @if shape != step.shape { title { (step.shape) } }
                }
            }
            .into_string(),
        );
        if let Some(wanted) = &step.wanted {
            let whole = format!("expected {wanted}");
            let shown = cut(&whole, room, SMALL);
            self.steps.push_str(&html! {
                text class="shape" x=(ARROW + 12) y=(y + 15) { (shown) @if shown != whole { title { (whole) } } }
            }.into_string());
            self.y += 15;
        }
    }

    fn folded(&mut self, count: usize, depth: usize, closing: usize) {
        let top = self.arrow();
        self.steps.push_str(
            &html! {
                text class="folded" x=(ARROW + 12 + depth * INSET) y=(top + 13) { "⋮ " (count) " more steps" }
            }
            .into_string(),
        );
        self.leave("", top + 18, closing);
        self.y = self.bottom + 14 + 7 * closing;
    }

    /// Draws the arrow that comes from the step before; the top of this one.
    fn arrow(&mut self) -> usize {
        let top = self.y;
        if let Some(from) = self.from {
            let path = format!("M{ARROW} {from}V{}", top - 1);
            self.steps.push_str(
                &html! { path class="arrow" d=(path) marker-end="url(#head)" {} }.into_string(),
            );
        }
        top
    }

    fn leave(&mut self, name: &str, bottom: usize, closing: usize) {
        if !name.is_empty() {
            self.places.push((name.to_owned(), self.y, bottom));
        }
        (self.bottom, self.from) = (bottom, Some(bottom));
        self.y = bottom + 30 + 7 * closing;
    }

    /// The arrow out of the last step.
    fn end(&mut self) {
        self.arrow();
        self.y += 4;
    }
}

/// As much of a text as fits, with an ellipsis where something is left out.
fn cut(text: &str, room: usize, letter: f32) -> String {
    let most = (room as f32 / letter) as usize;
    match text.chars().count() > most {
        true => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

/// A sentence on several lines, at most five.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    let most = (room as f32 / SMALL) as usize;
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut().filter(|line| line.chars().count() + word.chars().count() < most) {
            Some(line) => *line = format!("{line} {word}"),
            None => lines.push(cut(word, room, SMALL)),
        }
    }
    lines.truncate(5);
    lines
}
