//! Laws that were inferred lately, so that the checks of a case infer its law once between them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Study, inferred};
use crate::harness::case::Case;
use crate::harness::plan::VariantPlan;
use crate::harness::subject::AnySubject;
use crate::trace::graph::InternalsChanged;

/// How many variants are remembered: the checks of a case stand next to one another in every list, so a few are enough, and
/// what is remembered does not grow with the number of cases.
const REMEMBERED: usize = 16;

/// The laws of the variants that were asked for last. All cases are of one suite, in which a path names one of them.
#[derive(Debug, Clone, Default)]
pub struct Laws(Arc<Mutex<VecDeque<(Key, Slot)>>>);

/// The path of a case, its subject, its variant.
type Key = (String, String, String);
/// Filled by the first who asks; the others wait for it.
type Slot = Arc<Mutex<Option<Study>>>;

impl Laws {
    /// What [`inferred`] says of a variant, made once.
    ///
    /// # Errors
    /// Candle's internals.
    pub fn of(
        &self,
        case: &Case,
        variant: &VariantPlan,
        subject: &dyn AnySubject,
    ) -> Result<Study, InternalsChanged> {
        let key = (case.path.to_string(), subject.name().to_owned(), variant.name.clone());
        let slot = self.slot(key);
        let mut known = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(study) = &*known {
            return Ok(study.clone());
        }
        let study = inferred(case, variant, subject)?;
        *known = Some(study.clone());
        Ok(study)
    }

    fn slot(&self, key: Key) -> Slot {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, slot)) = all.iter().find(|(other, _)| *other == key) {
            return slot.clone();
        }
        if all.len() == REMEMBERED {
            all.pop_front();
        }
        let slot = Slot::default();
        all.push_back((key, slot.clone()));
        slot
    }
}
