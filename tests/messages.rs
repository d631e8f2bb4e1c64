//! What is found, and what is said of it: small models with one thing wrong, and the whole text of the failure.

mod toys;

use std::path::Path;

use rstest::rstest;
use shapelock::dims::Axes;
use shapelock::harness::case::{Case, CasePath, DeviceKind};
use shapelock::harness::check::{Check, Source, What};
use shapelock::harness::law::Item;
use shapelock::harness::outcome::Outcome;
use shapelock::harness::report::{Context, failure};
use shapelock::harness::snapshot::{Snapshot, render};
use shapelock::harness::trial::{Trial, checks, run};
use shapelock::harness::zoo::filtered;

const MATRIX: &str = "matrix: {batch: [4, 1], seq: [5, 1]}";

/// A case for a toy, with the given lines below the usual ones.
fn case(subject: &str, lines: &str) -> Case {
    let matrix = if lines.contains("matrix:") { "" } else { MATRIX };
    let yaml =
        format!("subject: {subject}\nwhy: a test\nconfig: {{d: 6, n: 3}}\n{matrix}\n{lines}\n");
    let path = CasePath::new("toys::case").expect("a name");
    Case::parse(Path::new("cases/toys/case.yaml"), path, yaml.as_bytes()).expect("a case")
}

fn outcome(case: &Case, check: Check, baseline: Option<&Snapshot>) -> Outcome {
    let subjects = toys::registry();
    let (subjects, device) = (&subjects, DeviceKind::Cpu);
    let trial = Trial { case, subjects, check, device, point: None, baseline, laws: None };
    run(&trial).expect("a trial that can be made")
}

fn text(case: &Case, check: Check, baseline: Option<&Snapshot>) -> String {
    let outcome = outcome(case, check, baseline);
    let trial = format!("toys::case::{}", check.name());
    let context = Context {
        trial: &trial,
        device: "cpu",
        skipped: &[],
        snapshot: Some(Path::new("snapshots/toys/case.snap")),
        texts: None,
        binary: "messages",
    };
    filtered(&failure(case, &outcome, &context))
}

/// The law of a toy, as a baseline for another.
fn locked(subject: &str, lines: &str) -> Snapshot {
    let found = outcome(&case(subject, lines), Check::Shapes, None);
    assert_eq!(found.findings, [], "{subject} is right");
    found.snapshot.expect("a law")
}

#[rstest]
#[case::squeezed_at_batch_one("squeezed", Check::Shapes, "")]
#[case::contract_broken("right", Check::Shapes, "shapes: {output: b n l}")]
#[case::contract_of_no_step("right", Check::Shapes, "shapes: {outputt: b l n}")]
#[case::exchange_hidden_by_equal_sizes(
    "exchanged",
    Check::Shapes,
    "matrix: {batch: [2], seq: [3]}\nshapes: {output: b l n}"
)]
#[case::another_path_at_batch_one("branching", Check::Shapes, "")]
#[case::products_skipped_at_batch_one("alone", Check::Shapes, "")]
#[case::products_skipped_at_one_step("timeless", Check::Shapes, "")]
#[case::no_expression("rooted", Check::Shapes, "matrix: {batch: [4], seq: [8]}")]
#[case::an_error("refused", Check::Shapes, "")]
#[case::a_panic("panicking", Check::Shapes, "")]
#[case::no_error("right", Check::Shapes, "expect: {error: mismatch}")]
#[case::too_large("right", Check::Shapes, "budget: 1KiB\nmatrix: {batch: [1000000], seq: [5]}")]
#[case::severed("severed", Check::Gradients, "")]
#[case::zero_gradient("unused", Check::Gradients, "")]
#[case::not_zero("right", Check::Gradients, "zero_gradient: {w: l == 1}")]
#[case::not_finite("overflowing", Check::Finite, "")]
#[case::disagreeing("disagreeing", Check::Scans, "")]
#[case::failing_under_another_check("refused", Check::Gradients, "checks: [gradients, finite]")]
#[case::error_at_another_step("refused", Check::Shapes, "expect: {error: mismatch, at: output}")]
#[case::pooled_over_the_wrong_axis("pooled", Check::Shapes, "shapes: {output: b ceil((l-1)/2) n}")]
#[case::an_error_where_the_law_ends("shortened", Check::Shapes, "")]
#[case::no_derivative("counting", Check::Gradcheck, "checks: [shapes, gradcheck]")]
#[case::no_strided_pass("in_order", Check::Layout, "checks: [shapes, layout]")]
#[case::behind_others_in_memory("from_the_start", Check::Layout, "checks: [shapes, layout]")]
#[case::another_path_beside_the_points("far", Check::Shapes, "")]
#[case::an_op_skipped_within_a_tap("unshuffled", Check::Shapes, "")]
#[case::an_error_where_no_steps_are_kept("refused", Check::Dtype, "checks: [dtype]")]
#[case::sizes_that_fit_by_chance("as_many_rows", Check::Shapes, "matrix: {batch: [6], seq: [5]}")]
#[case::severed_at_other_points("parts", Check::Gradients, "")]
fn each_finding_has_its_text(#[case] subject: &str, #[case] check: Check, #[case] lines: &str) {
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let name = name.rsplit("::").next().unwrap_or_default();
    insta::assert_snapshot!(name, text(&case(subject, lines), check, None));
}

