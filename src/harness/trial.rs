//! One trial: one check of one case, over all its points on one device.

use super::case::{Case, CaseError, CaseErrors, DeviceKind, Fault, Spanned, suggest};
use super::check::failed::failed;
use super::check::finite::finite;
use super::check::gradients::gradients;
use super::check::scans::scans;
use super::check::shapes::{Reference, shapes};
use super::check::{Check, Finding, Source, What, WrongGradient};
use super::law::Law;
use super::outcome::Outcome;
use super::plan::{Plan, Point, VariantPlan, plan};
use super::registry::Registry;
use super::run::{Depth, Probed, probed};
use super::snapshot::{Section, Snapshot};
use super::study::{Study, StudyError, inferred, setup, study};
use super::subject::{AnySubject, Described};

/// Why a trial could not be made.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The case does not fit its subject.
    #[error(transparent)]
    Case(#[from] CaseErrors),
    /// A device or candle's graph.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// The point that was asked for is none of the case's.
    #[error("the case has no point `{asked}` on this device; it has {}", .points.join(", "))]
    NoSuchPoint {
        /// What was asked for.
        asked: String,
        /// What there is.
        points: Vec<String>,
    },
    /// A subject that is not registered.
    #[error("{0}")]
    NoSuchSubject(String),
}

/// What a trial is about.
#[derive(Clone, Copy)]
pub struct Trial<'a> {
    /// The case.
    pub case: &'a Case,
    /// Where its subject and the twin are found.
    pub subjects: &'a Registry,
    /// The check.
    pub check: Check,
    /// The device; points on others are left out.
    pub device: DeviceKind,
    /// The one point to run, if not all.
    pub point: Option<&'a str>,
    /// What is locked.
    pub baseline: Option<&'a Snapshot>,
}

/// The checks that a case runs: those it names, or all that the subject has what they need for.
///
/// # Errors
/// A name that is no check, or a check that the subject cannot have, at its place in the case.
pub fn checks(case: &Case, subject: &dyn AnySubject) -> Result<Vec<Check>, CaseErrors> {
    let faults: Vec<CaseError> = named(case)
        .filter_map(|name| Some(case.error(name.at, wrong(&name.value, subject)?)))
        .collect();
    if let Some(errors) = CaseErrors::collect(faults) {
        return Err(errors);
    }
    if case.fault.is_some() {
        return Ok(vec![Check::Caught]);
    }
    if case.expect.is_some() {
        return Ok(vec![Check::Shapes]);
    }
    let has = |check: &Check| *check != Check::Scans || subject.has_reference();
    Ok(match &case.checks {
        Some(named) => named.iter().filter_map(|name| Check::named(&name.value)).collect(),
        None => Check::ALL.into_iter().filter(has).collect(),
    })
}

/// Every check that a case names, wherever it does.
fn named(case: &Case) -> impl Iterator<Item = &Spanned<String>> {
    let chosen = case.checks.iter().flatten();
    let catching = case.fault.iter().flat_map(|fault| &fault.caught_by);
    chosen.chain(catching).chain(case.tolerance.iter().map(|tolerance| &tolerance.check))
}

/// What is wrong with a name of a check, if anything is.
fn wrong(name: &str, subject: &dyn AnySubject) -> Option<String> {
    match Check::named(name) {
        None => {
            let known = suggest(name, Check::ALL.iter().map(|check| check.name()));
            Some(format!("there is no check `{name}`; {known}"))
        }
        Some(Check::Scans) if !subject.has_reference() => {
            Some(format!("`scans` compares with a reference, and `{}` has none", subject.name()))
        }
        Some(_) => None,
    }
}

/// Runs a trial.
///
/// # Errors
/// A case that does not fit its subject, a device that cannot be used, candle's internals. What fails in the model is
/// a finding.
pub fn run(trial: &Trial<'_>) -> Result<Outcome, TrialError> {
    let subject = subject(trial.subjects, &trial.case.subject)?;
    let plan = plan(trial.case, &Described(subject))?;
    let mut outcome = Outcome::default();
    let mut sections = Vec::new();
    let chosen = chosen(trial, &plan)?;
    for (variant, points) in plan.variants.iter().zip(&chosen) {
        if points.is_empty() {
            continue;
        }
        outcome.points.extend(points.iter().map(|point| point.name.clone()));
        match trial.check {
            Check::Shapes => {
                let (study, findings) = study_shapes(trial, subject, variant, points)?;
                outcome.findings.extend(findings);
                outcome.coverage.push((
                    variant.name.clone(),
                    study.witness.trace.coverage.clone(),
                    study.cuts.clone(),
                ));
                sections.extend(section(trial.case, variant, &study));
            }
            Check::Gradients => {
                let study = study(trial.case, variant, points, subject, Depth::Backward)?;
                outcome.findings.extend(untold(trial, &study));
                let mut findings = gradients(trial.case, &study);
                findings.iter_mut().for_each(|f| sever(trial, subject, variant, f));
                outcome.findings.extend(findings);
            }
            Check::Finite => {
                let study = study(trial.case, variant, points, subject, Depth::Forward)?;
                outcome.findings.extend(untold(trial, &study));
                outcome.findings.extend(finite(&study));
            }
            Check::Caught => {}
            Check::Scans => outcome.findings.extend(scans(trial.case, variant, points, subject)?),
        }
    }
    outcome.snapshot = (trial.check == Check::Shapes).then_some(Snapshot { sections });
    Ok(outcome)
}

