//! From the tree to a case, field by field.
use std::path::Path;

use serde_json::{Map, Value};

use super::contract::{Pattern, patterns, shapes, zero_gradient};
use super::error::{CaseErrors, Spanned};
use super::matrix::{Filter, Matrix, filters, matrix};
use super::path::CasePath;
use super::reader::Reader;
use super::source::Source;
use super::tree::{Entry, Kind, Node};
use super::verdict::{expect, fault, tolerance};
use super::{Case, Lock, Variant};

/// Every field of a case.
pub(super) const FIELDS: [&str; 25] = [
    "subject",
    "why",
    "config",
    "seed",
    "variants",
    "matrix",
    "except",
    "only",
    "shapes",
    "zero_gradient",
    "checks",
    "broadcast",
    "keeps_f32",
    "tolerance",
    "tags",
    "lock",
    "expect",
    "reference",
    "twin",
    "caught_by",
    "at",
    "cause",
    "alive_in",
    "budget",
    "max_points",
];

const LOCKS: [(&str, Lock); 2] = [("all", Lock::All), ("named", Lock::Named)];
pub(super) const DEFAULT_BUDGET: u64 = 4 << 30;
pub(super) const DEFAULT_POINTS: usize = 10_000;
pub(super) const MOST_POINTS: u64 = 1_000_000;

/// Reads a case from the bytes of a file.
pub(super) fn case(file: &Path, path: CasePath, bytes: &[u8]) -> Result<Case, CaseErrors> {
    let mut errors = vec![];
    let source = match Source::parse(file, bytes, &mut errors) {
        Ok(source) => source,
        Err(error) => {
            errors.push(error.clone());
            return Err(CaseErrors::collect(errors).unwrap_or_else(|| error.into()));
        }
    };
    let mut reader = Reader { source: &source, errors };
    let case = fields(&mut reader, path);
    match CaseErrors::collect(reader.errors) {
        None => Ok(case),
        Some(errors) => Err(errors),
    }
}

/// The case, which is valid only if the reader has found no fault.
fn fields(reader: &mut Reader<'_>, path: CasePath) -> Case {
    let root = &reader.source.root;
    reader.fields(root, "a case", &FIELDS);
    let zero_size = root.get("expect").is_some();
    let matrix = field(reader, "matrix", |reader, node| Some(matrix(reader, node, zero_size)));
    let matrix = matrix.unwrap_or_default();
    let variants = field(reader, "variants", variants);
    Case {
        path,
        file: reader.source.file.clone(),
        subject: required(reader, "subject"),
        why: required(reader, "why"),
        config: field(reader, "config", object).unwrap_or_default(),
        seed: field(reader, "seed", |reader, node| reader.whole(node, "`seed`"))
            .unwrap_or_default(),
        variants: variants.unwrap_or_else(|| {
            vec![Variant { name: "plain".to_owned(), overrides: Map::new(), at: None }]
        }),
        except: point_filters(reader, "except", &matrix),
        only: point_filters(reader, "only", &matrix),
        shapes: field(reader, "shapes", |reader, node| Some(shapes(reader, node)))
            .unwrap_or_default(),
        zero_gradient: field(reader, "zero_gradient", |reader, node| {
            Some(zero_gradient(reader, node))
        })
        .unwrap_or_default(),
        checks: names(reader, "checks"),
        broadcast: steps(reader, "broadcast"),
        keeps_f32: steps(reader, "keeps_f32"),
        tolerance: field(reader, "tolerance", tolerance).unwrap_or_default(),
        tags: names(reader, "tags").into_iter().flatten().map(|tag| tag.value).collect(),
        lock: field(reader, "lock", |reader, node| reader.word(node, "`lock`", &LOCKS))
            .unwrap_or_default(),
        expect: field(reader, "expect", expect),
        fault: fault(reader),
        reference: text(reader, "reference"),
        budget: field(reader, "budget", budget).unwrap_or(DEFAULT_BUDGET),
        max_points: field(reader, "max_points", max_points).unwrap_or(DEFAULT_POINTS),
        matrix,
        source: reader.source.clone(),
    }
}

