//! The command `explain`: what a case runs, and why.

mod cost;

use super::find::find;
use super::style::{faint, good, left_out};
use crate::harness::case::Case;
use crate::harness::check::{Arity, Check};
use crate::harness::outcome::counted;
use crate::harness::plan::{Environment, Plan, Point, absent, plan};
use crate::harness::subject::{AnySubject, Described};
use crate::harness::trial::checks;
use crate::harness::trials::{Suite, on_large_stack};
use cost::cost;

/// Prints the points of a case, its checks with the reason why each is on or off, what is skipped, and what it costs.
///
/// # Errors
/// A case that is not there, or cannot be read.
pub(super) fn explain(suite: &Suite, machine: &Environment, wanted: &str) -> Result<u8, String> {
    let case = find(suite, machine, wanted)?;
    let subject = suite.subjects.get(&case.subject);
    let subject = subject.ok_or_else(|| suite.subjects.unknown(&case.subject))?;
    let plan = plan(&case, &Described(subject)).map_err(|errors| errors.to_string())?;
    let on = checks(&case, subject).map_err(|errors| errors.to_string())?;
    anstream::print!("{}", head(&case, subject));
    anstream::print!("\npoints\n{}", points(&case, &plan, machine));
    anstream::print!("\nchecks\n{}", all_checks(&case, subject, &plan, &on, machine));
    let cost = on_large_stack("explain", || cost(&case, &plan, subject, machine))?;
    anstream::print!("\ncost, rough\n{}", cost.map_err(|panic| panic.message)??);
    Ok(0)
}

/// A line of a table: what, what it is, where that comes from.
fn line(name: &str, what: &str, from: &str) -> String {
    let from =
        if from.is_empty() { String::new() } else { format!("  {}", faint(format!("({from})"))) };
    format!("  {name:<12}  {what}{from}\n")
}

fn head(case: &Case, subject: &dyn AnySubject) -> String {
    let file = case.file.to_string_lossy().replace('\\', "/");
    let mut text = format!("{}, {file}\n\n", case.path);
    text.push_str(&line("why", case.why.trim(), ""));
    text.push_str(&line("subject", &case.subject, &place(case, "subject", "")));
    if let Some(other) = case.reference() {
        let key = if case.reference.is_some() { "reference" } else { "twin" };
        text.push_str(&line("compared to", &other.value, &place(case, key, "")));
    }
    let free: Vec<&str> = subject.free().into_iter().map(|(symbol, _)| symbol).collect();
    let sizes = subject.sizes().into_iter().map(|(_, symbol)| symbol);
    let varied: Vec<&str> = sizes.chain(free).collect();
    text.push_str(&line(
        "laws",
        &format!("inferred from runs that vary {}", varied.join(" ")),
        "the subject's sizes and `free`",
    ));
    let budget = format!("at most {} a point", bytes(case.budget));
    text.push_str(&line("budget", &budget, &place(case, "budget", "default")));
    text
}

/// Where a field stands, or what holds without it.
fn place(case: &Case, key: &str, otherwise: &str) -> String {
    match case.source.has(&[key]) {
        true => format!("line {}", case.locate(&[key]).line),
        false => otherwise.to_owned(),
    }
}

fn points(case: &Case, plan: &Plan, machine: &Environment) -> String {
    let mut text = String::new();
    for (name, values) in &case.matrix.sizes {
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        let from = format!("line {}", case.locate(&["matrix", &name.value]).line);
        text.push_str(&line(&name.value, &values.join(" "), &from));
    }
    let of = |key: &str, names: Vec<&str>| {
        let line_of = case.locate(&["matrix", key]).line;
        let given = case.source.has(&["matrix", key]);
        let from = if given { format!("line {line_of}") } else { "default".to_owned() };
        line(key, &names.join(" "), &from)
    };
    text.push_str(&of("dtype", case.matrix.dtypes.iter().map(|dtype| dtype.name()).collect()));
    text.push_str(&of("device", case.matrix.devices.iter().map(|device| device.name()).collect()));
    let lists = case.matrix.sizes.iter().map(|(_, values)| values.len());
    let all: usize =
        lists.product::<usize>() * case.matrix.dtypes.len() * case.matrix.devices.len();
    for variant in &plan.variants {
        let count = variant.points.len();
        let left = match all - count {
            0 => String::new(),
            dropped => format!(", {dropped} of {all} left out by `only` and `except`"),
        };
        let first = variant.points.first().map_or("", |point| point.name.as_str());
        let from = match case.source.has(&["variants", &variant.name]) {
            true => format!("line {}", case.locate(&["variants", &variant.name]).line),
            false => "default".to_owned(),
        };
        let what = format!("{}{left}; reference {first}", counted(count, "point"));
        text.push_str(&line(&variant.name, &what, &from));
    }
    for device in &case.matrix.devices {
        let count = plan.variants.iter().flat_map(|v| &v.points).filter(|p| p.device == *device);
        if let (Some(reason), count @ 1..) = (absent(*device, machine), count.count()) {
            let what = format!("{} on {device} skipped here: {reason}", counted(count, "point"));
            text.push_str(&line("", &left_out(what), ""));
        }
    }
    text
}

