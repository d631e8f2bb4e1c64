//! The command `trace`: the forward pass of one point as a table.

use std::collections::HashMap;

use super::arguments::TraceOptions;
use super::find::find;
use super::table::table;
use crate::harness::case::{Case, suggest};
use crate::harness::check::Source;
use crate::harness::check::align::{Row, Wanted, align};
use crate::harness::check::failed::told;
use crate::harness::law::{expand::expand, starred};
use crate::harness::plan::{Environment, Point, VariantPlan, absent, plan};
use crate::harness::report::{blind, error};
use crate::harness::run::{Depth, Observation, observe};
use crate::harness::study::{Study, device, inferred, setup};
use crate::harness::subject::{AnySubject, Described};
use crate::harness::trials::{Suite, on_large_stack};
use crate::trace::Trace;

/// Prints the steps, or the ops, of a case at a point; up to the error where the model fails.
///
/// # Errors
/// A case, variant or point that is not there, or that cannot run here.
pub(super) fn trace(
    suite: &Suite,
    machine: &Environment,
    wanted: &TraceOptions,
) -> Result<u8, String> {
    let case = find(suite, machine, &wanted.case)?;
    let subject = suite.subjects.get(&case.subject);
    let subject = subject.ok_or_else(|| suite.subjects.unknown(&case.subject))?;
    let plan = plan(&case, &Described(subject)).map_err(|errors| errors.to_string())?;
    let variant = variant(&plan.variants, wanted.variant.as_deref())?;
    let point = point(variant, machine, wanted.point.as_deref())?;
    let observed = || observed(&case, variant, point, subject, wanted.ops);
    let observed = on_large_stack("trace", observed)?;
    let (run, text) = observed.map_err(|panic| panic.message)??;
    let name = if variant.name == "plain" { String::new() } else { format!(" / {}", variant.name) };
    anstream::println!(
        "{}{name} at {} {} on {}\n",
        case.path,
        point.dims,
        point.dtype,
        point.device
    );
    anstream::print!("{text}");
    Ok(match &run {
        None => 0,
        Some(failure) => {
            anstream::print!("\n{failure}");
            super::FAILED
        }
    })
}

fn variant<'a>(
    variants: &'a [VariantPlan],
    wanted: Option<&str>,
) -> Result<&'a VariantPlan, String> {
    let found = variants.iter().find(|variant| wanted.is_none_or(|name| variant.name == name));
    let names = || variants.iter().map(|variant| variant.name.as_str());
    found.ok_or_else(|| {
        let wanted = wanted.unwrap_or_default();
        format!("the case has no variant `{wanted}`; {}", suggest(wanted, names()))
    })
}

fn point<'a>(
    variant: &'a VariantPlan,
    machine: &Environment,
    wanted: Option<&str>,
) -> Result<&'a Point, String> {
    let here = |point: &&Point| absent(point.device, machine).is_none();
    let Some(wanted) = wanted else {
        let first = variant.points.iter().find(here);
        return first.ok_or_else(|| format!("no point of variant `{}` can run here", variant.name));
    };
    let names = || variant.points.iter().map(|point| point.name.as_str());
    let found = variant.points.iter().find(|point| point.name == wanted);
    let found = found.ok_or_else(|| {
        let all: Vec<&str> = names().collect();
        format!("the case has no point `{wanted}`; it has {}", all.join(", "))
    })?;
    match absent(found.device, machine) {
        None => Ok(found),
        Some(reason) => Err(format!("point `{wanted}` cannot run here: {reason}")),
    }
}

/// How the run ended, and its table.
fn observed(
    case: &Case,
    variant: &VariantPlan,
    point: &Point,
    subject: &dyn AnySubject,
    by_ops: bool,
) -> Result<(Option<String>, String), String> {
    let device = device(point.device).map_err(|error| error.to_string())?;
    let setup = setup(case, variant, point, &device);
    let (run, _) = observe(subject, &setup, Depth::Forward).map_err(|error| error.to_string())?;
    let text = if by_ops {
        ops(&run.trace)
    } else {
        let study = inferred(case, variant, subject).map_err(|error| error.to_string())?;
        let seen = &run.trace.coverage;
        let (all, of) = (seen.seen, seen.made);
        // What an error cut off is not unused.
        let cut_off = run.failure.is_some();
        let blind = if cut_off { String::new() } else { blind(seen, &study.cuts) };
        format!(
            "{}\n{all} of {of} tensors made are seen in the graph\n{blind}",
            steps(&study, &run)
        )
    };
    let failure = run.failure.as_ref().map(|failure| error(&told(failure, &run)));
    Ok((failure, text))
}

/// The steps with their axes, as far as the law is known; the repeats of a loop are one line.
fn steps(study: &Study, run: &Observation) -> String {
    let law = if study.law.forward.is_empty() { &study.begun } else { &study.law };
    let expected = expand(law, &study.witness.dims, &run.dims).unwrap_or_default();
    let wanted = expected.iter().map(|expected| Wanted {
        key: expected.key.clone(),
        named: expected.step.named,
        axes: expected.step.axes.clone(),
        shape: expected.shape.clone(),
        source: Source::Law,
        may_miss: expected.may_miss,
        mixing: expected.step.mixing,
        parameter: false,
    });
    let rows = align(&wanted.collect::<Vec<_>>(), &run.steps);
    let mut lines: Vec<([String; 4], usize)> = vec![];
    let mut known: HashMap<[String; 4], usize> = HashMap::new();
    for row in rows.iter().filter(|row| row.actual.is_some()) {
        let cells = cells(row);
        match known.get(&cells) {
            Some(&line) => lines[line].1 += 1,
            None => {
                known.insert(cells.clone(), lines.len());
                lines.push((cells, 1));
            }
        }
    }
    let repeated = lines.into_iter().map(|([name, axes, shape, place], count)| {
        let times = if count > 1 { format!(" ×{count}") } else { String::new() };
        [name + &times, axes, shape, place]
    });
    table(["step", "axes", "shape", "line"], repeated.collect())
}

fn cells(row: &Row) -> [String; 4] {
    let name = starred(&row.name);
    let name = if row.named { name } else { format!("· {name}") };
    let axes = row.wanted.as_ref().map_or_else(String::new, |wanted| wanted.axes.to_string());
    let mixes = if row.mixing { " mixes axes" } else { "" };
    let shape = row.actual.as_ref().map_or_else(String::new, |shape| format!("{shape:?}{mixes}"));
    let place = row.place.as_ref().map_or_else(String::new, ToString::to_string);
    [name, axes, shape, place]
}

/// Operands of one op that are shown: a `cat` may have hundreds.
const OPERANDS: usize = 4;

/// Every op of candle's graph in the order in which it ran.
fn ops(trace: &Trace) -> String {
    let line = |(index, op): (usize, &crate::trace::op::RawOp)| {
        let named = trace.names.iter().find(|name| name.op == index).map(|name| name.name.clone());
        let name = op.param.clone().or(named).unwrap_or_default();
        let from = op.operands.iter().take(OPERANDS).map(|operand| format!("#{operand}"));
        let more = op.operands.len().saturating_sub(OPERANDS);
        let more = (more > 0).then(|| format!("… {more} more"));
        let from: Vec<String> = from.chain(more).collect();
        let kind = format!("#{index} {} {}", op.kind.name(), op.kind.arguments());
        [kind.trim_end().to_owned(), from.join(" "), format!("{:?} {}", op.shape, op.dtype), name]
    };
    table(["op", "from", "shape", "name"], trace.ops.iter().enumerate().map(line).collect())
}
