//! A subject with a known fault: its trials pass if the fault is found, in the place and with the cause that the case
//! says.

use crate::harness::case::Fault;
use crate::harness::check::Check;
use crate::harness::trial::Outcome;

/// Whether a check that has to find the fault did; a check that is not named may find it or not.
///
/// # Errors
/// What was expected and what was found.
pub(super) fn on_fault(
    fault: &Fault,
    check: Check,
    outcome: &Outcome,
    text: impl Fn() -> String,
) -> Result<(), String> {
    if !fault.caught_by.iter().any(|named| named.value == check.name()) {
        return Ok(());
    }
    if outcome.findings.is_empty() {
        return Err(format!("the fault was not found: {} passes, and has to fail\n", check.name()));
    }
    let text = text();
    let wanted = [("step", &fault.at), ("cause", &fault.cause)];
    let missing = wanted.iter().filter_map(|(what, wanted)| Some((what, wanted.as_ref()?)));
    let mut missing = missing.filter(|(_, wanted)| !text.contains(wanted.as_str()));
    match missing.next() {
        None => Ok(()),
        Some((what, wanted)) => {
            Err(format!("the fault was found, but the {what} `{wanted}` is not named\n\n{text}"))
        }
    }
}
