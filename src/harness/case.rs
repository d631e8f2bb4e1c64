//! Cases: what one YAML file says, strictly read.
//!
//! One file is one case, and its path below `cases/` is its name. `cases/README.md` has the format, field by field. A
//! case knows nothing of models or tensors: whether a size, a config key or a check exists is found by those who know,
//! who report it through [`Case::error`] with the line that it stands in.
//!
//! ```
//! use std::path::Path;
//! use shapelock::harness::case::{Case, CasePath};
//!
//! let yaml = "
//! subject: dense_ssm
//! why: batch must survive the state loop
//! matrix: {batch: [8, 1], seq: [60]}
//! shapes: {states: b l n}
//! ";
//! let path = CasePath::new("dense_ssm::short").expect("a name");
//! let case = Case::parse(Path::new("cases/dense_ssm/short.yaml"), path, yaml.as_bytes())?;
//! assert_eq!(case.shapes[0].axes.to_string(), "(b, l, n)");
//! # Ok::<(), shapelock::harness::case::CaseErrors>(())
//! ```

mod contract;
mod error;
mod fields;
mod kinds;
mod matrix;
mod path;
mod reader;
#[cfg(feature = "cli")]
mod schema;
mod source;
mod tree;
mod verdict;
mod write;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

pub use contract::{Contract, Pattern, PatternError, ZeroGradient};
pub(crate) use error::visible;
pub use error::{CaseError, CaseErrors, Position, Spanned};
pub use kinds::{DType, DeviceKind};
pub use matrix::{Filter, Matrix, PartialPoint};
pub use path::{CaseFile, CasePath, Discovered, NameError, discover};
pub(crate) use reader::{nearest, suggest};
#[cfg(feature = "cli")]
pub use schema::schema;
pub use source::Source;
pub use write::{block, contract_notation, flow, flow_map};

/// One case, as its file says it, with defaults filled in.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name.
    pub path: CasePath,
    /// Its file, as given to [`Case::load`].
    pub file: PathBuf,
    /// The model under test, by name.
    pub subject: String,
    /// What would go wrong without this case.
    pub why: String,
    /// The model's configuration, which the subject reads.
    pub config: Map<String, Value>,
    /// The seed of parameters, inputs and cotangents.
    pub seed: u64,
    /// Changes to the configuration, each with a section of its own in the snapshot; at least one.
    pub variants: Vec<Variant>,
    /// The values that the case is run over.
    pub matrix: Matrix,
    /// Points that are left out.
    pub except: Vec<Spanned<Filter>>,
    /// Points that are kept; all if there is none.
    pub only: Vec<Spanned<Filter>>,
    /// The contract of steps.
    pub shapes: Vec<Contract>,
    /// Gradients that vanish under a condition.
    pub zero_gradient: Vec<ZeroGradient>,
    /// The checks to make; nothing if the subject decides.
    pub checks: Option<Vec<Spanned<String>>>,
    /// Steps before which an axis of 1 may be repeated, as patterns.
    pub broadcast: Vec<Pattern>,
    /// Steps that may be in f32 or wider where the point's number format is narrower, as patterns.
    pub keeps_f32: Vec<Pattern>,
    /// How far values may differ. See [`Case::tolerance`].
    pub tolerance: Vec<Tolerance>,
    /// Words to select cases by.
    pub tags: Vec<String>,
    /// Which steps the snapshot holds.
    pub lock: Lock,
    /// The error that each point has to end with.
    pub expect: Option<Expect>,
    /// For a subject with a known fault: what has to find it.
    pub fault: Option<Fault>,
    /// Another subject with the same parameters, which has to compute the same.
    pub reference: Option<Spanned<String>>,
    /// Memory in bytes that one point may take.
    pub budget: u64,
    /// Points that the case may have over all its variants.
    pub max_points: usize,
    /// The text that all this was read from.
    pub source: Source,
}

/// A change to the configuration of a case.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// Top-level keys of the configuration with the values they take.
    pub overrides: Map<String, Value>,
    /// Where its name stands; nothing if the case names no variants.
    pub at: Option<Position>,
}

