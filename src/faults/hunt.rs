//! Whether the checks find a fault.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use candle_core::Device;

use super::equal::equal;
use super::excused::excuse;
use super::{Change, Fault, Faulty, Ground, Site};
use crate::harness::case::{Case, DType, DeviceKind};
use crate::harness::check::{Check, Finding};
use crate::harness::registry::Registry;
use crate::harness::run::Rig;
use crate::harness::study::setup;
use crate::harness::trial::{Trial, TrialError, run};

/// What became of a fault.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// A check failed.
    Killed {
        /// In which case and variant.
        case: String,
        /// Which check.
        check: Check,
        /// What it blamed.
        step: Option<String>,
    },
    /// No check failed.
    Survived {
        /// Whether outputs, states and gradients are bit by bit those of the right subject.
        equal: bool,
        /// The value of the matrix, or the check, that would have found it.
        would: Option<String>,
    },
    /// No run came by the tap.
    Unreached,
    /// What does not work in the hunt itself: a check that fails without the fault too, a change that is an error.
    Trouble(String),
}

/// The cases that faults are tried on.
pub struct Hunt<'a> {
    subjects: &'a Registry,
    grounds: &'a [Ground],
    /// Whether the right subject passes a check, at the reference point alone and at all.
    clean: Mutex<BTreeMap<(usize, Check, bool), bool>>,
}

impl<'a> Hunt<'a> {
    /// A hunt over these cases.
    pub fn new(subjects: &'a Registry, grounds: &'a [Ground]) -> Self {
        Self { subjects, grounds, clean: Mutex::default() }
    }

    /// Runs the cases' checks on the fault until one fails: first at the reference points, then at all points.
    pub fn verdict(&self, site: &Site) -> Verdict {
        self.tried(site).unwrap_or_else(|error| Verdict::Trouble(error.to_string()))
    }

    fn tried(&self, site: &Site) -> Result<Verdict, TrialError> {
        let Some(right) = self.subjects.shared(&site.subject) else {
            return Ok(Verdict::Trouble(self.subjects.unknown(&site.subject)));
        };
        let fault = Arc::new(Fault::new(&site.tap, site.rank, site.change));
        let subjects = self.subjects.clone().with(Faulty::new(right.clone(), fault.clone()));
        let faulty = Faulty::new(right.clone(), fault.clone());
        let is_equal = || {
            let mut grounds = site.grounds.iter().map(|&i| &self.grounds[i]);
            grounds.all(|ground| equal(ground, &*right, &faulty))
        };
        // What is known to change nothing need not be looked for.
        if excuse(site).is_some() && is_equal() {
            return Ok(match fault.reached() {
                0 => Verdict::Unreached,
                _ => Verdict::Survived { equal: true, would: None },
            });
        }
        if let Some((&i, (check, step))) =
            site.grounds.first().and_then(|i| Some((i, ended(&self.grounds[*i], &faulty)?)))
        {
            return self.killed(i, check, false, step);
        }
        for all in [false, true] {
            for (i, check) in self.ordered(site) {
                let ground = &self.grounds[i];
                let found = found(&subjects, ground, &ground.case, check, all)?;
                if let Some(trouble) = fault.trouble() {
                    return Ok(Verdict::Trouble(trouble));
                }
                if let Some(finding) = found.into_iter().next() {
                    return self.killed(i, check, all, finding.what.step().map(str::to_owned));
                }
            }
            if fault.reached() == 0 {
                return Ok(Verdict::Unreached);
            }
        }
        if is_equal() {
            return Ok(Verdict::Survived { equal: true, would: None });
        }
        let first = site.grounds.first().map(|&i| &self.grounds[i]);
        let would = first.and_then(|ground| would(&subjects, ground));
        Ok(Verdict::Survived { equal: false, would })
    }

    fn killed(
        &self,
        i: usize,
        check: Check,
        all: bool,
        step: Option<String>,
    ) -> Result<Verdict, TrialError> {
        let ground = &self.grounds[i];
        if !self.is_clean(i, check, all)? {
            let text = format!("{} of {} fails without a fault too", check.name(), ground.name());
            return Ok(Verdict::Trouble(text));
        }
        Ok(Verdict::Killed { case: ground.name(), check, step })
    }

