//! The text of snapshots: lossless, and strict about what it reads.
#[path = "common/seeded.rs"]
mod seeded;

use proptest::prelude::*;
use rstest::rstest;
use shapelock::harness::law::Item;
use shapelock::harness::snapshot::{Section, Snapshot, merge, parse, render};

const DENSE: &str = "\
dense_ssm at b=8 l=60 d=256 i=1024 n=16 f32

forward
input (b, l, d) [8, 60, 256]
scan ×l
  scan.x (b, n) [8, 16]
· matmul (b, n, n) [8, 16, 16]
· reshape (b, l, n) [8, 60, 16] mixes axes
tail ×(l - 1)
  \"a step\" () []
output (b, l, i) [8, 60, 1024]

gradient
A (n, n) [16, 16] zero where l = 1
B (n, i) [16, 1024]
layers.*.A zero where l < n
";

#[test]
fn the_text_is_read_and_written_back() {
    let snapshot = parse(DENSE).unwrap();
    assert_eq!(render(&snapshot), DENSE);
    let section = snapshot.section("plain").unwrap();
    assert_eq!(section.subject, "dense_ssm");
    assert_eq!(section.reference.to_string(), "b=8 l=60 d=256 i=1024 n=16");
    let zero = [("A", "l == 1"), ("layers.*.A", "l < n")];
    assert_eq!(section.zero, zero.map(|(name, when)| (name.to_owned(), when.parse().unwrap())));
    let Item::Loop(scan) = &section.law.forward[1] else { panic!("a loop") };
    assert_eq!(
        (scan.name.as_str(), scan.count.to_string().as_str(), scan.body.len()),
        ("scan", "l", 1)
    );
    let Item::Step(matmul) = &section.law.forward[2] else { panic!("a step") };
    assert!(!matmul.named && !matmul.mixing);
    assert_eq!(
        parse(DENSE.trim_end()).as_ref(),
        Ok(&snapshot),
        "the last line feed may be missing"
    );
}

#[rstest]
#[case::empty(
    "",
    "",
    1,
    "expected the head of a section, as in `dense_ssm at b=8 l=60 f32`, got an empty line"
)]
#[case::newer(
    "dense_ssm at",
    "shapelock 2\ndense_ssm at",
    1,
    "written in form `2`, which this version of shapelock does not read; update it"
)]
#[case::crlf("forward\n", "forward\r\n", 3, "ends in CR LF, expected LF alone")]
#[case::conflict(
    "scan ×l",
    "<<<<<<< HEAD\nscan ×l",
    5,
    "merge conflict marker `<<<<<<< HEAD`; resolve the conflict first"
)]
#[case::dims(
    "b=8",
    "b=x",
    1,
    "expected a number after `b=`, got `dense_ssm at b=x l=60 d=256 i=1024 n=16 f32`"
)]
#[case::no_dtype(
    " f32\n",
    "\n",
    1,
    "expected the number format at the line's end, as in `f32`, got `dense_ssm at b=8 l=60 d=256 i=1024 n=16`"
)]
#[case::no_forward("\nforward\n", "\nbackward\n", 3, "expected `forward`, got `backward`")]
#[case::numbers(
    "[8, 60, 256]",
    "[8, 61, 256]",
    4,
    "expected `input (b, l, d) [8, 60, 256]`, got `input (b, l, d) [8, 61, 256]`"
)]
#[case::axes(
    "(b, l, d)",
    "(b, l, d",
    4,
    "expected axes, as in `(b, l, n)` (expected `,`, got the end, at column 9 of `(b, l, d`), got `input (b, l, d [8, 60, 256]`"
)]
#[case::unclosed(
    "[8, 60, 256]",
    "[8, 60",
    4,
    "expected `]` after the extents, got `input (b, l, d) [8, 60`"
)]
#[case::padding(
    "input (b",
    "input  (b",
    4,
    "expected `input (b, l, d) [8, 60, 256]`, got `input  (b, l, d) [8, 60, 256]`"
)]
#[case::count(
    "×l\n",
    "×l +\n",
    5,
    "expected a count after `×` (expected a dim, a number or `(`, got the end, at column 4 of `l +`), got `scan ×l +`"
)]
#[case::indentation(
    "  scan.x",
    "   scan.x",
    6,
    "expected a step indented by 2 spaces, got `   scan.x (b, n) [8, 16]`"
)]
#[case::no_loop(
    "input (b",
    "  input (b",
    4,
    "expected a step indented by 0 spaces, got `  input (b, l, d) [8, 60, 256]`"
)]
#[case::tail(
    "mixes axes",
    "mixes axis",
    8,
    "expected the line's end or ` mixes axes` after the extents, got `· reshape (b, l, n) [8, 60, 16] mixes axis`"
)]
#[case::quote("a step\"", "a step", 10, "expected a closing `\"`, got `  \"a step () []`")]
#[case::condition(
    "l = 1",
    "l 1",
    14,
    "expected a condition after `zero where` (expected a comparison (`==`, `!=`, `<`, `<=`, `>`, `>=`), got `1`, at column 3 of `l 1`), got `A (n, n) [16, 16] zero where l 1`"
)]
#[case::twice(
    "B (n, i) [16, 1024]\n",
    "B (n, i) [16, 1024]\n\ndense_ssm at f32\n\nforward\n\ngradient\n",
    17,
    "variant `plain` has a section already"
)]
fn another_text_is_refused(
    #[case] from: &str,
    #[case] to: &str,
    #[case] line: usize,
    #[case] message: &str,
) {
    let text = if from.is_empty() { String::new() } else { DENSE.replacen(from, to, 1) };
    assert_ne!(text, DENSE);
    let error = parse(&text).unwrap_err();
    assert_eq!((error.line, error.message.as_str()), (line, message));
}

