//! Where a gradient was lost.

use super::Trial;
use crate::harness::case::DeviceKind;
use crate::harness::check::{Finding, What, WrongGradient};
use crate::harness::plan::VariantPlan;
use crate::harness::run::{Probed, probed};
use crate::harness::study::setup;
use crate::harness::subject::AnySubject;

/// Finds the taps between which a missing gradient was lost, by running the point again with a probe behind each tap.
///
/// The taps stand in the order of the forward pass, which a gradient runs backwards.
pub(super) fn sever(
    trial: &Trial<'_>,
    subject: &dyn AnySubject,
    variant: &VariantPlan,
    finding: &mut Finding,
) {
    let What::Gradient(problem) = &mut finding.what else { return };
    let point = variant.points.iter().find(|p| Some(&p.name) == finding.tally.failed.first());
    let search = match problem.wrong {
        WrongGradient::Missing => cut,
        WrongGradient::NotFinite => turned,
        _ => return,
    };
    let (Some(point), DeviceKind::Cpu) = (point, trial.device) else { return };
    let taps = probed(subject, &setup(trial.case, variant, point, &candle_core::Device::Cpu));
    problem.severed = Some(search(&taps));
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
