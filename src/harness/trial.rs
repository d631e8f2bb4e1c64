//! One trial: one check of one case, over all its points on one device.

mod choice;
mod sever;

use super::case::{Case, CaseErrors, DeviceKind, Fault};
use super::check::batch::batch;
use super::check::broadcast::broadcast;
use super::check::causal::causal;
use super::check::continuation::continuation;
use super::check::determinism::determinism;
use super::check::device::device;
use super::check::dtype::dtype;
use super::check::failed::failed;
use super::check::finite::finite;
use super::check::gradcheck::gradcheck;
use super::check::gradients::gradients;
use super::check::layout::layout;
use super::check::lints::lints;
use super::check::pairs::Pairs;
use super::check::scans::{reference, scans};
use super::check::shapes::{Reference, shapes};
use super::check::{Check, Finding, Source};
use super::law::Law;
use super::outcome::Outcome;
use super::plan::{Plan, Point, VariantPlan, plan};
use super::registry::Registry;
use super::run::Depth;
use super::snapshot::{Section, Snapshot};
use super::study::{Laws, Study, StudyError, inferred, study};
use super::subject::{AnySubject, Described};

pub use choice::{checks, others};
use sever::sever;

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
    /// Laws that other trials of the suite inferred, and that are left to them.
    pub laws: Option<&'a Laws>,
}

/// Runs a trial.
///
/// # Errors
/// A case that does not fit its subject, a device that cannot be used, candle's internals. What fails in the model is
/// a finding.
pub fn run(trial: &Trial<'_>) -> Result<Outcome, TrialError> {
    let subject = subject(trial.subjects, &trial.case.subject)?;
    others(trial.case, trial.subjects)?;
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
                outcome.ended = outcome.ended.take().or_else(|| study.ended.clone());
                outcome.coverage.push((
                    variant.name.clone(),
                    study.witness.trace.coverage.clone(),
                    study.cuts.clone(),
                ));
                sections.extend(section(trial.case, variant, &study));
            }
            Check::Gradients => {
                let study =
                    study(trial.case, variant, points, subject, Depth::Backward, trial.laws)?;
                outcome.findings.extend(untold(trial, &study));
                let mut findings = gradients(trial.case, &study);
                findings.iter_mut().for_each(|f| sever(trial, subject, (variant, &study), f));
                outcome.findings.extend(findings);
            }
            Check::Finite => {
                let study =
                    study(trial.case, variant, points, subject, Depth::Forward, trial.laws)?;
                outcome.findings.extend(untold(trial, &study));
                outcome.findings.extend(finite(&study));
            }
            Check::Caught => {}
            Check::Broadcast => {
                let study =
                    study(trial.case, variant, points, subject, Depth::Forward, trial.laws)?;
                outcome.findings.extend(untold(trial, &study));
                outcome.findings.extend(broadcast(trial.case, &study));
            }
            Check::Lints => {
                let study =
                    study(trial.case, variant, points, subject, Depth::Forward, trial.laws)?;
                outcome.findings.extend(untold(trial, &study));
                outcome.findings.extend(lints(&pairs(trial, subject, variant, points), &study)?);
            }
            _ => outcome.findings.extend(compared(trial, subject, variant, points)?),
        }
    }
    outcome.snapshot = (trial.check == Check::Shapes).then_some(Snapshot { sections });
    Ok(outcome)
}

/// What a check finds that compares passes with one another.
fn compared(
    trial: &Trial<'_>,
    model: &dyn AnySubject,
    variant: &VariantPlan,
    points: &[Point],
) -> Result<Vec<Finding>, TrialError> {
    let pairs = pairs(trial, model, variant, points);
    Ok(match (trial.check, trial.case.reference()) {
        (Check::Batch, _) => batch(&pairs)?,
        (Check::Causal, _) => causal(&pairs)?,
        (Check::Continuation, _) => continuation(&pairs)?,
        (Check::Scans, _) => scans(&pairs)?,
        (Check::Layout, _) => layout(&pairs)?,
        (Check::Gradcheck, _) => gradcheck(&pairs)?,
        (Check::Dtype, _) => dtype(&pairs)?,
        (Check::Device, _) => device(&pairs)?,
        (Check::Determinism, _) => determinism(&pairs)?,
        (Check::Reference, Some(other)) => {
            reference(&pairs, subject(trial.subjects, &other.value)?)?
        }
        _ => Vec::new(),
    })
}

fn pairs<'a>(
    trial: &Trial<'a>,
    subject: &'a dyn AnySubject,
    variant: &'a VariantPlan,
    points: &'a [Point],
) -> Pairs<'a> {
    Pairs { check: trial.check, case: trial.case, variant, points, subject }
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
    let study = study(case, variant, points, subject, Depth::Forward, trial.laws)?;
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

/// The law of the right twin of a subject with a fault.
fn twin_law(
    trial: &Trial<'_>,
    variant: &VariantPlan,
) -> Result<Option<(Study, String)>, TrialError> {
    let fault: Option<&Fault> = trial.case.fault.as_ref();
    let Some(twin) = fault.and_then(|fault| fault.twin.as_ref()) else { return Ok(None) };
    let subject = subject(trial.subjects, &twin.value)?;
    let study = match trial.laws {
        Some(laws) => laws.of(trial.case, variant, subject),
        None => inferred(trial.case, variant, subject),
    };
    let study = study.map_err(StudyError::from)?;
    Ok(Some((study, twin.value.clone())))
}

/// What is locked of a variant.
fn section(case: &Case, variant: &VariantPlan, study: &Study) -> Option<Section> {
    // What has no law is not locked as the numbers of one run: what was locked of it stays.
    let point = variant.points.first().filter(|_| study.unlawful.is_empty())?;
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
