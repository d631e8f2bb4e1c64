//! The text of a new case.

use std::path::Path;

use serde_json::{Map, Value};

use super::config::least;
use crate::harness::case::{Case, CasePath, DeviceKind, block, contract_notation, flow, flow_map};
use crate::harness::check::{Check, What, WrongGradient};
use crate::harness::law::{Item, LawStep, starred};
use crate::harness::plan::plan;
use crate::harness::registry::Registry;
use crate::harness::study::{Study, inferred};
use crate::harness::subject::{AnySubject, Described};
use crate::harness::trial::{Trial, checks, run};
use crate::trace::Role;

/// A case to be written.
pub(super) struct Draft {
    /// Its file.
    pub(super) text: String,
    /// Steps in its contract.
    pub(super) steps: usize,
    /// Its points.
    pub(super) points: usize,
    /// Whether the subject takes its configuration.
    pub(super) configured: bool,
    /// Why it has no contract.
    pub(super) trouble: Option<String>,
}

/// The case with the first configuration at which the model runs; `others` are those of other cases.
pub(super) fn draft(
    path: &CasePath,
    file: &Path,
    (subjects, subject): (&Registry, &dyn AnySubject),
    others: &[Map<String, Value>],
) -> Draft {
    let configs = least(subject).into_iter().chain(others.iter().cloned());
    let mut first = None;
    for config in configs {
        let made = with_config(path, file, (subjects, subject), &config);
        if made.trouble.is_none() {
            return made;
        }
        first = first.or(Some(made));
    }
    first.unwrap_or_else(|| {
        let config = Map::new();
        let said = subject.dims(&config).err().map(|problem| problem.message);
        let trouble = said.map(|said| format!("`{}` says: {said}", subject.name()));
        let text = text(path, subject, &config, &Parts::default());
        Draft { text, steps: 0, points: 0, configured: false, trouble }
    })
}

/// What of a case is seen in runs.
#[derive(Default)]
struct Parts {
    shapes: Vec<(String, String)>,
    zero_gradient: Vec<(String, String)>,
    checks: Option<(Vec<Check>, Vec<Check>)>,
}

fn with_config(
    path: &CasePath,
    file: &Path,
    (subjects, subject): (&Registry, &dyn AnySubject),
    config: &Map<String, Value>,
) -> Draft {
    let read = |parts: &Parts| {
        let text = text(path, subject, config, parts);
        let case = Case::parse(file, path.clone(), text.as_bytes());
        case.map(|case| (text, case)).map_err(|errors| errors.to_string())
    };
    let draft = |text, trouble| Draft {
        text,
        steps: 0,
        points: 0,
        configured: true,
        trouble: Some(trouble),
    };
    let mut parts = Parts::default();
    let bare = text(path, subject, config, &parts);
    let (_, case) = match read(&parts) {
        Ok(read) => read,
        Err(errors) => return draft(bare, errors),
    };
    let of = match plan(&case, &Described(subject)) {
        Ok(plan) => plan.variants.into_iter().next(),
        Err(errors) => return draft(bare, errors.to_string()),
    };
    let Some(variant) = of else { return draft(bare, "it has no point".to_owned()) };
    let study = match inferred(&case, &variant, subject) {
        Ok(study) => study,
        Err(error) => return draft(bare, error.to_string()),
    };
    if let Some(failure) = &study.witness.failure {
        let said = failure.message.lines().next().unwrap_or_default();
        return draft(bare, format!("the model fails at {}: {said}", study.witness.dims));
    }
    parts.shapes = contract(&study);
    parts.checks = checks(&case, subject).ok().map(|on| {
        let off = Check::ALL
            .into_iter()
            .filter(|check| check.is_opt_in() && check.lacks(&case, subject).is_none());
        (on, off.collect())
    });
    parts.zero_gradient = zero(&case, subjects);
    match read(&parts) {
        Ok((text, _)) => {
            let (steps, points) = (parts.shapes.len(), variant.points.len());
            Draft { text, steps, points, configured: true, trouble: None }
        }
        Err(errors) => draft(bare, errors),
    }
}

