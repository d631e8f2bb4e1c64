//! Making the witness runs of a study.

use candle_core::{DType, Device};

use crate::dims::Dims;
use crate::harness::case::Case;
use crate::harness::law::witness::{Kind, Witness};
use crate::harness::run::{Depth, Observation, Setup, observe};
use crate::harness::subject::AnySubject;
use crate::trace::graph::InternalsChanged;

/// The witness runs that tell something.
pub(super) struct Witnesses {
    /// The base first.
    pub(super) all: Vec<Observation>,
    /// How many of them have to agree in structure.
    pub(super) strict: usize,
    /// How many have lengths at which loops repeat, the strict ones included.
    pub(super) long: usize,
    /// Dims at which a run ends with an error although the base does not, and what it says.
    pub(super) ended: Option<(Dims, String)>,
}

impl Witnesses {
    /// Whether the base works.
    pub(super) fn works(&self) -> bool {
        self.all.first().is_some_and(works)
    }
}

/// The dims of a run that ended with an error, and what it says.
pub(super) fn error(run: &Observation) -> Option<(Dims, String)> {
    let message = run.failure.as_ref()?.message.lines().next().unwrap_or_default();
    Some((run.dims.clone(), message.to_owned()))
}

/// Runs the witnesses; what ends otherwise than the base tells nothing about its law.
pub(super) fn witnesses(
    case: &Case,
    subject: &dyn AnySubject,
    chosen: &[Witness],
) -> Result<Witnesses, InternalsChanged> {
    let run = |w: &Witness| {
        observe(subject, &witness_setup(w, case.seed), Depth::Forward).map(|(run, _)| run)
    };
    let mut all: Vec<Observation> = chosen.first().map(run).transpose()?.into_iter().collect();
    let (mut strict, mut long, mut ended) = (all.len(), all.len(), None);
    let Some(base) = all.first().map(works) else {
        return Ok(Witnesses { all, strict, long, ended });
    };
    for witness in &chosen[1..] {
        let other = run(witness)?;
        // One that ends as the base does tells what holds up to there.
        if works(&other) == base {
            strict += usize::from(witness.kind == Kind::Strict);
            long += usize::from(witness.kind != Kind::Short);
            all.push(other);
        } else if base && ended.is_none() && witness.kind != Kind::Short {
            ended = error(&other);
        }
    }
    Ok(Witnesses { all, strict, long, ended })
}

/// Whether a run can stand for others: it reached its end, and not by having nothing to do.
fn works(run: &Observation) -> bool {
    run.failure.is_none() && run.dims.iter().all(|(_, n)| n > 0)
}

/// The setup of a witness run.
pub(super) fn witness_setup(witness: &Witness, seed: u64) -> Setup<'_> {
    Setup {
        config: &witness.config,
        dims: &witness.dims,
        seed,
        dtype: DType::F32,
        device: &Device::Cpu,
        mixing: true,
    }
}
