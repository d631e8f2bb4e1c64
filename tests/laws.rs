//! Laws that hold for any value, tried on random ones.
use proptest::collection::vec;
use proptest::prelude::*;
use shapelock::dims::{Axes, Comparison, Condition, Dims, DimsError, Expr};

const SYMBOLS: [&str; 5] = ["b", "l", "g", "n", "h_0"];

fn expr() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        (-3i64..100).prop_map(Expr::constant),
        prop::sample::select(&SYMBOLS[..]).prop_map(Expr::dim),
    ];
    leaf.prop_recursive(4, 24, 2, |inner| {
        (inner.clone(), inner, 0..4).prop_map(|(left, right, operator)| match operator {
            0 => left + right,
            1 => left - right,
            2 => left * right,
            _ => left.ceil_div(&right),
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
    fn no_text_makes_a_parser_panic(text in "[a-c0-9 ()/*+·<=>!,ceilandor-]{0,60}") {
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
}
