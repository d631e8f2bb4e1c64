//! From a matrix to its points.
use serde_json::{Map, Value};

use super::{Plan, Point, VariantPlan};
use crate::dims::{Dims, DimsError};
use crate::harness::case::{
    Case, CaseError, CaseErrors, DType, DeviceKind, Filter, PartialPoint, Position, Spanned,
    Variant, suggest,
};

/// Sizes that the subject does not know or that the matrix does not give, and a matrix that is too large.
pub(super) fn faults_of_sizes(case: &Case, sizes: &[(String, String)]) -> Vec<CaseError> {
    let mut errors = vec![];
    let known = || sizes.iter().map(|(name, _)| name.as_str());
    for (name, _) in &case.matrix.sizes {
        if !known().any(|one| one == name.value) {
            let message = format!("subject `{}` has no size `{}`", case.subject, name.value);
            errors.push(case.error(name.at, message).with_help(suggest(&name.value, known())));
        }
    }
    let matrix = case.locate(&["matrix"]);
    for name in known() {
        if !case.matrix.sizes.iter().any(|(given, _)| given.value == name) {
            let message =
                format!("`matrix` has no `{name}`, which subject `{}` needs", case.subject);
            let help = format!("add `{name}: […]` to `matrix`");
            errors.push(case.error(matrix, message).with_help(help));
        }
    }
    let lists = case.matrix.sizes.iter().map(|(_, values)| values.len());
    let lists = lists.chain([case.matrix.dtypes.len(), case.matrix.devices.len()]);
    let count = lists.chain([case.variants.len()]).try_fold(1usize, usize::checked_mul);
    if count.is_none_or(|count| count > case.max_points) {
        let count = count.map_or_else(|| "more than 2^64".to_owned(), |count| count.to_string());
        let message = format!("{count} points, at most {} are meant", case.max_points);
        let help = "shorten a list of `matrix` or raise `max_points`";
        errors.push(case.error(matrix, message).with_help(help));
    }
    errors
}

/// All points of all variants, filtered.
pub(super) fn expand(
    case: &Case,
    sizes: &[(String, String)],
    configs: Vec<(&Variant, Map<String, Value>, Dims)>,
) -> Result<Plan, CaseErrors> {
    let mut variants = vec![];
    for (variant, config, dims_of_config) in configs {
        let points = all(case, sizes, &dims_of_config);
        let name = variant.name.clone();
        variants.push(VariantPlan { name, config, dims_of_config, points });
    }
    let mut errors = faults_of_filters(case, &variants);
    if errors.is_empty() {
        for (variant, given) in variants.iter_mut().zip(&case.variants) {
            errors.extend(filter(case, variant, given));
        }
    }
    errors.extend(faults_of_promises(case, &variants));
    match CaseErrors::collect(errors) {
        Some(errors) => Err(errors),
        None => Ok(Plan { variants }),
    }
}

/// The product of the matrix for one variant: devices outermost, the last size varies fastest.
fn all(case: &Case, sizes: &[(String, String)], of_config: &Dims) -> Vec<Point> {
    let mut rows: Vec<Vec<usize>> = vec![vec![]];
    for (name, _) in sizes {
        let listed = case.matrix.sizes.iter().find(|(listed, _)| listed.value == *name);
        let values = listed.map_or(&[][..], |(_, values)| values);
        let longer = |row: &Vec<usize>| {
            let row = row.clone();
            values.iter().map(move |value| [&row[..], &[*value]].concat())
        };
        rows = rows.iter().flat_map(longer).collect();
    }
    let mut points = vec![];
    for &device in &case.matrix.devices {
        for &dtype in &case.matrix.dtypes {
            points.extend(rows.iter().map(|row| point(sizes, row, of_config, dtype, device)));
        }
    }
    points
}

fn point(
    sizes: &[(String, String)],
    row: &[usize],
    of_config: &Dims,
    dtype: DType,
    device: DeviceKind,
) -> Point {
    let bound = sizes.iter().zip(row).map(|((_, symbol), size)| (symbol.as_str(), *size));
    let coordinates: String =
        bound.clone().map(|(symbol, size)| format!("{symbol}{size}-")).collect();
    Point {
        name: format!("{coordinates}{dtype}-{device}"),
        sizes: sizes.iter().zip(row).map(|((name, _), size)| (name.clone(), *size)).collect(),
        // A size goes before a dim of the same symbol from the configuration.
        dims: bound.clone().chain(of_config.iter()).chain(bound.clone()).collect(),
        dtype,
        device,
    }
}