fn all_checks(
    case: &Case,
    subject: &dyn AnySubject,
    plan: &Plan,
    on: &[Check],
    machine: &Environment,
) -> String {
    let here = |point: &&Point| absent(point.device, machine).is_none();
    let points = plan.variants.iter().flat_map(|v| &v.points).filter(here).count();
    if let [Check::Caught] = on {
        let named = case.fault.iter().flat_map(|fault| &fault.caught_by);
        let named: Vec<&str> = named.map(|check| check.value.as_str()).collect();
        let what = format!(
            "on   {} have to find the fault, and the twin has to be clean",
            named.join(", ")
        );
        return line("caught", &what, &place(case, "caught_by", ""));
    }
    let mut text = String::new();
    for check in on {
        let what = format!("{}  {}", good("on "), runs(*check, points));
        text.push_str(&line(check.name(), &what, &reason(case, *check)));
    }
    let mut off: Vec<(String, Vec<&str>)> = Vec::new();
    for check in Check::ALL.into_iter().filter(|check| !on.contains(check)) {
        let why = why_off(case, subject, check);
        match off.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(check.name()),
            None => off.push((why, vec![check.name()])),
        }
    }
    for (why, names) in off {
        let off = left_out("off");
        let (name, what) = match &names[..] {
            [name] => (*name, format!("{off}  {why}")),
            names => ("", format!("{off}  {}: {why}", names.join(", "))),
        };
        text.push_str(&line(name, &what, ""));
    }
    text
}

/// Why a check is off.
fn why_off(case: &Case, subject: &dyn AnySubject, check: Check) -> String {
    if case.expect.is_some() {
        let from = place(case, "expect", "");
        return format!("the model has to fail ({from}), which `shapes` holds");
    }
    match check.lacks(case, subject) {
        Some(lacks) => lacks,
        None if case.checks.is_some() => {
            format!("not among `checks` ({})", place(case, "checks", ""))
        }
        None => "only where a case names it in `checks`".to_owned(),
    }
}

/// Why a check is on.
fn reason(case: &Case, check: Check) -> String {
    if case.expect.is_some() {
        return place(case, "expect", "");
    }
    if case.checks.is_some() {
        return place(case, "checks", "");
    }
    match check {
        Check::Batch => "the subject has a size `batch`, and says nothing of mixed rows".to_owned(),
        Check::Causal => "the subject says `is_causal`".to_owned(),
        Check::Continuation => "the subject says `has_state`".to_owned(),
        Check::Scans => "the subject says `has_reference`".to_owned(),
        Check::Reference => place(case, "reference", ""),
        _ => "default".to_owned(),
    }
}

/// Roughly how often a check runs the model at the points that are here.
fn runs(check: Check, points: usize) -> String {
    match (check, check.arity()) {
        (Check::Gradients, _) => format!("{points} runs, with backward"),
        (_, Arity::Pair) => format!("{} runs or more", 2 * points),
        _ => format!("{points} runs"),
    }
}

/// Bytes in a unit that people read.
fn bytes(count: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = units.into_iter().find(|(shift, _)| count >= 1 << shift);
    unit.map_or_else(
        || format!("{count} bytes"),
        |(shift, unit)| {
            let whole = count as f64 / f64::from(1u32 << shift);
            let digits = usize::from(whole < 10. && whole.fract() > 0.05);
            format!("{whole:.digits$} {unit}")
        },
    )
}
