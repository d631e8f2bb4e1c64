//! The points of a case: what its matrix, filters and variants come to for one subject.
//!
//! A plan is made without a model and without touching a device, so that listing tests is fast.

mod device;
mod points;

use serde_json::{Map, Value};

use super::case::{Case, CaseErrors, DType, DeviceKind, Variant, nearest};
use crate::dims::Dims;

pub use device::{Environment, absent};

/// What a plan needs to know of a subject.
pub trait Describe {
    /// The sizes that each point sets: the name in a matrix (`batch`) and the symbol in shapes (`b`), in the order in
    /// which points are named.
    fn sizes(&self) -> Vec<(String, String)>;

    /// Reads a configuration and gives the dims that follow from it (`d`, `i`, `n`, …).
    ///
    /// # Errors
    /// Why the configuration is refused, with the field if one is to blame.
    fn check_config(&self, config: &Map<String, Value>) -> Result<Dims, ConfigProblem>;
}

/// Why a configuration is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ConfigProblem {
    /// The top-level key that is to blame, if it is one.
    pub field: Option<String>,
    /// What is expected and what was found.
    pub message: String,
}

/// A case for one subject, ready to run: at least one variant, each with at least one point.
#[derive(Clone, Debug)]
pub struct Plan {
    /// In the order of the case.
    pub variants: Vec<VariantPlan>,
}

/// One variant with its points.
#[derive(Clone, Debug)]
pub struct VariantPlan {
    /// Its name.
    pub name: String,
    /// Its whole configuration.
    pub config: Map<String, Value>,
    /// The dims that follow from the configuration, without those of a point.
    pub dims_of_config: Dims,
    /// The points; the first is the reference.
    pub points: Vec<Point>,
}

/// One run of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// `b8-l60-f32-cpu`: symbols with sizes, number format, device.
    pub name: String,
    /// Sizes by name (`batch`), in the subject's order.
    pub sizes: Vec<(String, usize)>,
    /// All dims: those of the sizes, then those of the configuration.
    pub dims: Dims,
    /// The number format.
    pub dtype: DType,
    /// The device.
    pub device: DeviceKind,
}

/// The plan of `case` for `subject`.
///
/// # Errors
/// A size that the subject does not know or the matrix does not give, a configuration that the subject refuses, a
/// symbol that is no dim, a filter or condition that meets no point, a reference point that is filtered out, more
/// points than `max_points`; each at its line in the case.
pub fn plan(case: &Case, subject: &dyn Describe) -> Result<Plan, CaseErrors> {
    let mut errors = points::faults_of_sizes(case, &subject.sizes());
    let mut configs = vec![];
    for variant in &case.variants {
        let config = case.config_of(variant);
        match subject.check_config(&config) {
            Ok(dims) => configs.push((variant, config, dims)),
            Err(problem) => errors.push(refused(case, variant, &problem)),
        }
    }
    // Points are made only from sizes that are known to be there and not too many.
    if let Some(errors) = CaseErrors::collect(errors) {
        return Err(errors);
    }
    points::expand(case, &subject.sizes(), configs)
}

/// The fault of a configuration, at the key that is to blame: in the variant if it is written there.
fn refused(case: &Case, variant: &Variant, problem: &ConfigProblem) -> super::case::CaseError {
    let field = problem.field.as_deref();
    let overridden = field.is_none_or(|field| variant.overrides.contains_key(field));
    let place = match (overridden && variant.at.is_some(), field) {
        (true, Some(field)) => case.locate(&["variants", &variant.name, field]),
        (true, None) if !variant.overrides.is_empty() => case.locate(&["variants", &variant.name]),
        (_, Some(field)) => case.locate(&["config", field]),
        _ => case.locate(&["config"]),
    };
    let named = field.map_or_else(String::new, |field| format!(" `{field}`"));
    let message = format!("subject `{}` refuses config{named}: {}", case.subject, problem.message);
    let error = case.error(place, message);
    let inside = variant.at.map(|_| format!("in variant `{}`", variant.name));
    match (meant(&problem.message), inside) {
        (None, None) => error,
        (Some(name), None) => error.with_help(format!("did you mean `{name}`?")),
        (None, Some(inside)) => error.with_help(inside),
        (Some(name), Some(inside)) => error.with_help(format!("did you mean `{name}`? {inside}")),
    }
}

/// Of serde's "unknown field `a`, expected one of `b`, `c`": the expected name that is near.
fn meant(message: &str) -> Option<&str> {
    let rest =
        message.strip_prefix("unknown field `").or(message.strip_prefix("unknown variant `"))?;
    let mut quoted = rest.split('`');
    let word = quoted.next()?;
    nearest(word, quoted.skip(1).step_by(2))
}