/// Filters that have no value at some point, or that no point meets.
fn faults_of_filters(case: &Case, variants: &[VariantPlan]) -> Vec<CaseError> {
    let faults = case.only.iter().chain(&case.except).filter_map(|filter| {
        if let Filter::When(condition) = &filter.value {
            let fault = valueless(case, filter.at, variants, |dims| condition.eval(dims).err());
            if fault.is_some() {
                return fault;
            }
        }
        let met = variants.iter().any(|variant| {
            variant.points.iter().any(|point| meets(&filter.value, &variant.name, point))
        });
        let help = "a filter that meets nothing is out of date: change or remove it";
        let idle = || case.error(filter.at, "no point meets this filter").with_help(help);
        (!met).then(idle)
    });
    faults.collect()
}

/// Contracts and conditions of gradients that have no value at some point, and conditions that hold at none.
fn faults_of_promises(case: &Case, variants: &[VariantPlan]) -> Vec<CaseError> {
    let shapes = case.shapes.iter().filter_map(|contract| {
        valueless(case, contract.at, variants, |dims| contract.axes.eval(dims).err())
    });
    let zeros = case.zero_gradient.iter().filter_map(|zero| {
        let fault = valueless(case, zero.at, variants, |dims| zero.when.eval(dims).err());
        if fault.is_some() {
            return fault;
        }
        let mut points = variants.iter().flat_map(|variant| &variant.points);
        let first = points.clone().next()?;
        if points.any(|point| zero.when.eval(&point.dims).unwrap_or(false)) {
            return None;
        }
        let message = format!("`{}` holds at no point; the first is {}", zero.when, first.dims);
        let help = "add a size to `matrix` at which it holds";
        Some(case.error(zero.at, message).with_help(help))
    });
    shapes.chain(zeros).collect()
}

/// The first reason why something has no value at a point.
fn valueless(
    case: &Case,
    at: Position,
    variants: &[VariantPlan],
    error_at: impl Fn(&Dims) -> Option<DimsError>,
) -> Option<CaseError> {
    let mut points = variants.iter().flat_map(|variant| &variant.points);
    let (point, error) = points.find_map(|point| Some((point, error_at(&point.dims)?)))?;
    let told = case.error(at, error.to_string());
    match &error {
        DimsError::Unknown { symbol, .. } => {
            let known = point.dims.iter().map(|(symbol, _)| symbol);
            Some(told.with_help(suggest(symbol, known)))
        }
        _ => Some(told.with_help(format!("at point {}", point.name))),
    }
}

/// Drops the points that are not meant; the reference has to stay.
fn filter(case: &Case, variant: &mut VariantPlan, given: &Variant) -> Option<CaseError> {
    let name = &variant.name;
    let met = |filters: &[Spanned<Filter>], point: &Point| {
        filters.iter().any(|filter| meets(&filter.value, name, point))
    };
    let reference = variant.points.first()?.name.clone();
    variant.points.retain(|point| {
        (case.only.is_empty() || met(&case.only, point)) && !met(&case.except, point)
    });
    let place = given.at.unwrap_or_else(|| {
        let key = if case.only.is_empty() { "except" } else { "only" };
        case.locate(&[key])
    });
    let (message, help) = match variant.points.first() {
        Some(first) if first.name == reference => return None,
        Some(_) => (
            format!("the reference point {reference} of variant `{name}` is filtered out"),
            "the first value of each list makes the reference: put values first that are kept",
        ),
        None => (
            format!("`except` and `only` leave no point of variant `{name}`"),
            "keep at least one point",
        ),
    };
    Some(case.error(place, message).with_help(help))
}

fn meets(filter: &Filter, variant: &str, point: &Point) -> bool {
    match filter {
        // Conditions were evaluated at every point before, so that none is without a value here.
        Filter::When(condition) => condition.eval(&point.dims).unwrap_or(false),
        Filter::Point(PartialPoint { variant: only, sizes, dtype, device }) => {
            only.as_ref().is_none_or(|only| only == variant)
                && sizes.iter().all(|size| point.sizes.contains(size))
                && dtype.is_none_or(|dtype| dtype == point.dtype)
                && device.is_none_or(|device| device == point.device)
        }
    }
}
