//! The flow of shapes through a model as data: what a picture of it is drawn from.

use serde::{Deserialize, Serialize};

use super::causes;
use super::lines::shape;
use super::others;
use super::record::Shown;
use super::table::{Line, Table};
use super::{change, record::Diff};
use crate::harness::case::Case;
use crate::harness::check::{Difference, Failed, Finding, Source, What};
use crate::harness::law::{Item, LawStep, starred};
use crate::harness::outcome::Outcome;
use crate::harness::snapshot::{PLAIN, Section};

/// One forward pass, in the order in which its steps ran.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// The variant; nothing for the plain one.
    pub variant: String,
    /// Where its numbers come from: `b=8 l=60 f32`, or the point that failed.
    pub at: String,
    /// The steps.
    pub steps: Vec<FlowStep>,
    /// The parameters with their axes, and where their gradient is zero.
    pub parameters: Vec<(String, String)>,
}

/// One step of a picture, which may stand for several that are alike.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowStep {
    /// Its name.
    pub name: String,
    /// Whether somebody gave the name.
    pub named: bool,
    /// The loops around it, and how often each runs.
    pub loops: Vec<(String, String)>,
    /// How often it ran, where that was more than once.
    pub count: usize,
    /// What comes out of it: `(b, l, n) [8, 60, 16]`.
    pub shape: String,
    /// What should come out of it, where that is something else.
    pub wanted: Option<String>,
    /// Its line.
    pub place: Option<String>,
    /// How it stands.
    pub stand: Stand,
    /// What is to be said of it.
    pub note: String,
}

/// How a step stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stand {
    /// As expected, or nothing was expected.
    #[default]
    Right,
    /// The first that is wrong.
    First,
    /// Another that is wrong.
    Wrong,
}

/// A step that a finding names without drawing a pass of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The step, with `*` for numbers.
    pub step: String,
    /// The variant.
    pub variant: String,
    /// What was found there.
    pub text: String,
}

/// Parameters whose gradient is not what it should be, and where it stops.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// The parameters.
    pub parameters: Vec<String>,
    /// The variant.
    pub variant: String,
    /// What is wrong.
    pub text: String,
    /// The last tap that a right gradient does not reach.
    pub without: Option<String>,
    /// The first tap after it that one does.
    pub with: Option<String>,
}

/// The passes that an outcome's laws are; ask before they are locked.
pub fn of_laws(outcome: &Outcome) -> Vec<Flow> {
    let sections = outcome.snapshot.iter().flat_map(|snapshot| &snapshot.sections);
    sections.map(of_section).collect()
}

/// What an outcome shows; `laws` are those of [`of_laws`].
pub fn shown(case: &Case, outcome: &Outcome, mut laws: Vec<Flow>) -> Shown {
    let mut shown =
        Shown { changes: outcome.findings.iter().filter_map(change).collect(), ..Shown::default() };
    for finding in &outcome.findings {
        shown.line = shown.line.or_else(|| line(finding));
        let variant = variant(&finding.variant);
        match (&finding.what, flow(finding)) {
            (_, Some(flow)) => match laws.iter_mut().find(|law| law.variant == variant) {
                // Of several findings in one variant the first is drawn: the others mostly follow from it.
                Some(law) if law.steps.iter().all(|step| step.stand == Stand::Right) => {
                    *law = Flow { parameters: std::mem::take(&mut law.parameters), ..flow };
                }
                Some(_) => {}
                None => laws.push(flow),
            },
            (What::Gradient(problem), _) => {
                let (without, with) = problem.severed.clone().unwrap_or_default();
                let text = others::wrong_gradient(problem, finding.tally.failing.as_ref());
                let parameters = problem.parameters.clone();
                shown.stops.push(Stop { parameters, variant, text, without, with });
            }
            (what, _) => shown.marks.extend(what.step().map(|step| Mark {
                step: starred(step),
                variant,
                text: change(finding).unwrap_or_else(|| first_line(case, finding)),
            })),
        }
    }
    shown.flows = laws;
    shown
}

fn first_line(case: &Case, finding: &Finding) -> String {
    super::body(case, finding).lines().next().unwrap_or_default().to_owned()
}

/// The change of a snapshot, with slashes in its path on every system.
pub fn diff(path: &std::path::Path, old: Option<&str>, new: &str) -> Diff {
    let path = path.to_string_lossy().replace('\\', "/");
    Diff { path, old: old.map(str::to_owned), new: new.to_owned() }
}

fn variant(name: &str) -> String {
    if name == PLAIN { String::new() } else { name.to_owned() }
}

fn line(finding: &Finding) -> Option<usize> {
    match &finding.what {
        What::Shape(difference) => match difference.source {
            Source::Contract(line) => Some(line),
            _ => None,
        },
        What::NoSuchStep { line, .. } => Some(*line),
        _ => None,
    }
}