#[test]
fn a_text_that_was_cut_short_is_refused_or_shorter_by_whole_parameters() {
    let whole = parse(DENSE).unwrap();
    for (end, _) in DENSE.char_indices() {
        let Ok(read) = parse(&DENSE[..end]) else { continue };
        let (read, whole) = (&read.sections[0], &whole.sections[0]);
        assert_eq!(read.law.forward, whole.law.forward, "cut at {end}");
        assert!(whole.law.parameters.starts_with(&read.law.parameters), "cut at {end}");
    }
}

#[rstest]
#[case::all_ran("base chunked", "base chunked", "", "base chunked")]
#[case::carried("base cuda chunked", "base chunked", "cuda", "base cuda chunked")]
#[case::removed("base cuda chunked", "base chunked", "", "base chunked")]
#[case::added("base cuda", "base fused", "cuda", "base cuda fused")]
#[case::reordered("base cuda chunked", "chunked base", "cuda", "chunked base cuda")]
#[case::first("cuda base", "base", "cuda", "cuda base")]
#[case::never_ran("base", "base", "cuda", "base")]
fn what_could_not_run_is_carried_over(
    #[case] old: &str,
    #[case] new: &str,
    #[case] unverified: &str,
    #[case] merged: &str,
) {
    let sections = |names: &str, extent: usize| -> Vec<Section> {
        let text = |name| {
            format!("m / {name} at b={extent} f32\n\nforward\nx (b) [{extent}]\n\ngradient\n")
        };
        names
            .split_whitespace()
            .map(|name| parse(&text(name)).unwrap().sections.remove(0))
            .collect()
    };
    let old = Snapshot { sections: sections(old, 2) };
    let unverified: Vec<&str> = unverified.split_whitespace().collect();
    let result = merge(&old, sections(new, 3), &unverified);
    let names: Vec<&str> = result.sections.iter().map(|section| section.variant.as_str()).collect();
    assert_eq!(names.join(" "), merged);
    for section in &result.sections {
        let carried = unverified.contains(&section.variant.as_str());
        let expected = if carried {
            old.section(&section.variant).unwrap().clone()
        } else {
            sections(&section.variant, 3).remove(0)
        };
        assert_eq!(*section, expected);
    }
}

proptest! {
    #![proptest_config(seeded::config())]

    #[test]
    fn no_text_is_misread(line in 0usize..15, from in any::<prop::sample::Index>(), to in "[ -~·×\n]{0,3}") {
        let mut lines: Vec<String> = DENSE.lines().map(str::to_owned).collect();
        let at: Vec<usize> = lines[line].char_indices().map(|(i, _)| i).chain([lines[line].len()]).collect();
        lines[line].insert_str(at[from.index(at.len())], &to);
        let text = lines.join("\n") + "\n";
        if let Ok(read) = parse(&text) {
            prop_assert_eq!(render(&read), text);
        }
    }
}
