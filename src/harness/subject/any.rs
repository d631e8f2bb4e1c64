//! Subjects whose configuration type is out of sight, so that those of many kinds stand in one list.

use candle_core::{Error, Result};
use candle_nn::VarBuilder;
use serde_json::Value;

use super::{ConfigMap, ConfigProblem, Input, Model, Subject};
use crate::dims::Dims;
use crate::harness::plan::Describe;

/// A [`Subject`] whose configuration type is out of sight; every subject is one.
pub trait AnySubject: Send + Sync {
    /// See [`Subject::name`].
    fn name(&self) -> &str;
    /// See [`Subject::sizes`].
    fn sizes(&self) -> Vec<(&str, &str)>;
    /// See [`Subject::free`].
    fn free(&self) -> Vec<(&str, &str)>;
    /// See [`Subject::dims`].
    ///
    /// # Errors
    /// What is wrong with the configuration.
    fn dims(&self, config: &ConfigMap) -> std::result::Result<Dims, ConfigProblem>;
    /// See [`Subject::inputs`].
    ///
    /// # Errors
    /// What is wrong with the configuration.
    fn inputs(&self, config: &ConfigMap) -> std::result::Result<Vec<Input>, ConfigProblem>;
    /// See [`Subject::build`].
    ///
    /// # Errors
    /// Whatever building it can fail with.
    fn build(&self, config: &ConfigMap, vb: VarBuilder<'static>) -> Result<Box<dyn Model>>;
    /// See [`Subject::has_independent_rows`].
    fn has_independent_rows(&self) -> bool;
    /// See [`Subject::is_causal`].
    fn is_causal(&self) -> bool;
    /// See [`Subject::has_state`].
    fn has_state(&self) -> bool;
    /// See [`Subject::has_reference`].
    fn has_reference(&self) -> bool;
    /// See [`Subject::reference`].
    fn reference(
        &self,
        config: &ConfigMap,
        vb: VarBuilder<'static>,
    ) -> Option<Result<Box<dyn Model>>>;
}

impl<S: Subject> AnySubject for S {
    fn name(&self) -> &str {
        Subject::name(self)
    }

    fn sizes(&self) -> Vec<(&str, &str)> {
        Subject::sizes(self)
    }

    fn free(&self) -> Vec<(&str, &str)> {
        Subject::free(self)
    }

    fn dims(&self, config: &ConfigMap) -> std::result::Result<Dims, ConfigProblem> {
        Subject::dims(self, &read::<S>(config)?)
    }

    fn inputs(&self, config: &ConfigMap) -> std::result::Result<Vec<Input>, ConfigProblem> {
        Ok(Subject::inputs(self, &read::<S>(config)?))
    }

    fn build(&self, config: &ConfigMap, vb: VarBuilder<'static>) -> Result<Box<dyn Model>> {
        Subject::build(self, &read::<S>(config).map_err(Error::wrap)?, vb)
    }

    fn has_independent_rows(&self) -> bool {
        Subject::has_independent_rows(self)
    }

    fn is_causal(&self) -> bool {
        Subject::is_causal(self)
    }

    fn has_state(&self) -> bool {
        Subject::has_state(self)
    }

    fn has_reference(&self) -> bool {
        Subject::has_reference(self)
    }

    fn reference(
        &self,
        config: &ConfigMap,
        vb: VarBuilder<'static>,
    ) -> Option<Result<Box<dyn Model>>> {
        match read::<S>(config) {
            Ok(config) => Subject::reference(self, &config, vb),
            Err(problem) => Some(Err(Error::wrap(problem))),
        }
    }
}

fn read<S: Subject>(config: &ConfigMap) -> std::result::Result<S::Config, ConfigProblem> {
    serde_path_to_error::deserialize(Value::Object(config.clone())).map_err(|error| {
        let message = error.inner().to_string();
        let blamed = |key: &&String| message.contains(&format!("`{key}`"));
        let field = error.path().iter().next().map(ToString::to_string);
        let known = field.filter(|field| config.contains_key(field));
        ConfigProblem { field: known.or_else(|| config.keys().find(blamed).cloned()), message }
    })
}

/// A subject, as far as planning a case needs to know it.
pub struct Described<'a>(pub &'a dyn AnySubject);

impl Describe for Described<'_> {
    fn sizes(&self) -> Vec<(String, String)> {
        let own = |(name, symbol): (&str, &str)| (name.to_owned(), symbol.to_owned());
        self.0.sizes().into_iter().map(own).collect()
    }

    fn check_config(&self, config: &ConfigMap) -> std::result::Result<Dims, ConfigProblem> {
        self.0.dims(config)
    }
}