/// How far the values of a check may be apart: max |a - b| / max |b|.
#[derive(Clone, Debug, PartialEq)]
pub struct Tolerance {
    /// The check.
    pub check: Spanned<String>,
    /// The number format that it is for; all if nothing.
    pub dtype: Option<DType>,
    /// At least 0, finite.
    pub value: f64,
}

/// Which steps the snapshot of a case holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema), schemars(rename_all = "lowercase"))]
pub enum Lock {
    /// Every step.
    #[default]
    All,
    /// Steps with a name: taps, parameters, inputs and outputs.
    Named,
}

/// An error that is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expect {
    /// Text that the error contains.
    pub error: String,
    /// The step at which it happens.
    pub at: Option<String>,
}

/// What has to find the known fault of a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The same subject without the fault, on which every check has to pass.
    pub twin: Option<Spanned<String>>,
    /// The checks that have to fail; at least one.
    pub caught_by: Vec<Spanned<String>>,
    /// The step that each of them has to name.
    pub at: Vec<At>,
    /// Text that the cause they give contains.
    pub cause: Option<String>,
    /// The library, and its version, that has the fault.
    pub alive_in: Option<String>,
}

/// The step at which a known fault is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At {
    /// The check that finds it there; all of them if nothing.
    pub check: Option<String>,
    /// The step, parameter or op.
    pub step: String,
}

impl Fault {
    /// The step that a check has to name, if the case says one.
    pub fn at(&self, check: &str) -> Option<&str> {
        let of_check = |at: &&At| at.check.as_deref().is_none_or(|own| own == check);
        self.at.iter().find(of_check).map(|at| at.step.as_str())
    }
}

impl Case {
    /// Reads a case from its file.
    ///
    /// # Errors
    /// Every fault of the file that can be found at once: a file that cannot be read, text that is no YAML, fields that
    /// are unknown, missing or of a wrong form.
    pub fn load(file: &Path, path: CasePath) -> Result<Self, CaseErrors> {
        if let Some(error) = path::irregular(file) {
            return Err(error.into());
        }
        let unreadable = |error| CaseError::whole(file, format!("cannot be read: {error}"));
        let mut bytes = vec![];
        // One byte more than allowed is enough to see that a file is too large.
        let handle = File::open(file).map_err(unreadable)?;
        handle.take(source::MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        Self::parse(file, path, &bytes)
    }

    /// Reads a case from the bytes of `file`, without touching the file.
    ///
    /// # Errors
    /// As [`Case::load`].
    pub fn parse(file: &Path, path: CasePath, bytes: &[u8]) -> Result<Self, CaseErrors> {
        fields::case(file, path, bytes)
    }

    /// The configuration of a variant: that of the case, with the variant's keys in place of its own.
    pub fn config_of(&self, variant: &Variant) -> Map<String, Value> {
        let mut config = self.config.clone();
        config.extend(variant.overrides.clone());
        config
    }

    /// The tolerance for a check and a number format, if the case sets one. One for the format goes before one for all.
    pub fn tolerance(&self, check: &str, dtype: DType) -> Option<f64> {
        let mine = self.tolerance.iter().filter(|one| one.check.value == check);
        let exact = mine.clone().find(|one| one.dtype == Some(dtype));
        exact.or_else(|| mine.clone().find(|one| one.dtype.is_none())).map(|one| one.value)
    }

    /// Whether a step may be in f32 or wider in a pass of that format.
    pub fn keeps_f32(&self, step: &str, pass: DType) -> bool {
        let is_half = matches!(pass, DType::F16 | DType::BF16);
        is_half && self.keeps_f32.iter().any(|kept| kept.matches(step))
    }

    /// The subject to compare with: the one that the case names, or the right twin of a subject with a known fault.
    pub fn reference(&self) -> Option<&Spanned<String>> {
        let twin = || self.fault.as_ref().and_then(|fault| fault.twin.as_ref());
        self.reference.as_ref().or_else(twin)
    }

    /// The place that a path of keys and list indices leads to: see [`Source::locate`].
    pub fn locate(&self, path: &[&str]) -> Position {
        self.source.locate(path)
    }

    /// A fault of this case, found by someone who knows more than the format.
    pub fn error(&self, at: Position, message: impl Into<String>) -> CaseError {
        self.source.error(at, message)
    }
}
