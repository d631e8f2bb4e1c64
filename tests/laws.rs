//! Laws that hold for any value, tried on random ones.
#[path = "common/seeded.rs"]
mod seeded;
mod toy;

use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use shapelock::dims::{Axes, Comparison, Condition, Dims, DimsError, Expr};

use shapelock::harness::case::{Case, CasePath};
use shapelock::harness::plan::plan;
use toy::Toy;

const SYMBOLS: [&str; 5] = ["b", "l", "g", "n", "h_0"];

fn expr() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        (-3i64..100).prop_map(Expr::constant),
        prop::sample::select(&SYMBOLS[..]).prop_map(Expr::dim),
    ];
    leaf.prop_recursive(4, 24, 2, |inner| {
        (inner.clone(), inner, 0..6).prop_map(|(left, right, operator)| match operator {
            0 => left + right,
            1 => left - right,
            2 => left * right,
            3 => left.ceil_div(&right),
            4 => left.min_with(&right),
            _ => left.max_with(&right),
        })
    })
}

/// Expressions that arithmetic kept: the others have no text.
fn sound() -> impl Strategy<Value = Expr> {
    expr().prop_filter("too large", |expr| expr.error().is_none())
}

fn condition() -> impl Strategy<Value = Condition> {
    let comparison = prop::sample::select(vec![
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::AtMost,
        Comparison::Greater,
        Comparison::AtLeast,
    ]);
    let leaf = (sound(), comparison, sound())
        .prop_map(|(left, comparison, right)| Condition::compare(left, comparison, right));
    leaf.prop_recursive(3, 8, 2, |inner| {
        (inner.clone(), inner, any::<bool>())
            .prop_map(|(left, right, all)| if all { left.and(right) } else { left.or(right) })
    })
}

fn dims() -> impl Strategy<Value = Dims> {
    vec(1usize..50, SYMBOLS.len()).prop_map(|values| SYMBOLS.into_iter().zip(values).collect())
}

