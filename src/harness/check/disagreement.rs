//! Two computations that should agree and do not, and checks that could not tell.

use crate::harness::run::Likeness;
use crate::trace::locate::Place;

/// Two computations that differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Disagreement {
    /// The output, or the parameter or input whose gradient it is.
    pub name: String,
    /// Whether it is a gradient.
    pub gradient: bool,
    /// What should hold.
    pub claim: Claim,
    /// The first step of the pass at which it does not hold, where taps show it.
    pub first: Option<First>,
    /// max |a − b| / max |b|.
    pub error: f64,
    /// What is allowed; 0 asks for equal values.
    pub tolerance: f64,
}

/// The first step at which two passes differ.
#[derive(Debug, Clone, PartialEq)]
pub struct First {
    /// Its name.
    pub step: String,
    /// Its line, where it is known.
    pub place: Option<Place>,
    /// The tap before it, at which they still agree.
    pub after: Option<(String, Place)>,
    /// What its values have to do with those that they should be.
    pub like: Option<Likeness>,
}

impl First {
    /// The places between which the fault lies: the last tap that agrees, and the first that does not.
    pub fn places(&self) -> Vec<Place> {
        let after = self.after.iter().map(|(_, place)| place.clone());
        self.place.iter().cloned().chain(after).collect()
    }
}

/// What should hold between two computations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// The model computes what its definition does.
    Definition,
    /// The model computes what another subject does.
    Subject(String),
    /// A row of the batch stays as it is where only another row of the inputs changes.
    RowIsolated {
        /// The row of the inputs that was changed.
        changed: usize,
        /// How many rows there are.
        rows: usize,
    },
    /// A row by itself gives what it gives within a batch.
    RowAlone {
        /// The row.
        row: usize,
        /// How many rows there are.
        rows: usize,
    },
    /// Rows in another order give the same rows in that order.
    RowsReordered,
    /// The gradients of two parts of a batch add up to that of the whole.
    RowsAdd {
        /// How many rows there are.
        rows: usize,
    },
    /// Nothing before a place in the sequence changes where the inputs change from there on.
    Past {
        /// The first place that was changed.
        from: usize,
        /// The length.
        l: usize,
    },
    /// No gradient of what comes before a place reaches the inputs from there on.
    PastGradient {
        /// The first place whose inputs must have none.
        from: usize,
        /// The length.
        l: usize,
    },
    /// Read in pieces, a sequence gives what it gives as a whole.
    Pieces {
        /// The lengths of the pieces.
        lengths: Vec<usize>,
    },
    /// Read in pieces, a sequence leaves the state that it leaves as a whole.
    PiecesState {
        /// The lengths of the pieces.
        lengths: Vec<usize>,
    },
    /// A run that is watched gives what one that nobody watches does.
    Unwatched,
    /// Inputs that lie otherwise in memory give what contiguous ones give.
    StridedInputs(Lie),
    /// So does a tap whose tensor lies otherwise in memory.
    StridedTap {
        /// The tap.
        tap: String,
        /// How it lies.
        lie: Lie,
    },
    /// A device gives what the CPU does.
    OnTheCpu,
    /// A gradient is what finite differences show.
    Derivative,
    /// The model computes in its number format what it computes in f64.
    InF64,
    /// A model built anew from the same seed gives the same values.
    Anew,
    /// A second run of the same model on the same inputs gives the same values.
    Again,
}

/// How a tensor lies in memory, where not in order from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lie {
    /// The last two axes are exchanged.
    Transposed,
    /// In order, behind others.
    Behind,
    /// Each row behind part of a wider one.
    Window,
}

/// An axis of 1 that is repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expansion {
    /// The named step that it flows into.
    pub step: String,
    /// That step's line.
    pub place: Option<Place>,
    /// The extents before.
    pub from: Vec<usize>,
    /// The extents after.
    pub to: Vec<usize>,
}

/// Why a check could not tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inconclusive {
    /// No output has an axis that is the dim.
    NoAxis {
        /// The dim.
        symbol: String,
        /// The outputs and their shapes.
        outputs: Vec<(String, Vec<usize>)>,
    },
    /// No input has an axis that is the dim.
    NoInput {
        /// The dim.
        symbol: String,
    },
    /// Other values of an input change no output.
    ReachesNothing {
        /// The input.
        input: String,
    },
    /// No point is large enough.
    TooShort {
        /// The dim.
        symbol: String,
        /// The least value that shows anything.
        least: usize,
    },
    /// Backward gives no gradient at all.
    NoDerivative,
    /// No pass with a strided tensor reached its end.
    NoStrided {
        /// What the last one said; nothing where no tensor could lie otherwise.
        refused: Option<String>,
    },
    /// The subject says that its model keeps a state, and the model gives none.
    NoState,
}
