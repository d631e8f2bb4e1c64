//! Cases by what people type.

use crate::harness::case::suggest;
use crate::harness::trials::Listed;

/// The trials of the cases that are wanted; all if none is named.
///
/// # Errors
/// A name that no case has.
pub(super) fn choose(all: Vec<Listed>, wanted: &[String]) -> Result<Vec<Listed>, String> {
    let wanted: Vec<String> = wanted.iter().map(|text| name(text)).collect();
    for name in &wanted {
        if !all.iter().any(|listed| belongs(listed, name)) {
            return Err(no_case(name, &all));
        }
    }
    let is_wanted =
        |listed: &Listed| wanted.is_empty() || wanted.iter().any(|name| belongs(listed, name));
    Ok(all.into_iter().filter(is_wanted).collect())
}

/// The name of a case, from a name, a path below `cases` or a file.
pub(super) fn name(text: &str) -> String {
    let text = text.strip_prefix("./").unwrap_or(text);
    let text = text.strip_suffix(".yaml").or(text.strip_suffix('/')).unwrap_or(text);
    let text = text.strip_prefix("cases/").unwrap_or(text);
    text.replace('/', "::")
}

/// Whether a trial is of that case, or of a case in that folder.
pub(super) fn belongs(listed: &Listed, name: &str) -> bool {
    name == "cases"
        || listed
            .name
            .strip_prefix(name)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// What to say where no case has a name.
pub(super) fn no_case(name: &str, all: &[Listed]) -> String {
    let mut names: Vec<&str> = all.iter().map(|listed| listed.case.as_str()).collect();
    names.dedup();
    format!("no case is called `{name}`; {}", suggest(name, names.into_iter()))
}
