//! The notation of dims: what each text means, and what a wrong one is told.
use rstest::rstest;
use shapelock::dims::{Axes, Condition, Dims, DimsError, Expr};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn dims() -> Dims {
    [("b", 8), ("l", 60), ("d", 256), ("i", 1024), ("h", 16), ("g", 2), ("n", 16), ("q", 16)]
        .into_iter()
        .collect()
}

#[rstest]
#[case("b·l", "b·l", 480)]
#[case("2*i + 2*g*n + h", "2·i + 2·g·n + h", 2128)]
#[case("ceil(l/q)*q", "ceil(l/q)·q", 64)]
#[case("l - 1", "l - 1", 59)]
#[case("-1 + l", "-1 + l", 59)]
#[case("(l + 1)*(l - 1)", "l·l - 1", 3599)]
#[case("l - l", "0", 0)]
#[case("b*(l + 0)*1", "b·l", 480)]
#[case("ceil(l*q/q)", "l", 60)]
#[case("ceil(60/16)", "4", 4)]
#[case("ceil((l + 1)/(2*q))", "ceil((l + 1)/(2·q))", 2)]
#[case("min(6, l)*b", "min(l, 6)·b", 48)]
#[case("max(l - 70, 1)", "max(l - 70, 1)", 1)]
#[case("min(max(3, 9), l - l)", "0", 0)]
#[case("max(l, l)", "l", 60)]
fn an_expression_has_a_text_and_a_value(
    #[case] text: &str,
    #[case] shown: &str,
    #[case] value: i64,
) -> Outcome {
    let expr: Expr = text.parse()?;
    assert_eq!(expr.to_string(), shown);
    assert_eq!(expr.eval(&dims())?, value);
    Ok(())
}

#[rstest]
#[case("h + 2*n*g + 2*i", "2·i + h + 2·g·n")]
#[case("1 + l*b", "b·l + 1")]
#[case("q*ceil(l/q)", "ceil(l/q)·q")]
#[case("z*a*b", "b·a·z")]
#[case("n*min(h + b, l)*b", "b·min(b + h, l)·n")]
fn the_declared_order_is_one_text(#[case] text: &str, #[case] ordered: &str) -> Outcome {
    assert_eq!(text.parse::<Expr>()?.ordered_by(&dims()).to_string(), ordered);
    Ok(())
}

#[rstest]
#[case("b l n", "(b, l, n)", &[8, 60, 16])]
#[case("b l (h n)", "(b, l, h·n)", &[8, 60, 256])]
#[case("b ( g (h n) ) l-1", "(b, g·h·n, l - 1)", &[8, 512, 59])]
#[case("2*i+2*g*n+h", "(2·i + 2·g·n + h)", &[2128])]
#[case("b ceil(l/q) q", "(b, ceil(l/q), q)", &[8, 4, 16])]
#[case("b min(l, q) n", "(b, min(l, q), n)", &[8, 16, 16])]
#[case("b 1 (l-1)*n", "(b, 1, l·n - n)", &[8, 1, 944])]
#[case("()", "()", &[])]
fn a_contract_is_axes(
    #[case] text: &str,
    #[case] shown: &str,
    #[case] extents: &[usize],
) -> Outcome {
    let axes = Axes::parse_contract(text)?;
    assert_eq!(axes.to_string(), shown);
    assert_eq!(axes.eval(&dims())?, extents);
    Ok(())
}

#[rstest]
#[case("l == 1", false)]
#[case("l < q", false)]
#[case("b > 1 and l != 1", true)]
#[case("(l == 1 or b >= 8) and h <= 16", true)]
#[case("l == 1 or b == 8 and h == 0", false)]
#[case("(l - 1) == 59", true)]
fn a_condition_holds(#[case] text: &str, #[case] holds: bool) -> Outcome {
    let condition: Condition = text.parse()?;
    assert_eq!(condition.eval(&dims())?, holds);
    assert_eq!(condition.to_string().parse::<Condition>()?, condition);
    Ok(())
}

fn told<T, E: ToString>(read: Result<T, E>) -> String {
    read.map_or_else(|error| error.to_string(), |_| "nothing wrong".to_owned())
}

#[test]
fn a_wrong_text_is_told_where_and_what_was_expected() {
    let expr = |text: &str| told(text.parse::<Expr>());
    let contract = |text: &str| told(Axes::parse_contract(text));
    let condition = |text: &str| told(text.parse::<Condition>());
    let texts = [
        expr("l ++ 1"),
        expr("2i"),
        expr("b l"),
        expr("ceil(l + 1/q)"),
        expr("9223372036854775808"),
        expr("4611686018427387904*l*2"),
        expr("b/2"),
        expr("and"),
        expr("min"),
        expr("min(l)"),
        expr(""),
        expr(&"(".repeat(40)),
        contract(""),
        contract("b l - 1"),
        contract("b l -1"),
        contract("b (h"),
        contract("b ()"),
        contract("(b, l)"),
        condition("l = 1"),
        condition("l"),
        condition("l == 1 and"),
        condition("é == 1"),
    ];
    insta::assert_snapshot!(texts.join("\n"));
}

#[rstest]
#[case(
    Expr::dim("x").eval(&Dims::new().with("b", 8)),
    "`x` is not a dim; dims bound: b=8"
)]
#[case(
    Expr::dim("b").ceil_div(&Expr::dim("q")).eval(&Dims::new().with("b", 8).with("q", 0)),
    "division by q = 0, expected at least 1; dims bound: b=8 q=0"
)]
#[case(
    Expr::dim("b c").eval(&Dims::new()),
    "`b c` cannot be a dim: a letter or `_`, then letters, digits or `_`, and not a word of the notation"
)]
#[case(
    (Expr::constant(i64::MAX) + 1).eval(&Dims::new()),
    "expression too large: more than 32 terms, or a number beyond 64 bits"
)]
#[case(
    (Expr::dim("b") * Expr::dim("b")).eval(&Dims::new().with("b", usize::MAX >> 1)),
    "expression too large: more than 32 terms, or a number beyond 64 bits"
)]
fn a_value_that_is_not_there_is_an_error(
    #[case] value: Result<i64, DimsError>,
    #[case] message: &str,
) {
    assert_eq!(told(value), message);
}

#[test]
fn an_axis_below_zero_is_an_error() {
    let read =
        Axes::parse_contract("b l-1").map(|axes| axes.eval(&Dims::new().with("b", 8).with("l", 0)));
    let message = "axis l - 1 = -1, expected at least 0; dims bound: b=8 l=0";
    assert_eq!(read.map(told), Ok(message.to_owned()));
}