fn field<'a, T>(
    reader: &mut Reader<'a>,
    key: &str,
    read: impl FnOnce(&mut Reader<'a>, &'a Node) -> Option<T>,
) -> Option<T> {
    let entry = reader.source.root.get(key)?;
    read(reader, &entry.value)
}

fn required(reader: &mut Reader<'_>, key: &str) -> String {
    let root = &reader.source.root;
    if root.get(key).is_none() && matches!(root.kind, Kind::Mapping(_)) {
        reader.fault(root.at, format!("`{key}` is missing"), "a case has a `subject` and a `why`");
    }
    text(reader, key).map(|text| text.value).unwrap_or_default()
}

pub(super) fn text(reader: &mut Reader<'_>, key: &str) -> Option<Spanned<String>> {
    field(reader, key, |reader, node| reader.text(node, &format!("`{key}`")))
}

/// A list of names, each once.
pub(super) fn names(reader: &mut Reader<'_>, key: &str) -> Option<Vec<Spanned<String>>> {
    field(reader, key, |reader, node| {
        let what = format!("`{key}`");
        let items = reader.items(node, &what).iter();
        let names: Vec<_> = items.filter_map(|item| reader.name(item, &what)).collect();
        Some(reader.distinct(names, |name| format!("{what} has `{name}` twice")))
    })
}

/// A list of patterns of steps.
fn steps(reader: &mut Reader<'_>, key: &str) -> Vec<Pattern> {
    let what = format!("`{key}`");
    let read = field(reader, key, |reader, node| Some(patterns(reader, node, &what)));
    read.unwrap_or_default()
}

fn point_filters(reader: &mut Reader<'_>, key: &str, matrix: &Matrix) -> Vec<Spanned<Filter>> {
    match reader.source.root.get(key) {
        Some(entry) => filters(reader, entry, matrix),
        None => vec![],
    }
}

fn object<'a>(reader: &mut Reader<'a>, node: &'a Node) -> Option<Map<String, Value>> {
    let mut object = Map::new();
    for Entry { key, value, .. } in reader.entries(node, "a configuration") {
        match value.json() {
            Ok(value) => {
                object.insert(key.clone(), value);
            }
            Err(problem) => reader.problem(problem),
        }
    }
    Some(object)
}

fn variants<'a>(reader: &mut Reader<'a>, node: &'a Node) -> Option<Vec<Variant>> {
    let mut variants = vec![];
    for Entry { key, at, value } in reader.some_entries(node, "`variants`") {
        reader.named(key, *at, "variant");
        let overrides = object(reader, value).unwrap_or_default();
        variants.push(Variant { name: key.clone(), overrides, at: Some(*at) });
    }
    Some(variants)
}

/// Bytes, or a whole number of `KiB`, `MiB`, `GiB`.
fn budget(reader: &mut Reader<'_>, node: &Node) -> Option<u64> {
    let bytes = match node.json() {
        Ok(Value::Number(bytes)) => bytes.as_u64(),
        Ok(Value::String(text)) => {
            ["KiB", "MiB", "GiB"].iter().zip([10, 20, 30]).find_map(|(unit, shift)| {
                let number: u64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
                number.checked_mul(1 << shift)
            })
        }
        _ => None,
    };
    match bytes {
        Some(1..) => bytes,
        _ => reader.unexpected(node, "`budget`", "bytes, such as `512MiB` or `4GiB`"),
    }
}

fn max_points(reader: &mut Reader<'_>, node: &Node) -> Option<usize> {
    match reader.whole(node, "`max_points`")? {
        points @ 1..=MOST_POINTS => usize::try_from(points).ok(),
        _ => reader.unexpected(node, "`max_points`", &format!("between 1 and {MOST_POINTS}")),
    }
}
