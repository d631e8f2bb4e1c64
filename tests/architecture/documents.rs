//! What the documents say of the package is so.

use super::rules::{files, read, tell};

/// Paths in links, `](path)`, that lead to a file of the repository.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    targets.filter(|target| !target.is_empty() && !target.contains("://"))
}

/// The path without `..`, each of which takes back the folder before it.
fn resolved(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The values of a key in a manifest, as in `rust-version = "1.89"`.
fn values<'a>(manifest: &'a str, key: &str) -> Vec<&'a str> {
    let value = |line: &'a str| line.strip_prefix(key)?.trim_start().strip_prefix('=');
    let lines = manifest.lines().filter_map(value);
    lines.map(|value| value.trim().trim_matches('"')).collect()
}

#[test]
fn links_lead_somewhere() {
    let all = files();
    let documents = all.iter().filter(|path| path.ends_with(".md"));
    let broken = documents.flat_map(|path| {
        let folder =
            path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
        let text = read(path);
        let targets: Vec<String> =
            links(&text).map(|to| resolved(&format!("{folder}{to}"))).collect();
        let missing = targets.into_iter().filter(|to| !all.contains(to));
        missing.map(|to| format!("{path}: links to `{to}`, which is not there")).collect::<Vec<_>>()
    });
    tell(broken.collect());
}

#[test]
fn the_readme_names_the_versions_of_the_manifest() {
    let (manifest, readme) = (read("Cargo.toml"), read("README.md"));
    let rust =
        values(&manifest, "rust-version").into_iter().map(|version| format!("Rust {version}"));
    let candle =
        values(&manifest, "candle-core").into_iter().map(|version| format!("candle {version}"));
    let named: Vec<String> = rust.chain(candle).collect();
    assert_eq!(named.len(), 2, "one line each in the manifest");
    let missing = named.iter().filter(|text| !readme.contains(*text));
    tell(missing.map(|text| format!("README.md does not say `{text}`")).collect());
}

#[test]
fn the_profile_in_the_readme_is_the_one_of_the_manifest() {
    let (manifest, readme) = (read("Cargo.toml"), read("README.md"));
    let block = readme.split("[profile.dev]").nth(1).and_then(|rest| rest.split("```").next());
    let block = block.unwrap_or_default();
    let optimised = |line: &str| line.strip_suffix(" = { opt-level = 3 }").map(str::to_owned);
    let shown: Vec<String> = block.lines().filter_map(optimised).collect();
    let named = |line: &str| {
        let name = line.strip_prefix("[profile.dev.package.")?.strip_suffix(']')?;
        (!name.contains('"')).then(|| name.to_owned())
    };
    let kept: Vec<String> = manifest.lines().filter_map(named).collect();
    assert!(!kept.is_empty(), "the manifest names no package in its profile");
    // Here shapelock is the workspace's own, and has the level above; elsewhere it is a dependency like the others.
    let kept: Vec<String> = std::iter::once("shapelock".to_owned()).chain(kept).collect();
    assert_eq!(shown, kept);
    assert!(block.contains(&format!("debug = \"{}\"", values(&manifest, "debug")[0])));
}
