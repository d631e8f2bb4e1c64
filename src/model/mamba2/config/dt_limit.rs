//! The bounds of dt, in all the forms that configurations write them.
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use serde_json::Value;

use crate::model::ConfigError;

/// The bounds that dt is clamped to after softplus; no bounds by default.
///
/// Written as `[min, max]`, where `null` is no upper bound. It is also read as `null`, and with an upper bound of
/// `{"__float__": "Infinity"}` or `"Infinity"`, the forms that Hugging Face writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DtLimit {
    /// The smallest dt, 0 or more.
    pub min: f64,
    /// The largest dt; infinite where there is no bound.
    pub max: f64,
}

impl DtLimit {
    /// Whether any dt is changed by it: softplus is never negative.
    pub fn binds(&self) -> bool {
        self.min > 0. || self.max.is_finite()
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let Self { min, max } = *self;
        if min.is_finite() && min >= 0. && max > 0. && min <= max {
            return Ok(());
        }
        let message = format!("expected 0 <= min <= max with max > 0, actual [{min}, {max}]");
        Err(ConfigError::new("dt_limit", message))
    }
}

impl Default for DtLimit {
    fn default() -> Self {
        Self { min: 0., max: f64::INFINITY }
    }
}

impl Serialize for DtLimit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.min, self.max.is_finite().then_some(self.max)).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for DtLimit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let bounds = match &value {
            Value::Null => return Ok(Self::default()),
            Value::Array(bounds) => bounds.as_slice(),
            _ => &[],
        };
        let (Some(min), Some(max), 2) = (
            bounds.first().and_then(bound),
            bounds
                .get(1)
                .and_then(|max| if max.is_null() { Some(f64::INFINITY) } else { bound(max) }),
            bounds.len(),
        ) else {
            return Err(D::Error::custom(format!("expected [min, max], actual {value}")));
        };
        Ok(Self { min, max })
    }
}

fn bound(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) if text == "Infinity" => Some(f64::INFINITY),
        Value::Object(object) => object.get("__float__").and_then(bound),
        _ => None,
    }
}
