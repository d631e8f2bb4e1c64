//! A configuration to start with: what a subject asks for, filled in with small numbers.

use serde_json::{Map, Value};

use crate::harness::run::panics;
use crate::harness::subject::{AnySubject, ConfigProblem};

/// Numbers to try: small, and with few exceptions multiples of one another.
const NUMBERS: [u64; 10] = [8, 2, 4, 16, 12, 6, 3, 1, 32, 64];

/// Fields that are asked for at most.
const FIELDS: usize = 32;

/// The least configuration that a subject takes, found by its own complaints: defaults, and numbers for the fields that it
/// misses or blames. Nothing where it asks for more than numbers.
pub(super) fn least(subject: &dyn AnySubject) -> Option<Map<String, Value>> {
    let mut config = Map::new();
    for _ in 0..FIELDS {
        let Some(problem) = problem(subject, &config)? else { return Some(config) };
        let field = blamed(&problem)?;
        let used = |number: &u64| config.values().any(|value| value.as_u64() == Some(*number));
        // Numbers of their own make a trace easier to read.
        let (used, fresh): (Vec<u64>, Vec<u64>) = NUMBERS.iter().partition(|number| used(number));
        let said = |number: &u64| {
            let mut tried = config.clone();
            tried.insert(field.clone(), (*number).into());
            self::problem(subject, &tried)
        };
        // One that ends all complaints goes before one that only moves the blame to another field.
        let moves = |number: &u64| {
            said(number)
                .is_some_and(|said| said.and_then(|said| blamed(&said)).as_ref() != Some(&field))
        };
        let all = || fresh.iter().chain(&used).copied();
        let number =
            all().find(|number| said(number) == Some(None)).or_else(|| all().find(moves))?;
        config.insert(field, number.into());
    }
    None
}

/// What the subject has against a configuration; nothing at all where it panics.
fn problem(subject: &dyn AnySubject, config: &Map<String, Value>) -> Option<Option<ConfigProblem>> {
    panics::catch(|| subject.dims(config).err()).ok()
}

/// The field that a subject misses or does not like.
fn blamed(problem: &ConfigProblem) -> Option<String> {
    let missing =
        problem.message.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
    missing.map(str::to_owned).or_else(|| problem.field.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::subjects::shipped;

    #[test]
    fn every_shipped_subject_gets_a_configuration() {
        for name in shipped().names() {
            let subjects = shipped();
            let subject = subjects.get(name).expect("a subject");
            let config = least(subject).unwrap_or_else(|| panic!("{name} has none"));
            assert!(subject.dims(&config).is_ok(), "{name}: {config:?}");
        }
    }
}
