//! Texts that are no case.

use std::fs;

use super::{GOOD, Row, is_readable, package, shapelock};

/// Makes the bytes of a file.
pub type Made = fn() -> Vec<u8>;

pub fn with(line: &str) -> Vec<u8> {
    format!("{GOOD}{line}\n").into_bytes()
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

fn utf16() -> Vec<u8> {
    std::iter::once(0xfeff).chain(GOOD.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

pub const fn row(
    name: &'static str,
    what: &'static str,
    input: Made,
    says: &'static str,
) -> Row<Made> {
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
];

#[test]
fn each_gives_an_error_and_hides_no_other_case() {
    ROWS.iter().for_each(tried);
}

/// Tries a row by the binary, beside a good case.
pub fn tried(row: &Row<Made>) {
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

/// The good case runs all the same, and the exit code tells of the other.
#[test]
fn the_good_case_runs_beside_it() {
    let package = package();
    fs::write(package.path().join("cases/hostile.yaml"), laughs()).unwrap();
    let (code, text) = shapelock(package.path(), &["check"]);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("good::shapes, 4 points"), "{text}");
}
