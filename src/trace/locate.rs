//! Places in the source: of a tap, of an error, of a panic.

use std::fmt;
use std::panic::Location;

/// A line of a source file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// The file, relative to the workspace where it lies inside.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl From<&Location<'_>> for Place {
    fn from(at: &Location<'_>) -> Self {
        Self { file: short(at.file()), line: at.line() }
    }
}

/// The lines of the user's code in an error's backtrace, innermost first.
///
/// Frames of the standard library, the toolchain, the registry and the harness itself are dropped. Empty when no
/// backtrace was captured: the runner asks for them with `RUST_LIB_BACKTRACE=1` before the first error.
pub fn places(error: &candle_core::Error) -> Vec<Place> {
    use candle_core::Error;
    match error {
        Error::WithBacktrace { inner, backtrace } => {
            let deeper = places(inner);
            if deeper.is_empty() { frames(&backtrace.to_string()) } else { deeper }
        }
        Error::Context { inner, .. } | Error::WithPath { inner, .. } => places(inner),
        _ => Vec::new(),
    }
}

/// The function that the user's code called and that failed, by its bare name; nothing where no backtrace tells.
pub fn called(error: &candle_core::Error) -> Option<String> {
    use candle_core::Error;
    match error {
        Error::WithBacktrace { inner, backtrace } => {
            called(inner).or_else(|| last_foreign(&backtrace.to_string()))
        }
        Error::Context { inner, .. } | Error::WithPath { inner, .. } => called(inner),
        _ => None,
    }
}

/// The name of the last frame before the user's first.
fn last_foreign(backtrace: &str) -> Option<String> {
    let (mut frame, mut last) = (None, None);
    for line in backtrace.lines().map(str::trim) {
        match line.strip_prefix("at ") {
            Some(at) if !foreign(at) => return last,
            Some(_) => last = frame.take().or(last),
            None => frame = line.split_once(": ").map(|(_, path)| bare_name(path)),
        }
    }
    None
}

/// The last segment of a path, without type arguments and the hash of a symbol.
fn bare_name(path: &str) -> String {
    let of_type = path.strip_prefix('<').and_then(|rest| rest.split_once(">::"));
    let path = of_type.map_or(path, |(_, rest)| rest);
    let path = path.split('<').next().unwrap_or(path).trim_end_matches("::");
    let is_hash = |s: &str| s.len() == 17 && s.starts_with('h');
    path.rsplit("::").find(|segment| !is_hash(segment)).unwrap_or(path).to_owned()
}

/// The user's lines in a rendered backtrace.
pub fn frames(backtrace: &str) -> Vec<Place> {
    let lines = backtrace.lines().filter_map(|line| line.trim().strip_prefix("at "));
    let mut found: Vec<Place> = lines.filter(|line| !foreign(line)).filter_map(parse).collect();
    found.dedup();
    found
}

/// The error beneath its wrappers.
pub fn bare(error: &candle_core::Error) -> &candle_core::Error {
    use candle_core::Error;
    match error {
        Error::WithBacktrace { inner, .. }
        | Error::Context { inner, .. }
        | Error::WithPath { inner, .. } => bare(inner),
        other => other,
    }
}

fn parse(at: &str) -> Option<Place> {
    let (rest, _column) = at.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    Some(Place { file: short(file), line: line.parse().ok()? })
}

/// Not the user's: rustc's own paths, dependencies from a registry or a git checkout, the harness.
fn foreign(at: &str) -> bool {
    let at = at.replace('\\', "/");
    let elsewhere = ["/rustc/", "/registry/src/", "/git/checkouts/", "/rustlib/"];
    !at.contains(".rs:") || elsewhere.iter().any(|part| at.contains(part)) || of_harness(&at)
}

/// Inside this crate's trace or harness, wherever it was built.
fn of_harness(at: &str) -> bool {
    let crate_root = env!("CARGO_MANIFEST_DIR").replace('\\', "/");
    let here = std::env::current_dir().map(|p| p.display().to_string()).unwrap_or_default();
    let whole = at.strip_prefix("./").map(|rest| format!("{here}/{rest}"));
    let whole = whole.unwrap_or_else(|| at.to_owned());
    let inside = whole.strip_prefix(&crate_root);
    inside.is_some_and(|rest| rest.starts_with("/src/trace/") || rest.starts_with("/src/harness/"))
}

/// Relative to the workspace, or to the current folder; in a registry, from the folder of the crate on.
fn short(file: &str) -> String {
    let file = file.replace('\\', "/");
    if let Some((_, in_registry)) = file.split_once("/registry/src/") {
        let in_crate = in_registry.split_once('/').map_or(in_registry, |(_, rest)| rest);
        return in_crate.to_owned();
    }
    let root = std::env::var("CARGO_MANIFEST_DIR").ok();
    let root = root.or_else(|| std::env::current_dir().ok().map(|p| p.display().to_string()));
    let inside = root.as_deref().and_then(|root| file.strip_prefix(root));
    let inside = inside.map(|rest| rest.trim_start_matches('/')).unwrap_or(&file);
    inside.trim_start_matches("./").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backtrace_keeps_the_lines_of_the_model() {
        let text = "   0: candle_core::error::Error::bt\n             at /home/x/.cargo/registry/src/index/candle-core-0.11.1/src/error.rs:260:25\n   \
                    1: model::forward\n             at ./models/a.rs:12:9\n   2: std::thread\n             at /rustc/abc/library/std/src/thread.rs:1:2\n";
        let found = frames(text);
        assert_eq!(found, [Place { file: "models/a.rs".into(), line: 12 }]);
        assert_eq!(last_foreign(text), Some("bt".to_owned()));
        assert_eq!(bare_name("<candle_core::tensor::Tensor>::reshape::<(usize, ())>"), "reshape");
        assert_eq!(bare_name("candle_core::tensor::Tensor::reshape::h0123456789abcdef"), "reshape");
        assert_eq!(bare_name("from_vec<(usize, usize), alloc::vec::Vec<f32>>"), "from_vec");
    }
}
