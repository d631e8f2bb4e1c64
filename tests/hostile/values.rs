//! Values in cases.

use std::fs;

use super::cases::{Made, row, tried, with};
use super::{GOOD, Row, package, shapelock};

fn batch(values: &str) -> Vec<u8> {
    GOOD.replace("[2, 1]", values).into_bytes()
}

fn config(value: &str) -> Vec<u8> {
    GOOD.replace("d_model: 4", &format!("d_model: {value}")).into_bytes()
}

fn many_sizes() -> Vec<u8> {
    let sizes: Vec<String> = (1..=3000).map(|n| n.to_string()).collect();
    let sizes = sizes.join(", ");
    format!("subject: dense_ssm\nwhy: many\nmatrix: {{batch: [{sizes}], seq: [{sizes}]}}\n")
        .into_bytes()
}

fn many_variants() -> Vec<u8> {
    let one = |i: usize| format!("  v{i}: {{d_model: {}}}\n", i % 7 + 1);
    with(&format!("variants:\n{}", (0..20_000).map(one).collect::<String>()))
}

/// Each is the text of `cases/hostile.yaml`.
pub const ROWS: &[Row<Made>] = &[
    row("points", "nine million points", many_sizes, "9000000 points, at most 10000 are meant"),
    row(
        "variants",
        "80,000 points by variants",
        many_variants,
        "80000 points, at most 10000 are meant",
    ),
    row(
        "size_of_terabytes",
        "a size of a billion",
        || batch("[1000000000]"),
        "size `batch` is 1000000000",
    ),
    row(
        "size_of_u64",
        "the largest number of 64 bits",
        || batch("[18446744073709551615]"),
        "size `batch` is 18446744073709551615",
    ),
    row(
        "size_beyond_u64",
        "a number beyond 64 bits",
        || batch("[99999999999999999999999]"),
        "size `batch` should be a whole number, 0 or more",
    ),
    row(
        "size_zero",
        "a size of zero where no error is expected",
        || batch("[0]"),
        "size `batch` is 0",
    ),
    row("size_negative", "a negative size", || batch("[-1]"), "found -1"),
    row("size_with_fraction", "a size with a fraction", || batch("[2.5]"), "found 2.5"),
    row(
        "size_not_a_number",
        "a size that is not a number",
        || batch("[.nan]"),
        "`.nan` is no finite number",
    ),
    row("size_infinite", "an infinite size", || batch("[.inf]"), "`.inf` is no finite number"),
    row("size_in_words", "a size in words", || batch("[two]"), "found the text `two`"),
    row(
        "sizes_null",
        "null for a list of sizes",
        || batch("null"),
        "size `batch` should be a list, found `null`",
    ),
    row("sizes_empty", "no size at all", || batch("[]"), "size `batch` is an empty list"),
    row(
        "config_negative",
        "a negative number in the configuration",
        || config("-4"),
        "subject `dense_ssm` refuses config `d_model`",
    ),
    row(
        "config_huge",
        "a width of 10¹²",
        || config("1000000000000"),
        "expected 1 to 1048576, actual 1000000000000",
    ),
    row("config_infinite", "an infinite width", || config(".inf"), "`.inf` is no finite number"),
    row(
        "config_unknown",
        "a key that no configuration has",
        || config("4, depth: 3"),
        "subject `dense_ssm` refuses config",
    ),
    row(
        "seed_beyond_u64",
        "a seed beyond 64 bits",
        || with("seed: 99999999999999999999"),
        "`seed` should be a whole number, 0 or more",
    ),
    row(
        "budget_in_words",
        "a budget in words",
        || with("budget: lots"),
        "`budget` should be bytes, such as `512MiB` or `4GiB`",
    ),
    row(
        "budget_zero",
        "a budget of nothing",
        || with("budget: 0"),
        "`budget` should be bytes, such as `512MiB` or `4GiB`, found 0",
    ),
    row(
        "tolerance_negative",
        "a negative tolerance",
        || with("tolerance: {batch: -1}"),
        "tolerance of `batch` should be a finite number, 0 or more, found -1",
    ),
    row(
        "tolerance_infinite",
        "a tolerance that allows anything",
        || with("tolerance: {batch: .inf}"),
        "`.inf` is no finite number",
    ),
    row(
        "deep_expression",
        "20,000 parentheses in a shape",
        || with(&format!("shapes: {{states: \"{}\"}}", "(".repeat(20_000))),
        "more than 4096 characters",
    ),
    row(
        "wide_expression",
        "20,000 axes",
        || with(&format!("shapes: {{states: \"{}\"}}", "b ".repeat(20_000))),
        "more than 4096 characters",
    ),
    row(
        "expression_of_products",
        "a product of 200 dims",
        || with(&format!("shapes: {{states: \"{}b\"}}", "b·".repeat(200))),
        "expression too large",
    ),
    row(
        "number_in_an_expression",
        "a number beyond 64 bits in a shape",
        || with("shapes: {states: \"b l 99999999999999999999999\"}"),
        "is beyond 64 bits",
    ),
    row(
        "pattern_of_stars",
        "a pattern of 5,000 stars",
        || with(&format!("shapes: {{\"{}\": b}}", "*".repeat(5000))),
        "has `*` inside the segment",
    ),
    row(
        "subject_by_path",
        "a path for a subject",
        || GOOD.replace("dense_ssm", "../../etc/passwd").into_bytes(),
        "its subject is known to tests only",
    ),
];

#[test]
fn each_gives_an_error_and_hides_no_other_case() {
    ROWS.iter().for_each(tried);
}

/// More than the budget is refused before anything is allocated, and the limit can be set.
#[test]
fn a_point_beyond_the_budget_is_refused_unrun() {
    let package = package();
    let large = GOOD.replace("[2, 1]", "[16777216]").replace("[5, 1]", "[60]");
    fs::write(package.path().join("cases/large.yaml"), large).unwrap();
    let (code, text) = shapelock(package.path(), &["check", "large"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("budget"), "{text}");
    let small = GOOD.to_owned() + "budget: 1KiB\n";
    fs::write(package.path().join("cases/large.yaml"), small).unwrap();
    assert!(shapelock(package.path(), &["check", "large"]).1.contains("budget"));
}
