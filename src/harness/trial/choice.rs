//! Which checks a case runs.

use crate::harness::case::{Case, CaseError, CaseErrors, Spanned, suggest};
use crate::harness::check::Check;
use crate::harness::registry::Registry;
use crate::harness::subject::AnySubject;

/// The checks that a case runs: those it names, or all that the subject has what they need for.
///
/// # Errors
/// A name that is no check, or a check that the subject cannot have, at its place in the case.
pub fn checks(case: &Case, subject: &dyn AnySubject) -> Result<Vec<Check>, CaseErrors> {
    let faults: Vec<CaseError> = named(case)
        .filter_map(|name| Some(case.error(name.at, wrong(&name.value, case, subject)?)))
        .collect();
    if let Some(errors) = CaseErrors::collect(faults) {
        return Err(errors);
    }
    if case.fault.is_some() {
        return Ok(vec![Check::Caught]);
    }
    if case.expect.is_some() {
        return Ok(vec![Check::Shapes]);
    }
    let has = |check: &Check| !check.is_opt_in() && check.lacks(case, subject).is_none();
    Ok(match &case.checks {
        Some(named) => named.iter().filter_map(|name| Check::named(&name.value)).collect(),
        None => Check::ALL.into_iter().filter(has).collect(),
    })
}

/// That the other subjects are there which a case names: its twin, its reference.
///
/// # Errors
/// Each that is not, at its place in the case.
pub fn others(case: &Case, subjects: &Registry) -> Result<(), CaseErrors> {
    let twin = case.fault.iter().filter_map(|fault| fault.twin.as_ref());
    let unknown = twin.chain(&case.reference).filter(|name| subjects.get(&name.value).is_none());
    let errors = unknown.map(|name| case.error(name.at, subjects.unknown(&name.value)));
    CaseErrors::collect(errors.collect()).map_or(Ok(()), Err)
}

/// Every check that a case names, wherever it does.
fn named(case: &Case) -> impl Iterator<Item = &Spanned<String>> {
    let chosen = case.checks.iter().flatten();
    let catching = case.fault.iter().flat_map(|fault| &fault.caught_by);
    chosen.chain(catching).chain(case.tolerance.iter().map(|tolerance| &tolerance.check))
}

/// What is wrong with a name of a check, if anything is.
fn wrong(name: &str, case: &Case, subject: &dyn AnySubject) -> Option<String> {
    match Check::named(name) {
        None => {
            let known = suggest(name, Check::ALL.iter().map(|check| check.name()));
            Some(format!("there is no check `{name}`; {known}"))
        }
        Some(check) => check.lacks(case, subject),
    }
}
