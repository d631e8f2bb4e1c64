//! What the rules mean: functions from a file's path and text to what is wrong with it.

use std::path::{Path, PathBuf};

use super::source::{Name, module, names};
use super::{LINES, LINES_OF_A_FUNCTION, LINES_WITH_REASON, MACHINE, ORDER, Rule};

/// A module, one that it may name although it stands below it, and why.
pub type Permission = (&'static str, &'static str, &'static str);

/// Where a file breaks a rule.
pub fn broken(rule: &Rule, path: &str, text: &str) -> Vec<String> {
    let lies_in_any = |modules: &[&str]| modules.iter().any(|module| lies_in(path, module));
    if !lies_in_any(rule.within) || lies_in_any(rule.but) {
        return Vec::new();
    }
    let named = |name: &Name| rule.names.iter().find(|of| name.is_within(of)).copied();
    let told = |name: Name| Some((name.line, named(&name)?));
    let told = names(path, text).into_iter().filter_map(told);
    told.map(|(line, name)| format!("{path}:{line}: names `{name}`; {}", rule.says)).collect()
}

/// Whether a file belongs to a module, which is a file without `.rs`, a folder, or both.
pub fn lies_in(path: &str, module: &str) -> bool {
    Path::new(path.strip_suffix(".rs").unwrap_or(path)).starts_with(module)
}

/// Where a file names a module that stands below its own in [`ORDER`].
pub fn upward(path: &str, text: &str, permitted: &[Permission]) -> Vec<String> {
    let module = module(path);
    if module.len() == 1 || (module.len() == 2 && module[1] == "harness") {
        return Vec::new();
    }
    let Some(own) = place(&module) else {
        let module = module.join("::");
        return vec![format!("{path}: `{module}` has no place in ORDER of tests/architecture.rs")];
    };
    let allowed = |other: usize| {
        permitted.iter().any(|(from, to, _)| (*from, *to) == (ORDER[own], ORDER[other]))
    };
    let up = |name: &Name| place(&name.parts).filter(|other| *other > own && !allowed(*other));
    let told = names(path, text).into_iter().filter_map(|name| Some((name.line, up(&name)?)));
    told.map(|(line, other)| {
        let (own, other) = (ORDER[own], ORDER[other]);
        format!("{path}:{line}: `{own}` names `{other}`; dependencies point the other way")
    })
    .collect()
}

/// Permissions to point upward that nothing uses any more.
pub fn idle(permitted: &[Permission], sources: &[(String, String)]) -> Vec<String> {
    let used = |(from, to, _): &&Permission| {
        let own = |path: &str| place(&module(path)).is_some_and(|place| ORDER[place] == *from);
        let to = format!("crate::{to}");
        let uses =
            |text: &str, path: &str| names(path, text).iter().any(|name| name.is_within(&to));
        sources.iter().any(|(path, text)| own(path) && uses(text, path))
    };
    let idle = permitted.iter().filter(|permission| !used(permission));
    idle.map(|(from, to, _)| format!("`{from}` names `{to}` no more: strike it from UPWARD"))
        .collect()
}

fn place(parts: &[String]) -> Option<usize> {
    let name = Name { line: 0, parts: parts.to_vec() };
    ORDER.iter().position(|module| name.is_within(&format!("crate::{module}")))
}

/// Whether a file is too long, or has a reason to be longer that it does not need.
pub fn too_long(path: &str, text: &str, longer: &[(&str, &str)]) -> Option<String> {
    let lines = text.lines().count();
    let reason = longer.iter().find(|(file, _)| *file == path);
    let most = if reason.is_some() { LINES_WITH_REASON } else { LINES };
    match reason {
        Some(_) if lines <= LINES => Some(format!("{path}: {lines} lines, strike it from LONGER")),
        _ if lines > most => Some(format!("{path}: {lines} lines, at most {most}: split it")),
        _ => None,
    }
}

/// Functions that are too long. Formatted code closes a function at the depth at which it opened it.
pub fn long_functions(path: &str, text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let opens = |line: &str| {
        let code = line.trim_start();
        let name = code.split("fn ").nth(1)?.split(['(', '<']).next()?;
        let qualifiers = code.split("fn ").next()?.split_whitespace();
        let known = ["pub", "pub(crate)", "pub(super)", "const", "unsafe", "async"];
        let is_item = qualifiers.into_iter().all(|word| known.contains(&word));
        is_item.then(|| (line.len() - code.len(), name.to_owned()))
    };
    let length = |at: usize, depth: usize| {
        let end = format!("{}}}", " ".repeat(depth));
        lines[at..].iter().position(|line| *line == end).map_or(1, |last| last + 1)
    };
    let found = lines.iter().enumerate().filter_map(|(at, line)| Some((at, opens(line)?)));
    let long = found.map(|(at, (depth, name))| (at + 1, length(at, depth), name));
    let long = long.filter(|(_, length, _)| *length > LINES_OF_A_FUNCTION);
    long.map(|(line, length, name)| {
        format!("{path}:{line}: `{name}` has {length} lines, at most {LINES_OF_A_FUNCTION}")
    })
    .collect()
}

/// Where a file names a folder that other machines do not have.
pub fn of_machine(path: &str, text: &str) -> Vec<String> {
    let named = |line: &str| MACHINE.iter().find(|part| line.contains(**part));
    let told = text.lines().zip(1..).filter_map(|(line, n)| Some((n, named(line)?)));
    told.map(|(n, part)| format!("{path}:{n}: names `{part}`, which other machines lack")).collect()
}

/// Fails with all that is wrong, if anything is.
pub fn tell(broken: Vec<String>) {
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

/// The files below `src/`, with their texts.
pub fn sources() -> Vec<(String, String)> {
    let rust = files().into_iter().filter(|path| path.starts_with("src/") && path.ends_with(".rs"));
    rust.map(|path| (path.clone(), read(&path))).collect()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The text of a file of the repository.
pub fn read(path: &str) -> String {
    let bytes = std::fs::read(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// All files of the repository, by their paths in it.
pub fn files() -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![root()];
    while let Some(folder) = open.pop() {
        let entries =
            std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
        for path in entries.map(|entry| entry.map(|entry| entry.path())).map(Result::unwrap) {
            let inside =
                path.strip_prefix(root()).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            match (path.is_dir(), inside.as_str()) {
                (_, "target" | ".git") => {}
                (true, _) => open.push(path),
                (false, _) => found.push(inside),
            }
        }
    }
    found.sort();
    found
}
