//! Any snapshot is read back as it was written.
#[path = "common/seeded.rs"]
mod seeded;

use proptest::collection::vec;
use proptest::prelude::*;
use shapelock::dims::{Axes, Condition, Dims, Expr};
use shapelock::harness::law::{Item, Law, LawStep, Loop};
use shapelock::harness::snapshot::{Section, Snapshot, parse, render};

proptest! {
    #![proptest_config(seeded::config())]

    #[test]
    fn any_snapshot_is_read_back(snapshot in snapshot()) {
        let text = render(&snapshot);
        let read = parse(&text);
        prop_assert_eq!(read.as_ref(), Ok(&snapshot), "{}", text);
        prop_assert_eq!(text.matches('\r').count(), 0);
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
        "b·min(l, 6)",
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
            Item::Step(LawStep { name, named, axes, mixing, computes: vec![] })
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
