//! `lints`: what the graph shows that is seldom meant, whatever the values.
//!
//! A product whose left side is strided and whose right side is repeated, which candle's CPU kernel folds without looking; a
//! product that sums over the rows of a batch; tensors that no point of the case joins with another; a constant in another
//! number format than the pass.

mod formats;
mod joins;
mod products;

use std::collections::BTreeSet;

use super::pairs::Pairs;
use super::tally::Tally;
use super::{Check, Finding, What};
use crate::dims::Dims;
use crate::harness::case::DType;
use crate::harness::law::{Law, starred};
use crate::harness::plan::Point;
use crate::harness::run::{Depth, observe};
use crate::harness::study::{Study, StudyError, device, setup};
use crate::trace::locate::Place;
use crate::trace::op::RawOp;
use crate::trace::{Name, Trace};
use formats::other_formats;
use joins::never_joined;
use products::{rows_summed, strided_product};

/// Something in the graph that is seldom meant.
#[derive(Debug, Clone, PartialEq)]
pub struct Lint {
    /// What it is.
    pub odd: Odd,
    /// The named step that it flows into.
    pub step: String,
    /// That step's line.
    pub place: Option<Place>,
}

/// What is odd.
#[derive(Debug, Clone, PartialEq)]
pub enum Odd {
    /// A product whose left side is strided and whose right side is one matrix for all rows.
    StridedProduct {
        /// Extents of the left side.
        left: Vec<usize>,
        /// Its strides.
        strides: Vec<usize>,
        /// Extents of the right side.
        right: Vec<usize>,
    },
    /// A product that sums over the rows of the batch.
    RowsSummed {
        /// Extents of the left side.
        left: Vec<usize>,
        /// Extents of the right side.
        right: Vec<usize>,
        /// Whether it is the right side whose rows are summed.
        in_right: bool,
    },
    /// Tensors are joined at other sizes, and at none of the case's.
    NeverJoined {
        /// Sizes at which they are.
        at: Dims,
        /// How many.
        pieces: usize,
    },
    /// A constant in another number format.
    OtherFormat {
        /// Extents of the constant.
        shape: Vec<usize>,
        /// Its format.
        actual: &'static str,
        /// The pass's.
        expected: DType,
    },
}

/// What is odd in the runs of a study, and in one more in f64: of each kind the first, with the steps of all.
///
/// # Errors
/// A device that cannot be opened.
pub fn lints(of: &Pairs<'_>, study: &Study) -> Result<Vec<Finding>, StudyError> {
    let law = law_of(study);
    let witness = of_trace(of, law, &study.witness.trace, DType::F32);
    let at = |seen: &crate::harness::study::Seen| {
        let lints = of_trace(of, law, &seen.run.trace, seen.point.dtype);
        (seen.point.clone(), lints)
    };
    let mut seen: Vec<(Point, Vec<Lint>)> = study.seen.iter().map(at).collect();
    // A constant in f32 is none in a run in f32: the reference point stands for a run in f64 too.
    if let Some((reference, lints)) = seen.first_mut() {
        let exact = run(of, &Point { dtype: DType::F64, ..reference.clone() })?;
        lints.extend(other_formats(of, &exact, DType::F64));
    }
    let never = never_joined(of, study)?;
    seen.iter_mut().for_each(|(_, lints)| lints.extend(never.iter().cloned()));
    let all = seen.iter().flat_map(|(_, lints)| lints).chain(&witness);
    let kinds: BTreeSet<usize> = all.map(|lint| kind(&lint.odd)).collect();
    Ok(kinds.into_iter().filter_map(|kind| finding(study, &seen, &witness, kind)).collect())
}

fn kind(odd: &Odd) -> usize {
    match odd {
        Odd::StridedProduct { .. } => 0,
        Odd::RowsSummed { .. } => 1,
        Odd::NeverJoined { .. } => 2,
        Odd::OtherFormat { .. } => 3,
    }
}

fn finding(
    study: &Study,
    seen: &[(Point, Vec<Lint>)],
    witness: &[Lint],
    of_kind: usize,
) -> Option<Finding> {
    let of_kind = |lint: &&Lint| kind(&lint.odd) == of_kind;
    let all = || seen.iter().flat_map(|(_, lints)| lints).chain(witness).filter(of_kind);
    let first = all().next()?.clone();
    let mut steps: Vec<String> = Vec::new();
    for step in all().map(|lint| starred(&lint.step)) {
        if !steps.contains(&step) {
            steps.push(step);
        }
    }
    let shows = |lints: &[Lint]| lints.iter().any(|lint| of_kind(&lint));
    let at = seen.iter().find(|(_, lints)| shows(lints)).map(|(point, _)| point.dims.clone());
    Some(Finding {
        check: Check::Lints,
        variant: study.variant.clone(),
        tally: Tally::new(seen.iter().map(|(point, lints)| (point, shows(lints)))),
        at: at.unwrap_or_else(|| study.witness.dims.clone()),
        what: What::Odd(Box::new(first), steps),
    })
}

/// What one run shows by itself.
fn of_trace(of: &Pairs<'_>, law: &Law, trace: &Trace, dtype: DType) -> Vec<Lint> {
    let strided = |op: &RawOp| lint(trace, op, strided_product(trace, op)?);
    let mut lints: Vec<Lint> = trace.ops.iter().filter_map(strided).collect();
    lints.extend(rows_summed(of, law, trace));
    lints.extend(other_formats(of, trace, dtype));
    lints
}

/// What is known of a variant's shapes: up to the error, where the witness runs end with one.
fn law_of(study: &Study) -> &Law {
    if study.law.forward.is_empty() { &study.begun } else { &study.law }
}

fn lint(trace: &Trace, op: &RawOp, odd: Odd) -> Option<Lint> {
    let Name { name, place, .. } = trace.next_name(op)?;
    Some(Lint { odd, step: name.clone(), place: place.clone() })
}

/// The trace of one more run.
fn run(of: &Pairs<'_>, point: &Point) -> Result<Trace, StudyError> {
    let device = device(point.device)?;
    let setup = setup(of.case, of.variant, point, &device);
    Ok(observe(of.subject, &setup, Depth::Forward)?.0.trace)
}
