//! What counts as a pass: tolerances, an error that is meant, a fault that has to be found.
use super::error::Spanned;
use super::fields::{names, text};
use super::kinds::DType;
use super::reader::Reader;
use super::tree::{Entry, Kind, Node};
use super::{At, Expect, Fault, Tolerance};

/// Reads `tolerance`.
pub(super) fn tolerance<'a>(reader: &mut Reader<'a>, node: &'a Node) -> Option<Vec<Tolerance>> {
    let mut tolerances = vec![];
    for entry in reader.some_entries(node, "`tolerance`") {
        reader.named(&entry.key, entry.at, "check");
        let check = Spanned { value: entry.key.clone(), at: entry.at };
        let what = format!("tolerance of `{}`", entry.key);
        if !matches!(entry.value.kind, Kind::Mapping(_)) {
            let value = distance(reader, &entry.value, &what);
            tolerances.extend(value.map(|value| Tolerance { check, dtype: None, value }));
            continue;
        }
        let known = DType::ALL.map(|(name, _)| name);
        reader.some_entries(&entry.value, &what);
        for format in reader.fields(&entry.value, &what, &known) {
            let dtype = DType::ALL.iter().find(|(name, _)| *name == format.key);
            let value = distance(reader, &format.value, &what);
            let both = dtype.zip(value).map(|((_, dtype), value)| Tolerance {
                check: check.clone(),
                dtype: Some(*dtype),
                value,
            });
            tolerances.extend(both);
        }
    }
    Some(tolerances)
}

fn distance(reader: &mut Reader<'_>, node: &Node, what: &str) -> Option<f64> {
    match node.json().ok().and_then(|value| value.as_f64()) {
        Some(value) if value >= 0.0 => Some(value),
        _ => reader.unexpected(node, what, "a finite number, 0 or more"),
    }
}

/// Reads `expect`.
pub(super) fn expect<'a>(reader: &mut Reader<'a>, node: &'a Node) -> Option<Expect> {
    let (mut error, mut at) = (None, None);
    for Entry { key, value, .. } in reader.fields(node, "`expect`", &["error", "at"]) {
        let what = format!("`{key}`");
        match key.as_str() {
            "error" => error = reader.text(value, &what),
            "at" => at = reader.text(value, &what),
            _ => {}
        }
    }
    if node.get("error").is_none() && matches!(node.kind, Kind::Mapping(_)) {
        reader.fault(node.at, "`error` is missing in `expect`", "give a part of the error's text");
    }
    Some(Expect { error: error?.value, at: at.map(|at| at.value) })
}

/// Reads the fields of a known fault, which belong together.
pub(super) fn fault(reader: &mut Reader<'_>) -> Option<Fault> {
    let caught_by = names(reader, "caught_by");
    let (twin, cause) = (text(reader, "twin"), text(reader, "cause"));
    let at = places(reader, caught_by.as_deref().unwrap_or_default());
    let alive_in = text(reader, "alive_in").map(|library| library.value);
    if reader.source.root.get("caught_by").is_none() {
        for key in ["twin", "at", "cause", "alive_in"] {
            if let Some(entry) = reader.source.root.get(key) {
                let message = format!("`{key}` needs `caught_by`");
                reader.fault(entry.at, message, "name the checks that have to find the fault");
            }
        }
    }
    let cause = cause.map(|cause| cause.value);
    Some(Fault { twin, caught_by: caught_by?, at, cause, alive_in })
}

/// Reads `at`: one step for all checks, or a step for each.
fn places(reader: &mut Reader<'_>, caught_by: &[Spanned<String>]) -> Vec<At> {
    let source = reader.source;
    let Some(Entry { value, .. }) = source.root.get("at") else { return Vec::new() };
    if !matches!(value.kind, Kind::Mapping(_)) {
        let step = reader.text(value, "`at`");
        return step.into_iter().map(|step| At { check: None, step: step.value }).collect();
    }
    let mut places = vec![];
    for Entry { key, at, value } in reader.some_entries(value, "`at`") {
        if !caught_by.iter().any(|check| check.value == *key) {
            let message = format!("`at` names `{key}`, which is not in `caught_by`");
            reader.fault(*at, message, "give a step for a check that has to find the fault");
        }
        let step = reader.text(value, &format!("`at` of `{key}`"));
        places.extend(step.map(|step| At { check: Some(key.clone()), step: step.value }));
    }
    places
}