/// Taps and outputs with their axes, in the notation of contracts.
fn contract(study: &Study) -> Vec<(String, String)> {
    fn steps<'a>(items: &'a [Item], found: &mut Vec<&'a LawStep>) {
        for item in items {
            match item {
                Item::Step(step) => found.push(step),
                Item::Loop(inner) => steps(&inner.body, found),
            }
        }
    }
    let meant = |name: &str| {
        let named = study.witness.trace.names.iter().find(|one| starred(&one.name) == name);
        named.is_some_and(|one| matches!(one.role, Role::Tap | Role::Output))
    };
    let mut all = Vec::new();
    steps(&study.law.forward, &mut all);
    let mut lines: Vec<(String, String)> = Vec::new();
    for step in all.into_iter().filter(|step| step.named && meant(&starred(&step.name))) {
        let name = starred(&step.name);
        // A step without an expression, or with one that a contract cannot write, is left to the snapshot.
        let Some(axes) = contract_notation(&step.axes) else { continue };
        if lines.iter().all(|(known, _)| *known != name) {
            lines.push((name, axes));
        }
    }
    lines
}

/// Gradients that are zero where one dim has one value, and not elsewhere.
fn zero(case: &Case, subjects: &Registry) -> Vec<(String, String)> {
    let (check, device) = (Check::Gradients, DeviceKind::Cpu);
    let (point, baseline, laws) = (None, None, None);
    let trial = Trial { case, subjects, check, device, point, baseline, laws };
    let found = run(&trial).map(|outcome| outcome.findings).unwrap_or_default();
    let zero = found.into_iter().filter_map(|finding| match finding.what {
        What::Gradient(problem) if problem.wrong == WrongGradient::Zero => {
            Some((problem.parameters, finding.tally.failing?.to_string()))
        }
        _ => None,
    });
    let mut lines: Vec<(String, String)> = Vec::new();
    for (names, when) in zero {
        for name in names {
            // Equal layers are one line.
            let line = (starred(&name), when.clone());
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

/// How a value of a matrix is chosen: the first size, and one, at which many models take another path.
const SIZES: [u64; 4] = [3, 6, 4, 5];

fn text(
    path: &CasePath,
    subject: &dyn AnySubject,
    config: &Map<String, Value>,
    parts: &Parts,
) -> String {
    let mut text = path.schema_line();
    let mut add = |lines: &str| text.push_str(lines);
    add(&format!("subject: {}\n", flow(&Value::from(subject.name()))));
    add("# What would go wrong without this case: a reviewer of a change reads it first.\n");
    add("why: a new case, until someone says what would go wrong without it\n");
    let free = subject.free().into_iter().map(|(symbol, field)| format!("{field} ({symbol})"));
    let free = free.collect::<Vec<_>>().join(", ");
    if !free.is_empty() {
        add(&format!("# Laws are inferred from runs at other values too, of {free}.\n"));
    }
    add(&format!("config: {}\n", flow_map(config)));
    add(
        "# Every combination is run. The first values make the reference point, whose numbers stand in the snapshot; 1 is\n",
    );
    add(
        "# other code in many models. `dtype: [f32, bf16]` and `device: [cpu, cuda]` go here too.\nmatrix:\n",
    );
    for ((name, _), size) in subject.sizes().iter().zip(SIZES.iter().cycle()) {
        add(&format!("  {name}: [{size}, 1]\n"));
    }
    if !parts.shapes.is_empty() {
        add(
            "# The contract, as runs obeyed it: it holds before any snapshot exists, and accepting one cannot change it. Strike\n",
        );
        add("# what is not meant for good.\nshapes:\n");
        add(&block(&parts.shapes));
    }
    if !parts.zero_gradient.is_empty() {
        add(
            "# Exactly zero there, and not elsewhere, in runs. Strike what is not meant.\nzero_gradient:\n",
        );
        add(&block(&parts.zero_gradient));
    }
    if let Some((on, off)) = &parts.checks {
        let names = |checks: &[Check]| {
            checks.iter().map(|check| check.name()).collect::<Vec<_>>().join(", ")
        };
        add("# These run if nothing is said; to have others too, name all of them:\n");
        add(&format!("#   {}\n# checks: [{}]\n", names(off), names(on)));
    }
    text
}
