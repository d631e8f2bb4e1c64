//! A model at one point, and where a named dim is in everything it reads and returns.

use candle_core::{Result, Tensor};

use super::disagreement::{First, Inconclusive};
use super::pairs::{Pairs, Stop, Verdict, first_apart};
use super::{Finding, What};
use crate::dims::Dims;
use crate::harness::plan::Point;
use crate::harness::run::slices::{Grown, InputAxes, altered, input_axes};
use crate::harness::run::{Named, Pass, Rig, Setup, apart};
use crate::harness::study::StudyError;
use crate::harness::subject::{AnySubject, Inputs};

/// A model, one pass of it, and the axes along one dim.
pub struct Along {
    /// The model.
    pub rig: Rig,
    /// The axis of each input.
    pub axes: InputAxes,
    /// A pass over the inputs as they are.
    pub whole: Pass,
    /// The axis of each output and tap.
    pub grown: Grown,
    /// The dim's symbol.
    pub symbol: String,
    /// The dim's value.
    pub n: usize,
    /// All dims of the point.
    pub dims: Dims,
}

/// The size that counts places of a sequence.
const SIZE: &str = "seq";
/// One place has no past, and cannot be cut.
const LEAST: usize = 2;

/// What a check finds at the points, each run along its sequence; a model that reads none has nothing to be found.
///
/// # Errors
/// A device that cannot be opened.
pub fn findings(
    of: &Pairs<'_>,
    verdict: impl Fn(Along, &Point) -> Verdict,
) -> std::result::Result<Vec<Finding>, StudyError> {
    let Some(symbol) = of.symbol(SIZE) else { return Ok(Vec::new()) };
    of.findings(Point::clone, |point, setup| {
        if point.dims.get(&symbol).unwrap_or(1) < LEAST {
            let symbol = symbol.clone();
            return Err(Stop::inconclusive(Inconclusive::TooShort { symbol, least: LEAST }));
        }
        let along = Along::new(of.subject, setup, &symbol)?;
        if along.is_empty() { Ok(()) } else { verdict(along, point) }
    })
}

impl Along {
    /// Runs the model at the setup, and once more with the dim larger, to see which axes grow with it.
    ///
    /// # Errors
    /// What the model fails with at the setup; nothing where no input or no output has the dim as an axis of its own.
    pub fn new(
        subject: &dyn AnySubject,
        setup: &Setup<'_>,
        symbol: &str,
    ) -> std::result::Result<Self, Stop> {
        let rig = Rig::new(subject, setup)?;
        let whole = rig.forward(rig.inputs())?;
        let axes = input_axes(subject, setup, symbol)?;
        let n = setup.dims.get(symbol).unwrap_or(1);
        // A model may take no length but multiples of something: twice the length is one if the length is.
        let grown = [n + 1, 2 * n].into_iter().find_map(|m| {
            let dims = setup.dims.clone().with(symbol, m);
            let rig = Rig::new(subject, &Setup { dims: &dims, ..setup.clone() }).ok()?;
            let larger = rig.forward(rig.inputs()).ok()?;
            Some(Grown::between(&whole, &larger, n, m))
        });
        let (grown, dims) = (grown.unwrap_or_default(), setup.dims.clone());
        let along = Self { rig, axes, whole, grown, symbol: symbol.to_owned(), n, dims };
        along.can_tell()?;
        Ok(along)
    }

    fn can_tell(&self) -> std::result::Result<(), Stop> {
        let symbol = self.symbol.clone();
        if self.axes.iter().all(|(_, axis)| axis.is_none()) {
            return Err(Stop::inconclusive(Inconclusive::NoInput { symbol }));
        }
        if self.grown.in_no_output() {
            let shape = |(name, t): &(String, Tensor)| (name.clone(), t.dims().to_vec());
            let outputs = self.whole.outputs.iter().map(shape).collect();
            return Err(Stop::inconclusive(Inconclusive::NoAxis { symbol, outputs }));
        }
        Ok(())
    }

    /// The inputs with other values at `start..start + len`, in all of them or in one.
    ///
    /// # Errors
    /// Candle's own.
    pub fn altered(&self, range: (usize, usize), only: Option<&str>) -> Result<Inputs> {
        altered(self.rig.inputs(), &self.axes, range, &self.dims, only)
    }

    /// The outputs that have the dim, cut out by `cut`.
    ///
    /// # Errors
    /// Those of `cut`.
    pub fn cut(
        &self,
        pass: &Pass,
        cut: impl Fn(&Tensor, usize) -> Result<Tensor>,
    ) -> Result<Named> {
        self.grown.of_outputs(&pass.outputs, cut)
    }

    /// The first tap at which two passes differ, each cut out by its own function.
    pub fn first(
        &self,
        (pass, other): (&Pass, &Pass),
        tolerance: f64,
        cut: impl Fn(&Tensor, usize) -> Result<Tensor>,
        cut_other: impl Fn(&Tensor, usize) -> Result<Tensor>,
    ) -> Option<First> {
        first_apart(pass, other, tolerance, |key, a, b| {
            let axes = self.grown.tap(key)?;
            let a = axes.iter().try_fold(a.clone(), |t, axis| cut(&t, *axis)).ok()?;
            let b = axes.iter().try_fold(b.clone(), |t, axis| cut_other(&t, *axis)).ok()?;
            Some((a, b))
        })
    }

    /// The control of every check that changes inputs: each input's other values reach some output.
    ///
    /// # Errors
    /// An input that reaches nothing; what the model fails with.
    pub fn reach(&self, range: (usize, usize)) -> std::result::Result<(), Stop> {
        for (input, axis) in &self.axes {
            let values = self.rig.inputs().get(&input.name)?;
            if axis.is_none() || values.elem_count() == 0 {
                continue;
            }
            let pass = self.rig.forward(&self.altered(range, Some(&input.name))?)?;
            let outputs = self.whole.outputs.iter().zip(&pass.outputs);
            let mut changed = outputs.filter(|((_, a), (_, b))| apart(a, b, 0.).is_some());
            if changed.next().is_none() {
                let input = input.name.clone();
                return Err(Stop::inconclusive(Inconclusive::ReachesNothing { input }));
            }
        }
        Ok(())
    }

    /// Whether there is nothing to look at: no output has an element.
    pub fn is_empty(&self) -> bool {
        self.whole.outputs.iter().all(|(_, t)| t.elem_count() == 0)
    }
}

impl Stop {
    /// The check cannot tell.
    pub fn inconclusive(why: Inconclusive) -> Self {
        Self::Found(Box::new(What::Inconclusive(why)))
    }
}
