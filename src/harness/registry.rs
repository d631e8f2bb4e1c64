//! The subjects that cases can name.

use std::sync::Arc;

use super::case::suggest;
use super::subject::AnySubject;

/// Subjects by name.
#[derive(Clone, Default)]
pub struct Registry(Vec<Arc<dyn AnySubject>>);

impl Registry {
    /// No subjects.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a subject; one of the same name that is there already is replaced.
    #[must_use]
    pub fn with(mut self, subject: impl AnySubject + 'static) -> Self {
        self.0.retain(|known| known.name() != subject.name());
        self.0.push(Arc::new(subject));
        self
    }

    /// The subject of that name.
    pub fn get(&self, name: &str) -> Option<&dyn AnySubject> {
        self.0.iter().find(|subject| subject.name() == name).map(|subject| &**subject)
    }

    /// The subject of that name, for as long as it is needed.
    pub fn shared(&self, name: &str) -> Option<Arc<dyn AnySubject>> {
        self.0.iter().find(|subject| subject.name() == name).cloned()
    }

    /// All names.
    pub fn names(&self) -> Vec<&str> {
        self.0.iter().map(|subject| subject.name()).collect()
    }

    /// Whether an unknown name is a known one with a typing error: one or two letters of a longer word.
    pub fn is_near_miss(&self, name: &str) -> bool {
        let near = |known: &str| strsim::damerau_levenshtein(known, name) <= 2;
        name.len() > 5 && self.get(name).is_none() && self.names().into_iter().any(near)
    }

    /// What to say where there is no subject of that name.
    pub fn unknown(&self, name: &str) -> String {
        let known = suggest(name, self.names().into_iter());
        format!("no subject `{name}` is registered here; {known}")
    }
}