    /// The checks of the cases in the order in which they are tried: first those that find most faults of the kind for the
    /// least work, and last those that a case has to ask for.
    fn ordered(&self, site: &Site) -> Vec<(usize, Check)> {
        let first: &[Check] = match site.change {
            Change::NotANumber => &[Check::Finite],
            Change::Detached => &[Check::Gradients, Check::Scans],
            Change::Format => &[Check::Dtype, Check::Scans, Check::Gradcheck],
            _ if site.shape_changes => &[Check::Shapes, Check::Scans, Check::Gradients],
            _ => &[Check::Scans, Check::Causal, Check::Batch, Check::Continuation],
        };
        let rank = |check: Check| match first.iter().position(|own| *own == check) {
            Some(place) => place,
            None => first.len() + usize::from(check.is_opt_in()),
        };
        let of = |&i: &usize| self.grounds[i].checks.iter().map(move |check| (i, *check));
        let mut all: Vec<(usize, Check)> = site.grounds.iter().flat_map(of).collect();
        all.sort_by_key(|(_, check)| rank(*check));
        all
    }

    fn is_clean(&self, i: usize, check: Check, all: bool) -> Result<bool, TrialError> {
        let known = |clean: &Mutex<BTreeMap<_, bool>>| {
            clean.lock().unwrap_or_else(PoisonError::into_inner).get(&(i, check, all)).copied()
        };
        if let Some(known) = known(&self.clean) {
            return Ok(known);
        }
        let ground = &self.grounds[i];
        let is_clean = found(self.subjects, ground, &ground.case, check, all)?.is_empty();
        let mut clean = self.clean.lock().unwrap_or_else(PoisonError::into_inner);
        clean.insert((i, check, all), is_clean);
        Ok(is_clean)
    }
}

/// Whether the model ends with an error at the reference point: the first check, and the op. Every check fails there, and
/// says what the first of them says; asking them would only take longer.
fn ended(ground: &Ground, faulty: &Faulty) -> Option<(Check, Option<String>)> {
    let (variant, check) = (ground.plan.variants.first()?, *ground.checks.first()?);
    let setup = setup(&ground.case, variant, variant.points.first()?, &Device::Cpu);
    let run = Rig::new(faulty, &setup).and_then(|rig| rig.forward(rig.inputs()));
    run.err().map(|failure| (check, failure.op))
}

/// What a check finds in a case, at its reference point or at all of its points.
fn found(
    subjects: &Registry,
    ground: &Ground,
    case: &Case,
    check: Check,
    all: bool,
) -> Result<Vec<Finding>, TrialError> {
    let point = ground.reference().filter(|_| !all);
    let (device, baseline) = (DeviceKind::Cpu, ground.baseline.as_ref());
    let outcome = run(&Trial { case, subjects, check, device, point, baseline, laws: None })?;
    Ok(outcome.findings)
}

/// One value more in the matrix, or a check more, with which the case would find the fault.
fn would(subjects: &Registry, ground: &Ground) -> Option<String> {
    let with = |said: String, case: Case, checks: &[Check], all: bool| {
        let found = |check| found(subjects, ground, &case, check, all);
        checks
            .iter()
            .any(|check| found(*check).is_ok_and(|found| !found.is_empty()))
            .then_some(said)
    };
    let case = || (*ground.case).clone();
    let sizes = ground.case.matrix.sizes.iter().enumerate().filter_map(|(i, (size, values))| {
        let more = 2 * values.iter().max()? + 1;
        let mut larger = case();
        larger.matrix.sizes[i].1 = vec![more];
        with(format!("{}: {more}", size.value), larger, &ground.checks, true)
    });
    let dtypes = [DType::F64].into_iter().filter_map(|dtype| {
        let mut other = case();
        other.matrix.dtypes = vec![dtype];
        with(format!("dtype: {}", dtype.name()), other, &ground.checks, true)
    });
    let opt_in = Check::ALL.into_iter().filter(|check| check.is_opt_in());
    let checks = opt_in
        .filter_map(|check| with(format!("the check {}", check.name()), case(), &[check], false));
    let values_are_known =
        ground.checks.iter().any(|c| matches!(c, Check::Scans | Check::Reference));
    let reference =
        (!values_are_known).then(|| "a reference, which alone knows what values should be,".into());
    sizes.chain(dtypes).chain(checks).next().or(reference)
}
