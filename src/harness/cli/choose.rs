//! Cases by what people type.

use crate::harness::case::nearest;
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

/// As many names as can be read at a glance.
const FEW: usize = 12;

/// What to say where no case has a name.
pub(super) fn no_case(name: &str, all: &[Listed]) -> String {
    if let Some((case, rest)) = name.rsplit_once("::")
        && all.iter().any(|listed| listed.case == case)
    {
        let trials = all.iter().filter(|listed| listed.case == case);
        let checks = trials.filter_map(|l| l.name.strip_prefix(case)?.strip_prefix("::"));
        let checks: Vec<&str> = checks.collect();
        return format!("`{case}` has no check `{rest}` here; it has {}", checks.join(", "));
    }
    let mut names: Vec<&str> = all.iter().map(|listed| listed.case.as_str()).collect();
    names.dedup();
    let near = nearest(name, names.iter().copied()).map(|near| format!("did you mean `{near}`?"));
    let known = match names.len() {
        ..=FEW => format!("known: {}", names.join(", ")),
        many => format!("`list` names all {many}"),
    };
    let help: Vec<String> = near.into_iter().chain([known]).collect();
    format!("no case is called `{name}`; {}", help.join(" "))
}
