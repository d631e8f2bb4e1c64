//! What checks find, as data.

use super::Check;
use super::align::Row;
use super::cause::Cause;
use super::disagreement::{Disagreement, Expansion, Inconclusive};
use super::lints::Lint;
use super::tally::Tally;
use crate::dims::{Axes, Condition, Dims};
use crate::harness::case::DType;
use crate::harness::law::{Unlawful, starred};
use crate::harness::run::Failure;
use crate::harness::study::Study;
use crate::trace::locate::Place;

/// Something that should not be, in one variant of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Who found it.
    pub check: Check,
    /// In which variant.
    pub variant: String,
    /// At which points, and at which not.
    pub tally: Tally,
    /// The first of these points: its dims.
    pub at: Dims,
    /// What it is.
    pub what: What,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// A step has another shape than it should, is missing, or is one too many.
    Shape(Box<Difference>),
    /// The model ended with an error or a panic.
    Failed(Box<Failed>),
    /// The model should have ended with an error, and did not, or with another.
    NotFailed {
        /// Text that was expected in the error.
        expected: String,
        /// What it said instead, if it failed.
        actual: Option<String>,
    },
    /// The law of a step cannot be stated; how many others beside it, which mostly follow from the first.
    Unlawful(Unlawful, usize),
    /// The contract names a step that the model does not have.
    NoSuchStep {
        /// The pattern.
        pattern: String,
        /// The line of the case.
        line: usize,
        /// The names there are.
        names: Vec<String>,
    },
    /// A parameter's gradient is not what it should be.
    Gradient(Box<GradientProblem>),
    /// The first step whose values are not all finite.
    NotFinite {
        /// The step.
        step: String,
        /// Its line.
        place: Option<Place>,
    },
    /// Two computations that should agree do not.
    Disagree(Box<Disagreement>),
    /// A tap or output in another number format than its pass.
    OtherFormat {
        /// The tap or output.
        step: String,
        /// Its line, for a tap.
        place: Option<Place>,
        /// The format of the pass.
        expected: DType,
        /// Its own.
        actual: &'static str,
        /// All of them, `*` for numbers.
        steps: Vec<String>,
    },
    /// An axis of 1 is repeated, and the case does not list it; with the steps of all that it does not.
    Expanded(Box<Expansion>, Vec<String>),
    /// The op graph shows something that is seldom meant; with the steps of all of its kind.
    Odd(Box<Lint>, Vec<String>),
    /// A check could not tell anything, which is no pass.
    Inconclusive(Inconclusive),
    /// A known fault was not caught as its case says.
    NotCaught {
        /// What the case says.
        expected: String,
        /// What there was instead.
        actual: String,
    },
    /// A point that would take more memory than the case allows; nothing of it was allocated.
    TooLarge {
        /// Estimated bytes.
        bytes: u64,
    },
}

impl Finding {
    /// What `shapes` found in a study, at the first of the failing points; at the witness run where no point fails.
    pub fn of_shapes(study: &Study, tally: Tally, what: What) -> Self {
        let first = tally.failed.first();
        let at = study.seen.iter().find(|seen| Some(&seen.point.name) == first);
        let at = at.map_or_else(|| study.witness.dims.clone(), |seen| seen.point.dims.clone());
        Self { check: Check::Shapes, variant: study.variant.clone(), tally, at, what }
    }
}

impl What {
    /// Whether it is about that step, parameter or op; `*` stands for the numbers in a name.
    pub fn concerns(&self, name: &str) -> bool {
        let is = |own: &str| own == name || starred(own) == name;
        match self {
            Self::Gradient(problem) => problem.parameters.iter().any(|own| is(own)),
            other => other.step().is_some_and(is),
        }
    }

