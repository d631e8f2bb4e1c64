//! Names of steps that repeat.

use super::Item;

/// A path with `*` for each number between dots.
pub fn starred(name: &str) -> String {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let mut starred = String::with_capacity(name.len());
    for (i, part) in name.split('.').enumerate() {
        if i > 0 {
            starred.push('.');
        }
        starred.push_str(if is_number(part) { "*" } else { part });
    }
    starred
}

pub(super) fn star(item: &mut Item) {
    match item {
        Item::Step(step) => step.name = starred(&step.name),
        Item::Loop(inner) => inner.body.iter_mut().for_each(star),
    }
}

/// What the names of a loop's steps have in common: a dotted prefix, or else the most frequent one that ends in `*`;
/// `loop` where there is none.
pub(super) fn common_name(body: &[Item]) -> String {
    let mut names = Vec::new();
    collect_names(body, &mut names);
    let Some(first) = names.first() else { return "loop".into() };
    let parts: Vec<&str> = first.split('.').collect();
    let shared = |n: usize| {
        names.iter().all(|name| name.split('.').take(n).eq(parts.iter().copied().take(n)))
    };
    let longest = (1..=parts.len()).rev().find(|&n| shared(n)).unwrap_or(0);
    let whole = longest == parts.len() && names.len() > 1;
    let longest = if whole { longest - 1 } else { longest };
    if longest > 0 {
        return parts[..longest].join(".");
    }
    let counted = |name: &&str| name.split_once('*').map(|(before, _)| format!("{before}*"));
    let prefixes: Vec<String> = names.iter().filter_map(counted).collect();
    let often = |prefix: &&String| prefixes.iter().filter(|other| other == prefix).count();
    prefixes.iter().max_by_key(often).cloned().unwrap_or_else(|| "loop".into())
}

fn collect_names<'a>(body: &'a [Item], names: &mut Vec<&'a str>) {
    for item in body {
        match item {
            Item::Step(step) if step.named => names.push(&step.name),
            Item::Step(_) => {}
            Item::Loop(inner) => collect_names(&inner.body, names),
        }
    }
}
