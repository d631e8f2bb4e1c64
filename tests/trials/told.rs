//! What a run says beside its findings.

use std::fs;

use crate::package::Package;

/// A graph that is cut hides what is before: a green trial says how little it saw.
#[test]
fn a_model_that_is_seen_in_part_is_told_though_it_passes() {
    let package = Package::new(&[("cut", "cut")]);
    package.run("", &[("INSTA_UPDATE", "always")]);
    let run = package.run("", &[]);
    assert_eq!(run.code(), 0, "{}", run.out());
    run.says("  cut::shapes sees 1 tensor, and nothing of what made 1 of them\n");
    let told = "cut::shapes, 2 points, sees 1 tensor, and nothing of what made 1 of them\n";
    package.run("cli check", &[]).says(told);
}

/// Thirty cases of one model change in one way: that is looked at once, and accepted at once.
#[test]
fn one_change_in_thirty_cases_is_one_group() {
    let names: Vec<String> = (0..30).map(|i| format!("case_{i}")).collect();
    let cases: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "no")).collect();
    let package = Package::new(&cases);
    package.run("", &[("INSTA_UPDATE", "always")]);
    for name in &names {
        let snap = format!("snapshots/{name}.snap");
        let text = package.read(&snap).unwrap();
        let other = text.replace("y (b, l, d) [3, 5, 4]", "y (l, b, d) [5, 3, 4]");
        fs::write(package.path().join(snap), other).unwrap();
    }
    assert_eq!(package.run("", &[]).code(), 101);
    let shown = package.run("cli review --list", &[]);
    shown.says("30 files, 1 change\n").says("1  30 files\n   y (l, b, d) became (b, l, d)\n");
    assert_eq!(package.run("cli review --accept 1", &[]).code(), 0);
    assert_eq!(package.run("", &[]).code(), 0);
}

/// A known fault is run again by its own binary, also where it is quoted in another.
#[test]
fn a_known_fault_names_its_binary() {
    let package = Package::new(&[("known", "error")]);
    package.append("known", "caught_by: [shapes]\nat: elsewhere\n");
    let out = package.run("", &[]).out();
    let again = "cargo test --test shapes -- known::caught --exact";
    assert_eq!(out.matches(again).count(), 2, "{out}");
}

/// A change that is meant and a contract that is broken are both red: the last lines say which is which.
#[test]
fn a_run_with_changes_and_broken_contracts_says_which_is_which() {
    let package = Package::new(&[("meant", "no"), ("broken", "no"), ("good", "no")]);
    package.run("", &[("INSTA_UPDATE", "always")]);
    let (locked, snap) = ("y (b, l, d) [3, 5, 4]", "snapshots/meant.snap");
    let other = package.read(snap).unwrap().replace(locked, "y (l, b, d) [5, 3, 4]");
    fs::write(package.path().join(snap), other).unwrap();
    let alone = package.run("", &[]);
    alone.says("accept it, if it is meant");
    assert!(!alone.err().contains("accepting"), "{}", alone.err());
    package.contract("broken", "y: b d l");
    let both = package.run("", &[]);
    both.says("  green once accepted, if it is meant, 1 case: meant\n")
        .says("  not mended by accepting, 1 case: broken\n");
}
