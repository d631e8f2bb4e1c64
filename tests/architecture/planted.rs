//! A violation of each rule, planted in a text, is seen; and what only looks like one is not.

use super::rules::{broken, idle, long_functions, of_machine, too_long, upward};
use super::{LINES, LINES_OF_A_FUNCTION, LINES_WITH_REASON, MACHINE, RULES};

#[test]
fn every_rule_sees_a_violation_and_nothing_else() {
    for rule in RULES {
        for name in rule.names {
            let at = format!("{}/planted.rs", rule.within[0]);
            let found = |text: &str| broken(rule, &at, text).len();
            let (crate_, item) = name.rsplit_once("::").unwrap_or(("", name));
            assert_eq!(found(&format!("fn f() {{ {name} }}")), 1, "{name} in code");
            assert_eq!(found(&format!("use {name}::{{Some as Other}};")), 1, "{name} in a use");
            if !crate_.is_empty() {
                assert_eq!(found(&format!("use {crate_}::{{a, {item}}};")), 1, "{name} in a group");
            }
            let hidden = format!("// {name}\nconst T: &str = \"{name}\"; fn {item}_x() {{}}");
            assert_eq!(found(&hidden), 0, "{name} in a comment, a text and a longer name");
            for free in rule.but {
                assert!(
                    broken(rule, &format!("{free}.rs"), &format!("use {name};")).is_empty(),
                    "{free}"
                );
            }
        }
    }
}

#[test]
fn a_dependency_that_points_up_is_seen_however_it_is_written() {
    let up = [
        ("src/scan/dense.rs", "use crate::model::DenseSsm;"),
        ("src/model/mamba2/mixer.rs", "fn f() { crate::harness::subject::Input::floats() }"),
        ("src/harness/case/tree.rs", "use super::super::{plan::Point};"),
        ("src/harness/plan.rs", "use super::{case::Case, run};"),
        ("src/harness/law/fit.rs", "use crate::{dims, harness::{study::Study, run::Observation}};"),
    ];
    for (path, text) in up {
        assert_eq!(upward(path, text, &[]).len(), 1, "{path}: {text}");
    }
    let down = [
        ("src/harness/law/fit.rs", "use super::{Law, super::run};"),
        ("src/harness/report.rs", "use super::check::Finding; use crate::dims::Dims;"),
        ("src/lib.rs", "pub mod harness; pub use trace::tap;"),
    ];
    for (path, text) in down {
        assert_eq!(upward(path, text, &[]), Vec::<String>::new());
    }
    let permitted = [("scan", "model", "for once")];
    assert_eq!(upward(up[0].0, up[0].1, &permitted), Vec::<String>::new());
    let source = |(path, text): (&str, &str)| (path.to_owned(), text.to_owned());
    assert_eq!(idle(&permitted, &[source(up[0])]), Vec::<String>::new());
    assert_eq!(idle(&permitted, &[source(up[1])]).len(), 1);
    assert!(upward("src/harness/new.rs", "", &[])[0].contains("no place in ORDER"));
}

#[test]
fn a_long_file_is_seen_and_so_is_an_idle_permission() {
    let of = |lines: usize| "x\n".repeat(lines);
    let longer = [("a.rs", "a table")];
    assert_eq!(too_long("b.rs", &of(LINES), &longer), None);
    assert!(too_long("b.rs", &of(LINES + 1), &longer).is_some_and(|told| told.contains("split")));
    assert_eq!(too_long("a.rs", &of(LINES_WITH_REASON), &longer), None);
    let told = too_long("a.rs", &of(LINES_WITH_REASON + 1), &longer);
    assert!(told.is_some_and(|told| told.contains("split")));
    assert!(too_long("a.rs", &of(LINES), &longer).is_some_and(|told| told.contains("strike it")));
}

#[test]
fn a_long_function_is_seen() {
    let of =
        |lines: usize| format!("    pub fn f<T>() {{\n{}    }}\n", "        x();\n".repeat(lines));
    assert_eq!(long_functions("a.rs", &of(LINES_OF_A_FUNCTION - 2)), Vec::<String>::new());
    let told =
        long_functions("a.rs", &format!("trait T {{ fn g(); }}\n{}", of(LINES_OF_A_FUNCTION)));
    assert_eq!(told, ["a.rs:2: `f` has 72 lines, at most 70"]);
}

#[test]
fn the_path_of_a_machine_is_seen() {
    for part in MACHINE {
        assert_eq!(of_machine("a.md", &format!("fine\nsee {part}x\n")).len(), 1);
    }
    assert_eq!(of_machine("a.md", "see src/lib.rs, ~/.cargo and $HOME\n"), Vec::<String>::new());
}
