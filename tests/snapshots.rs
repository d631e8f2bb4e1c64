//! The text of snapshots: lossless, and strict about what it reads.
use proptest::collection::vec;
use proptest::prelude::*;
use rstest::rstest;
use shapelock::dims::{Axes, Condition, Dims, Expr};
use shapelock::harness::law::{Item, Law, LawStep, Loop};
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

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,6}(\\.[a-z0-9*]{1,3}){0,2}",
        prop::sample::select(vec![
            "",
            "forward",
            "gradient",
            "zero where",
            "a × (b)",
            "x [1]\n\n",
            "\"",
            "\\u{41}",
            "·",
            "=",
            "---",
            "\u{200b}x"
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ]
}

fn expr() -> impl Strategy<Value = Expr> {
    prop::sample::select(vec![
        "b",
        "l",
        "0",
        "1",
        "b·l",
        "l - 1",
        "2·l + 2·b·n + h_0",
        "ceil(l/n)·n",
        "ceil((l + 1)/n)",
        "-l",
        "unbound",
    ])
    .prop_map(|text| text.parse().unwrap())
}

fn axes() -> impl Strategy<Value = Axes> {
    vec(expr(), 0..4).prop_map(Axes)
}

fn item() -> impl Strategy<Value = Item> {
    let step =
        (name(), any::<bool>(), axes(), any::<bool>()).prop_map(|(name, named, axes, mixing)| {
            Item::Step(LawStep { name, named, axes, mixing, op: None })
        });
    step.prop_recursive(4, 16, 4, |inner| {
        (name(), expr(), vec(inner, 0..4))
            .prop_map(|(name, count, body)| Item::Loop(Loop { name, count, body }))
    })
}

fn condition() -> impl Strategy<Value = Condition> {
    prop::sample::select(vec![
        "l == 1",
        "l < n",
        "b > 1 and l == 1",
        "l != 2 or (b >= 2 or l == 1) and n <= 3",
        "2·l == b + 1",
    ])
    .prop_map(|text| text.parse().unwrap())
}

fn section(variant: String) -> impl Strategy<Value = Section> {
    let reference =
        vec((name(), any::<usize>()), 0..3).prop_map(|dims| dims.into_iter().collect::<Dims>());
    let reference =
        (reference, 1usize..50, 1usize..50).prop_map(|(dims, b, l)| dims.with("b", b).with("l", l));
    let parameters =
        prop::collection::btree_map(name(), (axes(), prop::option::of(condition())), 0..4);
    let patterns = vec((name(), condition()), 0..3);
    (name(), reference, name(), vec(item(), 0..6), parameters, patterns).prop_map(
        move |(subject, reference, dtype, forward, parameters, patterns)| {
            let zero = parameters
                .iter()
                .filter_map(|(name, (_, zero))| Some((name.clone(), zero.clone()?)));
            let mut zero: Vec<_> = zero.collect();
            // A name with a tilde first is none of those of `parameters`.
            zero.extend(patterns.into_iter().map(|(name, zero)| (format!("~{name}~~"), zero)));
            let parameters = parameters.into_iter().map(|(name, (axes, _))| (name, axes)).collect();
            Section {
                subject,
                variant: variant.clone(),
                reference,
                dtype,
                law: Law { forward, parameters },
                zero,
            }
        },
    )
}

fn snapshot() -> impl Strategy<Value = Snapshot> {
    let variants = prop::collection::hash_set(name(), 1..4);
    let sections =
        variants.prop_flat_map(|variants| variants.into_iter().map(section).collect::<Vec<_>>());
    sections.prop_map(|sections| Snapshot { sections })
}

proptest! {
    #[test]
    fn any_snapshot_is_read_back(snapshot in snapshot()) {
        let text = render(&snapshot);
        let read = parse(&text);
        prop_assert_eq!(read.as_ref(), Ok(&snapshot), "{}", text);
        prop_assert_eq!(text.matches('\r').count(), 0);
    }

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
