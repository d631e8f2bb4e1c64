//! A case on its way to a smaller one.

use serde_json::{Map, Value};

use crate::dims::{Axes, Condition};
use crate::harness::case::{
    Case, CasePath, DType, DeviceKind, Pattern, block, contract_notation, flow, flow_map,
};
use crate::harness::check::Check;

/// What of a case can be made smaller.
#[derive(Clone, PartialEq)]
pub(super) struct Candidate {
    pub(super) config: Map<String, Value>,
    pub(super) sizes: Vec<(String, Vec<usize>)>,
    pub(super) dtypes: Vec<DType>,
    pub(super) shapes: Vec<(Pattern, Axes)>,
    pub(super) zero: Vec<(Pattern, Condition)>,
    pub(super) seed: u64,
}

impl Candidate {
    /// Its YAML, with what `case` says for the check.
    pub(super) fn yaml(&self, case: &Case, check: Check, device: DeviceKind) -> String {
        let text = |text: &str| flow(&Value::from(text));
        let why =
            format!("made small from {}, which fails by the check {}", case.path, check.name());
        let mut yaml = case.path.schema_line();
        let mut add = |key: &str, value: &str| yaml.push_str(&format!("{key}: {value}\n"));
        add("subject", &text(&case.subject));
        add("why", &why);
        add("config", &flow_map(&self.config));
        if self.seed != 0 {
            add("seed", &self.seed.to_string());
        }
        add("matrix", &self.matrix(device));
        let shapes = self
            .shapes
            .iter()
            .filter_map(|(pattern, axes)| Some((pattern.to_string(), contract_notation(axes)?)));
        let zero = self.zero.iter().map(|(pattern, when)| (pattern.to_string(), when.to_string()));
        let blocks: [(&str, Vec<_>); 2] =
            [("shapes", shapes.collect()), ("zero_gradient", zero.collect())];
        for (key, lines) in blocks.iter().filter(|(_, lines)| !lines.is_empty()) {
            yaml.push_str(&format!("{key}:\n{}", block(lines)));
        }
        let mut add = |key: &str, value: &str| yaml.push_str(&format!("{key}: {value}\n"));
        match &case.expect {
            None => add("checks", &format!("[{}]", check.name())),
            Some(expect) => {
                let at = expect.at.as_deref().map(|at| format!(", at: {}", text(at)));
                let error = text(&expect.error);
                add("expect", &format!("{{error: {error}{}}}", at.unwrap_or_default()));
            }
        }
        for (key, patterns) in [("broadcast", &case.broadcast), ("keeps_f32", &case.keeps_f32)] {
            let patterns: Vec<String> =
                patterns.iter().map(|pattern| text(&pattern.to_string())).collect();
            if !patterns.is_empty() {
                add(key, &format!("[{}]", patterns.join(", ")));
            }
        }
        let tolerance = self.dtypes.first().and_then(|dtype| case.tolerance(check.name(), *dtype));
        if let Some(tolerance) = tolerance {
            add("tolerance", &format!("{{{}: {tolerance:e}}}", check.name()));
        }
        if let Some(reference) = &case.reference {
            add("reference", &text(&reference.value));
        }
        yaml
    }

    /// The case, if it can be read.
    pub(super) fn case(&self, of: &Case, check: Check, device: DeviceKind) -> Option<Case> {
        let path = CasePath::new(&of.path.to_string()).ok()?;
        Case::parse(&of.file, path, self.yaml(of, check, device).as_bytes()).ok()
    }

    fn matrix(&self, device: DeviceKind) -> String {
        let sizes = self.sizes.iter().map(|(name, values)| {
            let values: Vec<String> = values.iter().map(ToString::to_string).collect();
            format!("{name}: [{}]", values.join(", "))
        });
        let dtypes: Vec<&str> = self.dtypes.iter().map(|dtype| dtype.name()).collect();
        let dtype = (dtypes != ["f32"]).then(|| format!("dtype: [{}]", dtypes.join(", ")));
        let device = (device != DeviceKind::Cpu).then(|| format!("device: [{device}]"));
        let all: Vec<String> = sizes.chain(dtype).chain(device).collect();
        format!("{{{}}}", all.join(", "))
    }
}
