//! The points of a case: sizes, dtypes and devices, and which of their combinations are meant.
use std::hash::Hash;

use super::error::Spanned;
use super::kinds::{DType, DeviceKind};
use super::reader::Reader;
use super::tree::{Entry, Kind, Node};
use crate::dims::{Condition, is_symbol};

/// The largest size of an axis in a matrix. No test needs more, and products of a few stay within 64 bits.
pub(super) const MAX_SIZE: u64 = 1 << 24;

/// The values that a case is run over. The first of each list makes the reference point.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// Names of sizes such as `batch` with their values, in the order of the file.
    pub sizes: Vec<(Spanned<String>, Vec<usize>)>,
    /// Number formats; `f32` if the case names none.
    pub dtypes: Vec<DType>,
    /// Devices; `cpu` if the case names none.
    pub devices: Vec<DeviceKind>,
}

/// Points that are left out (`except`) or kept (`only`).
#[derive(Clone, Debug)]
pub enum Filter {
    /// Points that agree with each value named here.
    Point(PartialPoint),
    /// Points at which a condition on dims holds.
    When(Condition),
}

/// Some coordinates of a point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartialPoint {
    /// The variant.
    pub variant: Option<String>,
    /// Sizes by name.
    pub sizes: Vec<(String, usize)>,
    /// The number format.
    pub dtype: Option<DType>,
    /// The device.
    pub device: Option<DeviceKind>,
}

impl Default for Matrix {
    fn default() -> Self {
        Self { sizes: vec![], dtypes: vec![DType::F32], devices: vec![DeviceKind::Cpu] }
    }
}

/// Reads `matrix`. A size of 0 is for cases that expect an error.
pub(super) fn matrix<'a>(reader: &mut Reader<'a>, node: &'a Node, zero: bool) -> Matrix {
    let mut matrix = Matrix::default();
    for entry in reader.some_entries(node, "`matrix`") {
        match entry.key.as_str() {
            "dtype" => matrix.dtypes = words(reader, entry, &DType::ALL),
            "device" => matrix.devices = words(reader, entry, &DeviceKind::ALL),
            name if !is_symbol(name) || name == "variant" => {
                let message = format!("`{name}` cannot name a size");
                reader.fault(entry.at, message, "use the names of the subject, such as `batch`");
            }
            name => {
                let values = sizes(reader, entry, zero);
                matrix.sizes.push((Spanned { value: name.to_owned(), at: entry.at }, values));
            }
        }
    }
    matrix
}

/// Reads `except` or `only`, whose values have to be in the matrix.
pub(super) fn filters<'a>(
    reader: &mut Reader<'a>,
    entry: &'a Entry,
    matrix: &Matrix,
) -> Vec<Spanned<Filter>> {
    let what = format!("`{}`", entry.key);
    let items = reader.items(&entry.value, &what);
    // The second half of what YAML cut at a comma is no filter of its own; the first half is told.
    let is_rest = |at: usize| at > 0 && reader.cut_at_comma(&items[at - 1]).is_some();
    let items: Vec<&Node> =
        items.iter().enumerate().filter(|(at, _)| !is_rest(*at)).map(|(_, item)| item).collect();
    let filters = items.into_iter().filter_map(|item| {
        let value = match &item.kind {
            Kind::Mapping(_) => Filter::Point(partial_point(reader, item, &what, matrix)?),
            _ => Filter::When(reader.parsed(item, &what, str::parse)?),
        };
        Some(Spanned { value, at: item.at })
    });
    filters.collect()
}

fn partial_point<'a>(
    reader: &mut Reader<'a>,
    node: &'a Node,
    what: &str,
    matrix: &Matrix,
) -> Option<PartialPoint> {
    let names = matrix.sizes.iter().map(|(name, _)| name.value.as_str());
    let known: Vec<&str> = names.chain(["dtype", "device", "variant"]).collect();
    let before = reader.errors.len();
    let mut point = PartialPoint::default();
    if matches!(&node.kind, Kind::Mapping(entries) if entries.is_empty()) {
        reader.fault(node.at, format!("{what} has an empty point"), "name at least one value");
    }
    for Entry { key, value, .. } in reader.fields(node, what, &known) {
        let what = format!("`{key}`");
        let missing = match key.as_str() {
            "variant" => {
                point.variant = reader.name(value, &what).map(|name| name.value);
                false
            }
            "dtype" => {
                point.dtype = reader.word(value, &what, &DType::ALL);
                point.dtype.is_some_and(|dtype| !matrix.dtypes.contains(&dtype))
            }
            "device" => {
                point.device = reader.word(value, &what, &DeviceKind::ALL);
                point.device.is_some_and(|device| !matrix.devices.contains(&device))
            }
            name => {
                let size = reader.whole(value, &what).and_then(|size| usize::try_from(size).ok());
                point.sizes.extend(size.map(|size| (name.to_owned(), size)));
                let listed = matrix.sizes.iter().find(|(known, _)| known.value == name);
                size.zip(listed).is_some_and(|(size, (_, values))| !values.contains(&size))
            }
        };
        if missing {
            let message = format!("{what} in the matrix has no such value");
            reader.fault(value.at, message, "a point that cannot be met filters nothing");
        }
    }
    (reader.errors.len() == before).then_some(point)
}

fn sizes<'a>(reader: &mut Reader<'a>, entry: &'a Entry, zero: bool) -> Vec<usize> {
    let what = format!("size `{}`", entry.key);
    let mut values = vec![];
    for item in reader.items(&entry.value, &what) {
        let Some(size) = reader.whole(item, &what) else {
            continue;
        };
        if size == 0 && !zero {
            let help = "only a case with `expect: {error: …}` may have it";
            reader.fault(item.at, format!("{what} is 0"), help);
        } else if size > MAX_SIZE {
            let help = format!("{MAX_SIZE} at most");
            reader.fault(item.at, format!("{what} is {size}"), &help);
        } else if let Ok(value) = usize::try_from(size) {
            values.push(Spanned { value, at: item.at });
        }
    }
    let again = |size: &usize| format!("{what} has {size} twice");
    reader.distinct(values, again).into_iter().map(|size| size.value).collect()
}

fn words<'a, T: Copy + Eq + Hash>(
    reader: &mut Reader<'a>,
    entry: &'a Entry,
    words: &[(&str, T)],
) -> Vec<T> {
    let what = format!("`{}`", entry.key);
    let items = reader.items(&entry.value, &what).iter();
    let values = items
        .filter_map(|item| Some(Spanned { value: reader.word(item, &what, words)?, at: item.at }));
    let values = values.collect();
    let name =
        |word: &T| words.iter().find(|(_, known)| known == word).map_or("", |(name, _)| name);
    let again = |word: &T| format!("{what} has `{}` twice", name(word));
    reader.distinct(values, again).into_iter().map(|word| word.value).collect()
}
