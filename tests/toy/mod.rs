//! A subject with nothing behind it: it has sizes and reads a configuration.
use serde_json::{Map, Value};
use shapelock::dims::Dims;
use shapelock::harness::plan::{ConfigProblem, Describe};

/// `batch` and `seq`; the config may have `d` (at least 2, 4 if it is not there) and `n` (at least 1).
pub struct Toy;

impl Describe for Toy {
    fn sizes(&self) -> Vec<(String, String)> {
        [("batch", "b"), ("seq", "l")].map(|(name, symbol)| (name.into(), symbol.into())).into()
    }

    fn check_config(&self, config: &Map<String, Value>) -> Result<Dims, ConfigProblem> {
        let mut dims = Dims::new().with("d", 4);
        for (field, value) in config {
            let refused = |message: &str| ConfigProblem {
                field: Some(field.clone()),
                message: format!("{message}, got {value}"),
            };
            let least = match field.as_str() {
                "d" => 2,
                "n" => 1,
                _ => return Err(refused("expected `d` or `n`")),
            };
            let value = value.as_u64().filter(|value| *value >= least);
            let value = value.ok_or_else(|| refused(&format!("expected {least} or more")))?;
            dims = dims.with(field.as_str(), usize::try_from(value).unwrap_or(usize::MAX));
        }
        Ok(dims)
    }
}
