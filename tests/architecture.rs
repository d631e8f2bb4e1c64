//! The architecture, as rules over the source text: who may name whom, and how long a file may be.
//!
//! A rule that is broken says where, and why it is one. To change the architecture, change the table.

#[path = "architecture/documents.rs"]
mod documents;
#[path = "architecture/planted.rs"]
mod planted;
#[path = "architecture/rules.rs"]
mod rules;
#[path = "architecture/source.rs"]
mod source;

use rules::{
    broken, files, idle, lies_in, long_functions, of_machine, read, sources, tell, too_long, upward,
};
use source::names;

/// Names that files must not use.
struct Rule {
    /// What holds, and why.
    says: &'static str,
    /// Where: modules, each a file without `.rs`, a folder, or both.
    within: &'static [&'static str],
    /// Modules in there that may.
    but: &'static [&'static str],
    /// What must not be named: this, and what lies below it.
    names: &'static [&'static str],
}

const RULES: &[Rule] = &[
    Rule {
        says: "only `case` reads YAML: what comes after it works on a `Case`",
        within: &["src"],
        but: &["src/harness/case"],
        names: &["serde_yaml", "saphyr_parser"],
    },
    Rule {
        says: "only `snapshot` names insta, so that its form can be replaced in one place",
        within: &["src"],
        but: &["src/harness/snapshot"],
        names: &["insta"],
    },
    Rule {
        says: "only `trials` names libtest-mimic: a check does not know what runs it",
        within: &["src"],
        but: &["src/harness/trials"],
        names: &["libtest_mimic"],
    },
    Rule {
        says: "only `cli` talks to a terminal",
        within: &["src"],
        but: &["src/harness/cli"],
        names: &["clap", "indicatif", "anstream", "anstyle"],
    },
    Rule {
        says: "`check` and `report` do no I/O: findings are data, and texts are returned",
        within: &["src/harness/check", "src/harness/report"],
        but: &[],
        names: &["std::fs", "std::io", "std::env", "std::net", "std::process", "std::thread"],
    },
    Rule {
        says: "the library prints nothing: texts are returned, and shown at the edge",
        within: &["src"],
        but: &["src/main", "src/harness/cli", "src/harness/trials"],
        names: &["print", "println", "eprint", "eprintln", "dbg"],
    },
    Rule {
        says: "cases and plans know no tensors: listing builds and allocates nothing",
        within: &["src/harness/case", "src/harness/plan"],
        but: &[],
        names: &["candle_core", "candle_nn", "crate::trace"],
    },
    Rule {
        says: "a run knows no case: it is given a configuration and dims",
        within: &["src/harness/run"],
        but: &[],
        names: &["crate::harness::case", "crate::harness::plan"],
    },
    Rule {
        says: "a law is inferred from observations: it knows no candle",
        within: &["src/harness/law"],
        but: &[],
        names: &["candle_core", "candle_nn"],
    },
    Rule {
        says: "`unsafe` is in two places, each with its argument: reading an op, and setting variables before threads",
        within: &["src"],
        but: &["src/trace/graph", "src/harness/trials/environment"],
        names: &["unsafe"],
    },
    Rule {
        says: "results do not depend on the clock or on unseeded chance; how long a fault was hunted is shown and decides nothing",
        within: &["src"],
        but: &["src/harness/cli/faults"],
        names: &[
            "std::time::Instant",
            "std::time::SystemTime",
            "rand::rng",
            "rand::random",
            "rand::thread_rng",
        ],
    },
];

/// The modules from the ground up: each may name those above it in this list, never those below.
const ORDER: &[&str] = &[
    "dims",
    "trace",
    "scan",
    "model",
    "harness::case",
    "harness::plan",
    "harness::subject",
    "harness::registry",
    "harness::subjects",
    "harness::run",
    "harness::law",
    "harness::study",
    "harness::snapshot",
    "harness::check",
    "harness::outcome",
    "harness::trial",
    "harness::report",
    "harness::zoo",
    "harness::trials",
    "faults",
    "harness::cli",
];

/// What may point the other way, and why.
const UPWARD: &[(&str, &str, &str)] =
    &[("harness::trials", "harness::cli", "a test binary of `main!` carries the command line")];

/// How long a file may be: one concept fits into it.
const LINES: usize = 300;

/// How long a function may be: it is seen whole.
const LINES_OF_A_FUNCTION: usize = 70;

/// How long a file with a reason may be.
const LINES_WITH_REASON: usize = 400;

/// Files that may be longer, and why.
const LONGER: &[(&str, &str)] = &[];

/// Folders of one machine, and what lies beside the repository there.
const MACHINE: &[&str] = &[
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
    concat!("/wo", "rk/"),
    concat!("../sh", "ared"),
];

/// Files that may name one, and why.
const IMAGINARY: &[(&str, &str)] =
    &[("src/trace/locate.rs", "its tests read the backtrace of an imaginary machine")];

#[test]
fn every_rule_holds() {
    let sources = sources();
    let broken = |rule| sources.iter().flat_map(move |(path, text)| broken(rule, path, text));
    tell(RULES.iter().flat_map(broken).collect());
}

#[test]
fn every_rule_is_about_modules_that_exist() {
    let sources = sources();
    let exists = |module: &&&str| sources.iter().any(|(path, _)| lies_in(path, module));
    let named = RULES.iter().flat_map(|rule| rule.within.iter().chain(rule.but));
    let idle = named.filter(|module| !exists(module));
    tell(idle.map(|module| format!("a rule names `{module}`, which is no module")).collect());
}

#[test]
fn dependencies_point_one_way() {
    let told = sources().iter().flat_map(|(path, text)| upward(path, text, UPWARD)).collect();
    tell([told, idle(UPWARD, &sources())].concat());
}

#[test]
fn each_permitted_unsafe_is_one_block() {
    for module in RULES.iter().filter(|rule| rule.names == ["unsafe"]).flat_map(|rule| rule.but) {
        let path = format!("{module}.rs");
        let text = read(&path);
        let blocks = names(&path, &text).iter().filter(|name| name.is_within("unsafe")).count();
        assert_eq!(blocks, 1, "{path}: `unsafe` stands there {blocks} times");
        assert!(text.contains("// SAFETY: "), "{path}: an `unsafe` without its argument");
    }
}

#[test]
fn files_are_short() {
    let rust = files().into_iter().filter(|path| path.ends_with(".rs"));
    tell(rust.filter_map(|path| too_long(&path, &read(&path), LONGER)).collect());
}

#[test]
fn functions_are_short() {
    let rust = files().into_iter().filter(|path| path.ends_with(".rs"));
    tell(rust.flat_map(|path| long_functions(&path, &read(&path))).collect());
}

#[test]
fn no_file_names_a_machine() {
    let told = files().into_iter().filter(|path| !IMAGINARY.iter().any(|(file, _)| file == path));
    tell(told.flat_map(|path| of_machine(&path, &read(&path))).collect());
}
