//! Number formats and devices by name. What a tensor library calls them is known where runs are made.
use std::fmt;

/// A number format of parameters and float inputs; ids and masks have their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema), schemars(rename_all = "lowercase"))]
#[expect(missing_docs, reason = "the names say it")]
pub enum DType {
    BF16,
    F16,
    F32,
    F64,
}

impl DType {
    /// All formats with their names in YAML and in the names of points.
    pub const ALL: [(&str, Self); 4] =
        [("f32", Self::F32), ("f64", Self::F64), ("f16", Self::F16), ("bf16", Self::BF16)];

    /// Its name.
    pub fn name(self) -> &'static str {
        name_in(&Self::ALL, self)
    }
}

/// A kind of device; always the first of its kind that is visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema), schemars(rename_all = "lowercase"))]
#[expect(missing_docs, reason = "the names say it")]
pub enum DeviceKind {
    Cpu,
    Cuda,
    Metal,
}

impl DeviceKind {
    /// All kinds with their names in YAML and in the names of points.
    pub const ALL: [(&str, Self); 3] =
        [("cpu", Self::Cpu), ("cuda", Self::Cuda), ("metal", Self::Metal)];

    /// Its name.
    pub fn name(self) -> &'static str {
        name_in(&Self::ALL, self)
    }
}

fn name_in<T: PartialEq>(all: &[(&'static str, T)], one: T) -> &'static str {
    all.iter().find(|(_, known)| *known == one).map_or("?", |(name, _)| name)
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