proptest! {
    #![proptest_config(seeded::config())]

    #[test]
    fn an_expression_is_read_back(expr in sound()) {
        let text = expr.to_string();
        let read: Expr = text.parse()?;
        prop_assert_eq!(&read, &expr);
        prop_assert_eq!(read.to_string(), text);
    }

    #[test]
    fn axes_are_read_back(axes in vec(sound(), 0..5).prop_map(Axes)) {
        prop_assert_eq!(axes.to_string().parse::<Axes>()?, axes);
    }

    #[test]
    fn a_contract_is_the_axes_without_spaces(axes in vec(sound(), 1..5)) {
        let texts: Vec<_> = axes.iter().map(|axis| format!("({axis})").replace(' ', "")).collect();
        // A leading minus is no axis of a contract, so every axis stands behind a zero.
        let contract = texts.join(" ").replace("(-", "(0-");
        prop_assert_eq!(Axes::parse_contract(&contract)?, Axes(axes));
    }

    #[test]
    fn a_condition_is_read_back(condition in condition()) {
        prop_assert_eq!(condition.to_string().parse::<Condition>()?, condition);
    }

    #[test]
    fn values_follow_the_arithmetic(left in expr(), right in expr(), dims in dims()) {
        let values = left.eval(&dims).and_then(|a| Ok((a, right.eval(&dims)?)));
        if let Ok((a, b)) = values {
            for (expr, value) in [
                (&left + &right, a.checked_add(b)),
                (&left - &right, a.checked_sub(b)),
                (&left * &right, a.checked_mul(b)),
            ] {
                match expr.eval(&dims) {
                    Ok(got) => prop_assert_eq!(Some(got), value),
                    Err(error) => prop_assert_eq!(error, DimsError::Overflow),
                }
            }
            let bounds = [(left.min_with(&right), a.min(b)), (left.max_with(&right), a.max(b))];
            for (expr, value) in bounds {
                let got = expr.eval(&dims);
                prop_assert!(got == Ok(value) || got == Err(DimsError::Overflow));
            }
            if b > 0 {
                let quotient = left.ceil_div(&right).eval(&dims);
                let value = a.div_euclid(b) + i64::from(a.rem_euclid(b) > 0);
                prop_assert!(matches!(quotient, Ok(got) if got == value) || quotient == Err(DimsError::Overflow));
            }
        }
    }

    #[test]
    fn the_declared_order_changes_only_the_text(expr in sound(), dims in dims()) {
        let ordered = expr.ordered_by(&dims);
        prop_assert_eq!(&ordered, &expr);
        prop_assert_eq!(ordered.ordered_by(&dims).to_string(), ordered.to_string());
    }

    #[test]
    fn equal_expressions_have_one_ordered_text(left in sound(), right in sound(), dims in dims()) {
        let texts = [&left + &right, &right + &left, &left * &right, &right * &left]
            .map(|expr| expr.ordered_by(&dims).to_string());
        prop_assert_eq!(&texts[0], &texts[1]);
        prop_assert_eq!(&texts[2], &texts[3]);
    }

    #[test]
    fn no_text_makes_a_parser_panic(text in "[a-c0-9 ()/*+·<=>!,ceilandorminmax-]{0,60}") {
        let dims = Dims::new().with("a", usize::MAX).with("b", 0);
        if let Ok(expr) = text.parse::<Expr>() {
            let _ = expr.eval(&dims);
        }
        if let Ok(axes) = Axes::parse_contract(&text) {
            let _ = axes.eval(&dims);
        }
        if let Ok(condition) = text.parse::<Condition>() {
            let _ = condition.eval(&dims);
        }
    }
    #[test]
    fn no_bytes_make_a_case_panic(cuts in vec((any::<prop::sample::Index>(), 0usize..4, splice()), 1..6)) {
        let mut bytes = WHOLE.as_bytes().to_vec();
        for (place, length, splice) in cuts {
            let start = place.index(bytes.len());
            let end = (start + length).min(bytes.len());
            bytes.splice(start..end, splice);
        }
        match Case::parse(Path::new("x.yaml"), CasePath::new("x")?, &bytes) {
            Ok(case) => {
                if let Err(errors) = plan(&case, &Toy) {
                    prop_assert!(!errors.to_string().is_empty());
                }
            }
            Err(errors) => {
                let lines = bytes.split(|byte| *byte == b'\n').count();
                for error in errors.iter() {
                    let at = error.at.ok_or_else(|| TestCaseError::fail(error.to_string()))?;
                    prop_assert!(at.line >= 1 && at.line <= lines + 1 && at.column >= 1, "{error}");
                    prop_assert!(!error.to_string().is_empty());
                }
            }
        }
    }
}

/// A case with every kind of field, to be damaged.
const WHOLE: &str = r#"subject: toy
why: 'a reason'
config: {d: 8, n: 2}
variants:
  plain: {}
  wide: {d: 16}
matrix:
  batch: [8, 1]
  seq: [60, 1, 59]
  dtype: [f32, f64]
except: [{batch: 1, seq: 1}, b == 8 and l == 59]
shapes:
  scan.h: "b n"
  layers.*.x: b ceil(l/d) (n d)
zero_gradient: {A: l == 1}
checks:
- shapes
tolerance: {batch: {f32: 1e-5}}
budget: 4GiB
"#;

/// Bytes that mean something to YAML or to the notation, or any others.
fn splice() -> impl Strategy<Value = Vec<u8>> {
    let words = vec![
        ": ",
        "- ",
        "{",
        "}",
        "[",
        "]",
        ",",
        "\n",
        "\t",
        "  ",
        "'",
        "\"",
        "&a ",
        "*a",
        "<<: ",
        "!!int ",
        "|\n",
        ">-\n",
        "# ",
        "? ",
        "---\n",
        "...\n",
        "%",
        "(",
        ")",
        "==",
        "l",
        "0",
        "-1",
        ".nan",
        "99999999999999999999",
        "\u{feff}",
        "\r\n",
        "é",
        "\u{0}",
        "\\u",
    ];
    prop_oneof![
        4 => prop::sample::select(words).prop_map(|word| word.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..4),
    ]
}
