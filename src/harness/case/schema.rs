//! The form of a case as a JSON schema, for editors: what they complete, explain and underline.
//!
//! A schema knows the form of a file and nothing of its subject: whether a config key, a size or a step exists is told
//! when the case is read.

mod form;

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use form::Form;

/// The schema of a case, in which these checks can be named; an editor offers these subjects.
pub fn schema(checks: &[&str], subjects: &[&str]) -> Value {
    let settings = SchemaSettings::draft07().with(|settings| settings.meta_schema = None);
    let mut schema: Value = settings.into_generator().into_root_schema_for::<Form>().into();
    let set = |schema: &mut Value, place: &str, key: &str, value: Value| {
        if let Some(Value::Object(object)) = schema.pointer_mut(place) {
            object.insert(key.to_owned(), value);
        }
    };
    set(&mut schema, "", "$schema", json!("http://json-schema.org/draft-07/schema#"));
    set(&mut schema, "/definitions/CheckName", "enum", json!(checks));
    if !subjects.is_empty() {
        set(&mut schema, "/properties/subject", "examples", json!(subjects));
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::case::fields::FIELDS;
    use crate::harness::case::{DType, DeviceKind};

    fn words(schema: &Value, place: &str) -> Vec<String> {
        let all = schema.pointer(place).and_then(Value::as_array).cloned().unwrap_or_default();
        let word = |one: &Value| {
            one.as_str().or(one.get("const").and_then(Value::as_str)).map(str::to_owned)
        };
        all.iter().filter_map(word).collect()
    }

    #[test]
    fn the_schema_has_the_fields_and_words_of_the_reader() {
        let schema = schema(&["shapes"], &["mine"]);
        let fields: Vec<&String> =
            schema["properties"].as_object().expect("fields").keys().collect();
        let mut known = FIELDS.to_vec();
        known.sort_unstable();
        let mut sorted = fields.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, known);
        assert_eq!(words(&schema, "/required"), ["subject", "why"]);
        let mut formats = words(&schema, "/definitions/DType/enum");
        formats.sort_by_key(|name| DType::ALL.iter().position(|(known, _)| known == name));
        assert_eq!(formats, DType::ALL.map(|(name, _)| name));
        assert_eq!(
            words(&schema, "/definitions/DeviceKind/enum"),
            DeviceKind::ALL.map(|(name, _)| name)
        );
        let each = schema["definitions"]["Tolerance"]["anyOf"][1]["properties"].as_object();
        assert_eq!(each.map(serde_json::Map::len), Some(DType::ALL.len()));
        assert_eq!(schema["properties"]["subject"]["examples"], json!(["mine"]));
    }

    #[test]
    fn every_field_is_described() {
        let schema = schema(&[], &[]);
        for (name, field) in schema["properties"].as_object().expect("fields") {
            assert!(field["description"].is_string(), "{name}: {field}");
        }
    }
}