/// A name of a check is checked wherever it stands.
#[rstest]
#[case::no_check("checks: [shapes, gradient]", "did you mean `gradients`?")]
#[case::no_reference("checks: [scans]", "`scans` compares with a reference, and `right` has none")]
#[case::tolerance("tolerance: {scanz: 0.001}", "there is no check `scanz`")]
#[case::caught_by("caught_by: [shape]", "did you mean `shapes`?")]
fn a_check_that_cannot_be_made_is_an_error_of_the_case(#[case] lines: &str, #[case] says: &str) {
    let case = case("right", lines);
    let subjects = toys::registry();
    let right = subjects.get("right").expect("a toy");
    let error = checks(&case, right).expect_err("a wrong name").to_string();
    assert!(error.contains(says), "{error}");
    assert!(error.starts_with("cases/toys/case.yaml:5:"), "{error}");
}

/// Where a model takes no sizes but some, the law of the others is held by nothing, and the case says so.
#[test]
fn sizes_beside_the_points_at_which_a_model_fails_are_told() {
    let outcome = outcome(&case("short_alone", ""), Check::Shapes, None);
    assert_eq!(outcome.findings, []);
    let sight = outcome.sight().map(|sight| sight.to_string()).unwrap_or_default();
    assert!(sight.starts_with("sees no law at b="), "{sight}");
    assert!(sight.ends_with("where the model fails: 67 steps, and 60 at most"), "{sight}");
}

#[test]
fn a_backward_pass_that_fails_is_told_by_gradients() {
    let found = outcome(&case("irreversible", ""), Check::Gradients, None).findings;
    assert!(
        matches!(&found[..], [finding] if matches!(finding.what, What::Failed(_))),
        "{found:?}"
    );
}

#[test]
fn a_model_that_fails_is_told_once() {
    let case = case("refused", "");
    assert_eq!(outcome(&case, Check::Shapes, None).findings.len(), 1);
    assert_eq!(outcome(&case, Check::Gradients, None).findings, []);
}

#[rstest]
fn the_right_model_passes_every_check(#[values("right", "joining")] subject: &str) {
    let (case, subjects) = (case(subject, ""), toys::registry());
    let all = checks(&case, subjects.get(subject).expect("a toy")).expect("checks");
    assert_eq!(all, [Check::Shapes, Check::Gradients, Check::Finite, Check::Batch]);
    for check in all {
        assert_eq!(outcome(&case, check, None).findings, [], "{}", check.name());
    }
}

