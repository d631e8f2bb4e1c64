//! Values as a case writes them.

use serde_json::{Map, Value};

use super::tree::plain;
use crate::dims::Axes;

/// A value in one line of YAML: `{d_model: 8, scan: chunked, limits: [0.0, 1.0]}`. Read back, it is the same.
pub fn flow(value: &Value) -> String {
    match value {
        Value::String(text) if is_bare(text) => text.clone(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", "))
        }
        Value::Object(object) => flow_map(object),
        // What JSON writes is YAML too.
        other => other.to_string(),
    }
}

/// A mapping in one line of YAML.
pub fn flow_map(object: &Map<String, Value>) -> String {
    let entry = |(key, value): (&String, &Value)| {
        format!("{}: {}", flow(&Value::String(key.clone())), flow(value))
    };
    format!("{{{}}}", object.iter().map(entry).collect::<Vec<_>>().join(", "))
}

/// Patterns with contracts or conditions, a line each, as they stand below their field.
pub fn block(lines: &[(String, String)]) -> String {
    let key = |name: &str| match name.starts_with('*') {
        true => format!("\"{name}\""),
        // Inside a word of YAML, the star of a pattern is a letter like any other.
        false if is_bare(&name.replace('*', "x")) => name.to_owned(),
        false => flow(&Value::from(name)),
    };
    lines.iter().map(|(name, value)| format!("  {}: {value}\n", key(name))).collect()
}

/// Axes as a contract writes them, `b l h·p`; nothing for an expression that has no value.
pub fn contract_notation(axes: &Axes) -> Option<String> {
    let each: Vec<String> = axes.0.iter().map(|axis| axis.to_string().replace(' ', "")).collect();
    let text = if each.is_empty() { "()".to_owned() } else { each.join(" ") };
    (Axes::parse_contract(&text).as_ref() == Ok(axes)).then_some(text)
}

/// Whether text needs no quotes: a word that YAML takes for nothing else.
fn is_bare(text: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '-');
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(inside);
    is_word && plain(text).is_ok_and(|value| value.is_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::case::{Case, CasePath};
    use rstest::rstest;
    use serde_json::json;
    use std::path::Path;

    #[rstest]
    #[case(json!({"d_model": 8, "scan": "chunked"}), "{d_model: 8, scan: chunked}")]
    #[case(json!({"limit": [0.0, 1e-5, -1], "x": null}), "{limit: [0.0, 0.00001, -1], x: null}")]
    #[case(json!({"yes": true, "t": "true", "n": "12", "e": ""}), "{e: \"\", n: \"12\", t: \"true\", yes: true}")]
    #[case(json!({"a b": "c: d, e", "q": "\"\n\u{1}é"}), "{\"a b\": \"c: d, e\", q: \"\\\"\\n\\u0001é\"}")]
    fn what_is_written_is_read_back(#[case] config: Value, #[case] text: &str) {
        let Value::Object(object) = &config else { panic!("an object") };
        let written = flow_map(object);
        let yaml = format!("subject: toy\nwhy: w\nconfig: {written}\n");
        let path = CasePath::new("toy").expect("a name");
        let case = Case::parse(Path::new("toy.yaml"), path, yaml.as_bytes()).expect("a case");
        assert_eq!(json!(case.config), config);
        assert_eq!(written, text);
    }
}
