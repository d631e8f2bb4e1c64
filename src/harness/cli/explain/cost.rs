//! What the points of a case cost: what one run of the largest of them makes.

use super::{bytes, line};
use crate::dims::Dims;
use crate::harness::case::Case;
use crate::harness::law::witness::choose;
use crate::harness::outcome::counted;
use crate::harness::plan::{Environment, Plan, Point, VariantPlan, absent};
use crate::harness::run::{Depth, observe};
use crate::harness::study::{Study, device, inferred, needs, setup as setup_of};
use crate::harness::subject::AnySubject;

/// The largest point of the case that can run here, and what a forward pass at it makes.
///
/// # Errors
/// A device that cannot be used, candle's internals.
pub(super) fn cost(
    case: &Case,
    plan: &Plan,
    subject: &dyn AnySubject,
    machine: &Environment,
) -> Result<String, String> {
    let mut largest: Option<(u64, &VariantPlan, &Point)> = None;
    let mut refused = 0;
    let mut witnesses = 0;
    for variant in &plan.variants {
        let study: Study = inferred(case, variant, subject).map_err(|error| error.to_string())?;
        witnesses += choose(subject, &variant.config, &Dims::new()).len();
        for point in variant.points.iter().filter(|point| absent(point.device, machine).is_none()) {
            let needs = needs(&study.law, point);
            if needs > case.budget {
                refused += 1;
            } else if largest.is_none_or(|(most, ..)| needs > most) {
                largest = Some((needs, variant, point));
            }
        }
    }
    let mut text = line(
        "laws",
        &format!("{witnesses} small runs on the CPU, for each check that needs them"),
        "",
    );
    if refused > 0 {
        let what = format!("{}, which would take more than the budget", counted(refused, "point"));
        text.push_str(&line("refused", &what, ""));
    }
    let Some((needs, variant, point)) = largest else { return Ok(text) };
    let opened = device(point.device).map_err(|error| error.to_string())?;
    let setup = setup_of(case, variant, point, &opened);
    let (run, _) = observe(subject, &setup, Depth::Forward).map_err(|error| error.to_string())?;
    text.push_str(&line("largest", &point.name, ""));
    if let Some(failure) = &run.failure {
        let said = failure.message.lines().next().unwrap_or_default();
        text.push_str(&line("", &format!("the model fails there: {said}"), ""));
        return Ok(text);
    }
    let (ops, made) = (run.trace.ops.len(), run.trace.coverage.made);
    let parameters: usize =
        run.params.iter().map(|(_, shape)| shape.iter().product::<usize>()).sum();
    let forward = format!(
        "{}, {} made, {parameters} numbers in parameters",
        counted(ops, "op"),
        counted(made, "tensor")
    );
    text.push_str(&line("forward", &forward, ""));
    text.push_str(&line("memory", &format!("about {} with backward", bytes(needs)), ""));
    Ok(text)
}