/// The subject of that name.
///
/// # Errors
/// Where none is registered.
pub fn subject<'a>(subjects: &'a Registry, name: &str) -> Result<&'a dyn AnySubject, TrialError> {
    subjects.get(name).ok_or_else(|| TrialError::NoSuchSubject(subjects.unknown(name)))
}

/// The points of each variant that the trial runs.
fn chosen(trial: &Trial<'_>, plan: &Plan) -> Result<Vec<Vec<Point>>, TrialError> {
    let here = |point: &&Point| point.device == trial.device;
    let wanted = |point: &&Point| trial.point.is_none_or(|name| point.name == name);
    let all = plan.variants.iter().map(|v| v.points.iter().filter(here));
    let chosen: Vec<Vec<Point>> =
        all.clone().map(|points| points.filter(wanted).cloned().collect()).collect();
    match trial.point {
        Some(asked) if chosen.iter().all(Vec::is_empty) => {
            let points = all.flatten().map(|point| point.name.clone()).collect();
            Err(TrialError::NoSuchPoint { asked: asked.to_owned(), points })
        }
        _ => Ok(chosen),
    }
}

/// Points at which the model fails, for a check that saw nothing of it there: unless the case has `shapes`, which tells
/// them, so that one cause is one red trial.
fn untold(trial: &Trial<'_>, study: &Study) -> Vec<Finding> {
    let told = trial.case.checks.as_ref().is_none_or(|named| {
        named.iter().any(|name| Check::named(&name.value) == Some(Check::Shapes))
    });
    // `shapes` runs forward only, so a backward pass that fails is not told there.
    if told && !study.seen.iter().any(|seen| seen.run.backward_failed) {
        return Vec::new();
    }
    failed(study).into_iter().map(|found| Finding { check: trial.check, ..found }).collect()
}

fn study_shapes(
    trial: &Trial<'_>,
    subject: &dyn AnySubject,
    variant: &VariantPlan,
    points: &[Point],
) -> Result<(Study, Vec<Finding>), TrialError> {
    let case = trial.case;
    let study = study(case, variant, points, subject, Depth::Forward)?;
    let findings = match twin_law(trial, variant)? {
        Some((twin, name)) => {
            let source = Source::Twin(name);
            let reference = Reference { law: &twin.law, base: &twin.witness.dims, source };
            shapes(case, &study, Some(&reference))
        }
        None => {
            let locked = trial.baseline.into_iter().flat_map(|b| &b.sections);
            let locked = locked.into_iter().find(|section| section.variant == variant.name);
            let reference = locked.map(|section| Reference {
                law: &section.law,
                base: &study.witness.dims,
                source: Source::Baseline,
            });
            shapes(case, &study, reference.as_ref())
        }
    };
    Ok((study, findings))
}

/// Finds the taps between which a missing gradient was lost, by running the point again with a probe behind each tap.
///
/// The taps stand in the order of the forward pass, which a gradient runs backwards.
fn sever(
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

/// The law of the right twin of a subject with a fault.
fn twin_law(
    trial: &Trial<'_>,
    variant: &VariantPlan,
) -> Result<Option<(Study, String)>, TrialError> {
    let fault: Option<&Fault> = trial.case.fault.as_ref();
    let Some(twin) = fault.and_then(|fault| fault.twin.as_ref()) else { return Ok(None) };
    let subject = subject(trial.subjects, &twin.value)?;
    let study = inferred(trial.case, variant, subject).map_err(StudyError::from)?;
    Ok(Some((study, twin.value.clone())))
}

/// What is locked of a variant.
fn section(case: &Case, variant: &VariantPlan, study: &Study) -> Option<Section> {
    let point = variant.points.first()?;
    let law = Law { forward: locked(case, &study.law), ..study.law.clone() };
    let zero = case.zero_gradient.iter().map(|z| (z.pattern.to_string(), z.when.clone()));
    Some(Section {
        subject: case.subject.clone(),
        variant: variant.name.clone(),
        reference: point.dims.clone(),
        dtype: point.dtype.name().to_owned(),
        law,
        zero: zero.collect(),
    })
}

fn locked(case: &Case, law: &Law) -> Vec<super::law::Item> {
    match case.lock {
        super::case::Lock::All => law.forward.clone(),
        super::case::Lock::Named => super::law::named(&law.forward),
    }
}