    /// The step, parameter or op to blame.
    pub fn step(&self) -> Option<&str> {
        match self {
            Self::Shape(difference) => Some(&difference.step),
            Self::Failed(failed) => failed.failure.op.as_deref(),
            Self::Gradient(problem) => Some(&problem.parameter),
            Self::NotFinite { step, .. } | Self::OtherFormat { step, .. } => Some(step),
            Self::Expanded(expansion, _) => Some(&expansion.step),
            Self::Odd(lint, _) => Some(&lint.step),
            Self::Disagree(d) => Some(d.first.as_ref().map_or(&d.name, |first| &first.step)),
            Self::Unlawful(Unlawful::Axis { step, .. }, _) => Some(step),
            _ => None,
        }
    }

    /// Its line, or those of the two places around it.
    pub fn places(&self) -> Vec<Place> {
        match self {
            Self::Shape(difference) => match (&difference.place, &difference.between) {
                (Some(place), _) => vec![place.clone()],
                (None, (before, after)) => {
                    [before, after].into_iter().flatten().map(|(_, place)| place.clone()).collect()
                }
            },
            Self::Failed(failed) => failed.failure.places.iter().take(1).cloned().collect(),
            Self::NotFinite { place, .. } | Self::OtherFormat { place, .. } => {
                place.iter().cloned().collect()
            }
            Self::Expanded(expansion, _) => expansion.place.iter().cloned().collect(),
            Self::Odd(lint, _) => lint.place.iter().cloned().collect(),
            Self::Disagree(d) => d.first.iter().flat_map(|first| first.places()).collect(),
            _ => Vec::new(),
        }
    }
}

/// The first step of a forward pass that is not as expected.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The step's name.
    pub step: String,
    /// Whether somebody gave it that name.
    pub named: bool,
    /// Its line, where it is known.
    pub place: Option<Place>,
    /// The nearest places around it, where its own line is not known.
    pub between: Around,
    /// What was expected, and who says so.
    pub expected: Option<Shape>,
    /// Who says so.
    pub source: Source,
    /// What there was.
    pub actual: Option<Shape>,
    /// Why, where that can be told.
    pub cause: Option<Cause>,
    /// The whole pass, expected against actual.
    pub rows: Vec<Row>,
    /// Set where nothing but unnamed steps differ: the named steps around them.
    pub only_unnamed: Option<(String, String)>,
    /// The error that the run ended with after it.
    pub error: Option<Failure>,
}

/// The nearest steps before and after whose lines are known.
pub type Around = (Option<(String, Place)>, Option<(String, Place)>);

/// A shape, with its symbols where they are known.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// The symbols.
    pub axes: Option<Axes>,
    /// The extents.
    pub extents: Vec<usize>,
}

/// Who says what a shape should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The case's contract, at this line.
    Contract(usize),
    /// The right twin of a subject with a fault.
    Twin(String),
    /// The law that the other points obey.
    Law,
    /// The locked snapshot.
    Baseline,
}

/// A model that ended with an error.
#[derive(Debug, Clone, PartialEq)]
pub struct Failed {
    /// The error.
    pub failure: Failure,
    /// For each operand, what in the model has its shape, in quotes.
    pub operands: Vec<(Vec<usize>, Option<String>)>,
    /// The steps before it.
    pub rows: Vec<Row>,
    /// Why, where that can be told.
    pub cause: Option<Cause>,
}

/// What is wrong with a gradient.
#[derive(Debug, Clone, PartialEq)]
pub struct GradientProblem {
    /// The parameter.
    pub parameter: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// What is wrong.
    pub wrong: WrongGradient,
    /// The last tap whose gradient is missing or not finite, and the first after it that has a right one: the fault lies
    /// between.
    pub severed: Option<(Option<String>, Option<String>)>,
    /// Every parameter with the same problem, this one included.
    pub parameters: Vec<String>,
}

/// The ways a gradient can be wrong.
#[derive(Debug, Clone, PartialEq)]
pub enum WrongGradient {
    /// Backward gave it none.
    Missing,
    /// No op of the pass reads it.
    Unused,
    /// It has another shape than its parameter.
    Shape(Vec<usize>),
    /// A value is NaN or infinite.
    NotFinite,
    /// It is zero at every point.
    ZeroEverywhere,
    /// It is zero at a point where the case does not say so.
    Zero,
    /// It is not zero where the case says so.
    NotZero(Condition),
}
