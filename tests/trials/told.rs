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
