//! Texts of cases.

use std::fs;

use super::{GOOD, Row, is_readable, package, shapelock};

/// Makes the bytes of a file.
type Made = fn() -> Vec<u8>;

fn with(line: &str) -> Vec<u8> {
    format!("{GOOD}{line}\n").into_bytes()
}

fn batch(values: &str) -> Vec<u8> {
    GOOD.replace("[2, 1]", values).into_bytes()
}

fn config(value: &str) -> Vec<u8> {
    GOOD.replace("d_model: 4", &format!("d_model: {value}")).into_bytes()
}

/// Nine lists of nine, each made of the one before.
fn laughs() -> Vec<u8> {
    let names: Vec<char> = ('a'..='i').collect();
    let list = |pair: &[char]| {
        format!("{}: &{} [{}]\n", pair[1], pair[1], format!("*{},", pair[0]).repeat(9))
    };
    let rest: String = names.windows(2).map(list).collect();
    format!("a: &a [x,x,x,x,x,x,x,x,x]\n{rest}").into_bytes()
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

fn utf16() -> Vec<u8> {
    std::iter::once(0xfeff).chain(GOOD.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

const fn row(name: &'static str, what: &'static str, input: Made, says: &'static str) -> Row<Made> {
    Row { name, what, input, says }
}

/// Each is the text of `cases/hostile.yaml`.
pub const ROWS: &[Row<Made>] = &[
    row(
        "aliases_of_aliases",
        "aliases of aliases, 3 GB once written out",
        laughs,
        "an alias (`*name`)",
    ),
    row("anchor", "an anchor", || with("seed: &s 1"), "an anchor (`&name`)"),
    row("merge_key", "a merge key", || with("<<: {seed: 3}"), "a merge key (`<<`)"),
    row(
        "deep_lists",
        "200,000 lists in one another",
        || format!("subject: {}", "[".repeat(200_000)).into_bytes(),
        "not YAML: recursion limit exceeded",
    ),
    row(
        "deep_mappings",
        "50,000 mappings in one another",
        || with(&format!("x: {}", "{a: ".repeat(50_000))),
        "more than 32 levels",
    ),
    row(
        "wide_list",
        "a list of three million numbers",
        || with(&format!("x: [{}1]", "1,".repeat(3_000_000))),
        "more than 1024 KiB",
    ),
    row(
        "long_text",
        "a text of five million letters",
        || format!("subject: {}\n", "x".repeat(5_000_000)).into_bytes(),
        "more than 1024 KiB",
    ),
    row(
        "empty_lines",
        "eight million empty lines",
        || vec![b'\n'; 8_000_000],
        "more than 1024 KiB",
    ),
    row("empty_file", "an empty file", Vec::new, "the file is empty"),
    row(
        "comment_alone",
        "a comment and nothing else",
        || b"# nothing\n".to_vec(),
        "the file is empty",
    ),
    row(
        "text_alone",
        "a text instead of fields",
        || b"hello\n".to_vec(),
        "a case should be a mapping, found the text `hello`",
    ),
    row(
        "list_alone",
        "a list instead of fields",
        || b"- a\n".to_vec(),
        "a case should be a mapping, found a list",
    ),
    row(
        "two_documents",
        "two documents in one file",
        || format!("{GOOD}---\n{GOOD}").into_bytes(),
        "a second document",
    ),
    row(
        "key_twice",
        "a key that stands twice",
        || with("seed: 1\nseed: 2"),
        "key `seed` stands here again",
    ),
    row("unknown_key", "a key that no case has", || with("sead: 1"), "did you mean `seed`?"),
    row("tag", "a tag", || with("seed: !!int \"3\""), "a tag (`tag:yaml.org,2002:!int`)"),
    row(
        "tag_that_runs_code",
        "a tag that runs code in Python",
        || with("seed: !!python/object/apply:os.system [\"true\"]"),
        "a tag (`tag:yaml.org,2002:!python/object/apply:os.system`)",
    ),
    row("tab", "a tab for indentation", || with("\tseed: 1"), "not YAML: "),
    row(
        "not_utf8",
        "bytes that are not UTF-8",
        || [GOOD.as_bytes(), b"# \xff\xfe\n"].concat(),
        "not UTF-8",
    ),
    row("utf16", "UTF-16", utf16, "not UTF-8"),
    row(
        "nul",
        "a byte of zero",
        || [GOOD.as_bytes(), b"\0\n"].concat(),
        "not YAML: found unprintable character",
    ),
    row(
        "escape_codes",
        "colours of a terminal in a wrong value",
        || with("seed: \"\\e[31mred\""),
        "`seed` should be a whole number, 0 or more, found the text",
    ),
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

/// Every row is tried by the binary, beside a good case.
#[test]
fn each_gives_an_error_and_hides_no_other_case() {
    for row in ROWS {
        let package = package();
        let (file, bytes) = (package.path().join("cases/hostile.yaml"), (row.input)());
        fs::write(&file, &bytes).unwrap();
        let (code, text) = shapelock(package.path(), &["list"]);
        // A subject that tests may know is no fault of the binary's cases.
        assert_eq!(code, if row.name == "subject_by_path" { 0 } else { 2 }, "{}: {text}", row.name);
        assert!(text.contains(row.says), "{}: no `{}` in {text}", row.name, row.says);
        assert!(text.contains("good::shapes"), "{} hides the good case: {text}", row.name);
        is_readable(&text);
        assert_eq!(fs::read(file).unwrap(), bytes, "{}", row.name);
    }
}

/// The good case runs all the same, and the exit code tells of the other.
#[test]
fn the_good_case_runs_beside_it() {
    let package = package();
    fs::write(package.path().join("cases/hostile.yaml"), laughs()).unwrap();
    let (code, text) = shapelock(package.path(), &["check"]);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("good::shapes, 4 points"), "{text}");
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