fn of_section(section: &Section) -> Flow {
    let mut flow = Flow {
        variant: variant(&section.variant),
        at: format!("{} {}", section.reference, section.dtype),
        ..Flow::default()
    };
    unroll(&mut flow.steps, section, &section.law.forward, &[]);
    let zero = |name: &String| {
        let zero = section.zero.iter().find(|(zero, _)| zero == name);
        zero.map(|(_, when)| format!(", zero where {}", super::lines::plain(when)))
    };
    let parameters = section.law.parameters.iter();
    flow.parameters = parameters
        .map(|(name, axes)| (name.clone(), format!("{axes}{}", zero(name).unwrap_or_default())))
        .collect();
    flow
}

fn unroll(
    steps: &mut Vec<FlowStep>,
    section: &Section,
    items: &[Item],
    loops: &[(String, String)],
) {
    for item in items {
        match item {
            Item::Step(step) => steps.push(of_law(section, step, loops)),
            Item::Loop(inner) => {
                let own = (inner.name.clone(), inner.count.to_string());
                unroll(steps, section, &inner.body, &[loops, &[own]].concat());
            }
        }
    }
}

fn of_law(section: &Section, step: &LawStep, loops: &[(String, String)]) -> FlowStep {
    let extents = step.axes.eval(&section.reference);
    let extents = extents.map_or_else(|_| String::new(), |extents| format!(" {extents:?}"));
    FlowStep {
        name: step.name.clone(),
        named: step.named,
        loops: loops.to_vec(),
        count: 1,
        shape: format!("{}{extents}", step.axes),
        note: if step.mixing { "mixes axes".into() } else { String::new() },
        ..FlowStep::default()
    }
}

/// The pass that a finding is about, where it carries one.
fn flow(finding: &Finding) -> Option<Flow> {
    let at = finding.tally.failed.first().cloned().unwrap_or_else(|| finding.at.to_string());
    let steps = match &finding.what {
        What::Shape(difference) => differing(difference),
        What::Failed(failed) => ending(failed),
        _ => return None,
    };
    Some(Flow { variant: variant(&finding.variant), at, steps, ..Flow::default() })
}

fn differing(difference: &Difference) -> Vec<FlowStep> {
    let mut steps: Vec<FlowStep> = Table::new(&difference.rows).lines().map(of_line).collect();
    let is_it = |step: &FlowStep| starred(&step.name) == starred(&difference.step);
    let wrong = |step: &FlowStep| step.stand == Stand::Wrong;
    let at = steps.iter().position(|step| wrong(step) && is_it(step));
    if let Some(at) = at.or_else(|| steps.iter().position(wrong)) {
        let step = &mut steps[at];
        step.stand = Stand::First;
        step.note = difference.cause.as_ref().and_then(causes::text).unwrap_or_default();
        step.wanted = Some(difference.expected.as_ref().map_or("no such step".into(), shape));
        step.shape = difference.actual.as_ref().map_or("missing".into(), shape);
    }
    steps
}

fn ending(failed: &Failed) -> Vec<FlowStep> {
    let mut steps: Vec<FlowStep> = Table::new(&failed.rows).lines().map(of_line).collect();
    // What ran before an error was held against nothing.
    steps.iter_mut().for_each(|step| (step.stand, step.wanted) = (Stand::Right, None));
    let failure = &failed.failure;
    let name = failure.op.clone().unwrap_or_else(|| "error".into());
    let cause = failed.cause.as_ref().and_then(causes::text);
    let message = failure.message.lines().next().unwrap_or_default().to_owned();
    let operands: Vec<String> =
        failed.operands.iter().map(|(shape, _)| format!("{shape:?}")).collect();
    steps.push(FlowStep {
        name,
        named: true,
        count: 1,
        shape: operands.join(" and "),
        place: failure.places.first().map(ToString::to_string),
        stand: Stand::First,
        note: cause.unwrap_or(message),
        ..FlowStep::default()
    });
    steps
}

fn of_line(line: &Line) -> FlowStep {
    let same = !line.wrong;
    let axes = line.axes.as_ref().filter(|_| same);
    let shape = if line.actual == "same" { &line.expected } else { &line.actual };
    FlowStep {
        name: line.name.trim_start_matches("· ").to_owned(),
        named: !line.name.starts_with("· "),
        count: line.count,
        shape: axes.map_or_else(|| shape.clone(), |axes| format!("{axes} {shape}")),
        wanted: line.wrong.then(|| line.expected.clone()),
        place: line.place.clone(),
        stand: if same { Stand::Right } else { Stand::Wrong },
        ..FlowStep::default()
    }
}
