//! Where a gradient was lost.

use super::Trial;
use crate::harness::case::DeviceKind;
use crate::harness::check::{Finding, What, WrongGradient};
use crate::harness::plan::VariantPlan;
use crate::harness::run::{Probed, probed};
use crate::harness::study::{Study, setup};
use crate::harness::subject::AnySubject;
use crate::trace::{Role, Trace};

/// Finds the taps between which a missing gradient was lost, by running the point again with a probe behind each tap.
///
/// The taps stand in the order of the forward pass, which a gradient runs backwards.
pub(super) fn sever(
    trial: &Trial<'_>,
    subject: &dyn AnySubject,
    (variant, study): (&VariantPlan, &Study),
    finding: &mut Finding,
) {
    let What::Gradient(problem) = &mut finding.what else { return };
    let point = variant.points.iter().find(|p| Some(&p.name) == finding.tally.failed.first());
    let (Some(point), DeviceKind::Cpu) = (point, trial.device) else { return };
    let taps = probed(subject, &setup(trial.case, variant, point, &candle_core::Device::Cpu));
    let seen = study.seen.iter().find(|seen| seen.point.name == point.name);
    let used = seen.and_then(|seen| taps_before_use(&seen.run.trace, &problem.parameter));
    if problem.wrong == WrongGradient::Missing && used.is_none() && study.cuts.is_empty() {
        problem.wrong = WrongGradient::Unused;
    }
    problem.severed = match problem.wrong {
        WrongGradient::Missing => Some(match used.filter(|n| *n < taps.len()) {
            Some(used) => cut_after(&taps, used),
            None => cut(&taps),
        }),
        WrongGradient::NotFinite => Some(turned(&taps)),
        _ => None,
    };
}

/// How many taps there were when a parameter was first used; nothing where the graph does not show its use.
fn taps_before_use(trace: &Trace, parameter: &str) -> Option<usize> {
    let leaf = trace.ops.iter().position(|op| op.param.as_deref() == Some(parameter))?;
    let used = trace.ops.iter().filter(|op| op.operands.contains(&leaf)).map(|op| op.time).min()?;
    let taps = trace.names.iter().filter(|name| name.role == Role::Tap);
    Some(taps.filter(|tap| tap.time <= used).count())
}

/// The last of the taps without a gradient that follow the use of the parameter, and the tap after it.
fn cut_after(taps: &[Probed], used: usize) -> (Option<String>, Option<String>) {
    let after = taps.get(used..).unwrap_or_default();
    let none = after.iter().take_while(|tap| tap.tracked && tap.passed == Some(false)).count();
    let name = |i: usize| after.get(i).map(|tap| tap.name.clone());
    (none.checked_sub(1).and_then(name), name(none))
}

/// The last tap that no gradient passed, and the first after it that one did. Where there is none, the first whose value
/// has no graph behind it: an op without backward, or a `detach`, made it.
fn cut(taps: &[Probed]) -> (Option<String>, Option<String>) {
    let without = |tap: &Probed| tap.tracked && tap.passed == Some(false);
    let last = taps.iter().rposition(without);
    let after = &taps[last.map_or(0, |i| i + 1)..];
    let passed = after.iter().find(|tap| tap.passed == Some(true));
    let first = passed.or_else(|| after.iter().find(|tap| !tap.tracked));
    (last.map(|i| taps[i].name.clone()), first.map(|tap| tap.name.clone()))
}

/// The last tap whose gradient is not finite, and the first after it whose gradient still is.
fn turned(taps: &[Probed]) -> (Option<String>, Option<String>) {
    let seen = |tap: &&Probed| tap.passed == Some(true);
    let last = taps.iter().rposition(|tap| seen(&tap) && !tap.finite);
    let first = taps[last.map_or(0, |i| i + 1)..].iter().find(|tap| seen(tap) && tap.finite);
    (last.map(|i| taps[i].name.clone()), first.map(|tap| tap.name.clone()))
}