#[test]
fn accepting_does_not_make_a_broken_contract_green() {
    let case = case("right", "shapes: {output: b n l}");
    let accepted = outcome(&case, Check::Shapes, None).snapshot.expect("a law");
    let again = outcome(&case, Check::Shapes, Some(&accepted));
    assert!(matches!(
        &again.findings[..],
        [finding] if matches!(&finding.what, What::Shape(d) if matches!(d.source, Source::Contract(_)))
    ));
}

#[test]
fn a_refactoring_of_elementwise_and_layout_ops_changes_nothing() {
    let before = locked("right", "");
    let after = outcome(&case("refactored", ""), Check::Shapes, Some(&before));
    assert_eq!(after.findings, []);
    let (before, after) = (render(&before), render(&after.snapshot.expect("a law")));
    assert_eq!(before.replacen("right", "refactored", 1), after);
}

#[test]
fn a_change_of_unnamed_steps_alone_says_so_first() {
    let before = locked("right", "");
    insta::assert_snapshot!(text(&case("detouring", ""), Check::Shapes, Some(&before)));
}

#[test]
fn a_change_of_unnamed_steps_alone_is_green_under_lock_named() {
    let lines = "lock: named";
    let before = locked("right", lines);
    assert_eq!(outcome(&case("detouring", lines), Check::Shapes, Some(&before)).findings, []);
}

#[test]
fn an_intended_change_is_one_finding_that_can_be_accepted() {
    let before = locked("right", "");
    insta::assert_snapshot!(text(&case("widened", ""), Check::Shapes, Some(&before)));
}

#[test]
fn more_values_in_the_matrix_change_no_snapshot() {
    let few = render(&locked("right", "matrix: {batch: [4], seq: [5]}"));
    let many = render(&locked("right", "matrix: {batch: [4, 1, 7, 2], seq: [5, 2, 1, 9]}"));
    assert_eq!(few, many);
}

/// Laws of kinds that a reshape, a narrow or a cat makes, at lengths odd and even, short and long.
#[rstest]
#[case::window("windowed", "b min(l, 6) n")]
#[case::half("halved", "b l ceil((d-1)/2)")]
#[case::stride("strided", "b ceil((l-1)/2) n")]
#[case::table("tabled", "b l 16*n+2")]
fn the_law_of_each_kind_is_found(#[case] subject: &str, #[case] output: &str) {
    let matrix = "matrix: {batch: [2, 1], seq: [9, 8, 6, 5, 4, 3, 2]}";
    let law = locked(subject, matrix).sections.remove(0).law;
    let wanted = Axes::parse_contract(output).expect("axes");
    let Some(Item::Step(last)) = law.forward.last() else { panic!("a step") };
    assert_eq!((last.name.as_str(), &last.axes), ("output", &wanted));
}

/// Where l is a multiple of d, a reshape across both looks as if it split one.
#[test]
fn a_product_before_a_reshape_that_mixes_is_not_missed() {
    let case = case("merging", "matrix: {batch: [4], seq: [12, 5]}");
    assert_eq!(outcome(&case, Check::Shapes, None).findings, []);
}

/// Sizes that coincide leave the symbols as they are: they come from runs in which all dims differ.
#[rstest]
#[case::b_is_n("matrix: {batch: [3], seq: [5]}")]
#[case::b_is_l("matrix: {batch: [5], seq: [5]}")]
#[case::l_is_n("matrix: {batch: [4], seq: [3]}")]
#[case::all_are_one("matrix: {batch: [6], seq: [6]}")]
fn equal_sizes_do_not_confuse_the_law(#[case] matrix: &str) {
    let law = |lines| locked("right", lines).sections.remove(0).law;
    assert_eq!(law(matrix), law("matrix: {batch: [4], seq: [5]}"));
}
