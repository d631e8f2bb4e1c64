//! Matrix products whose operands do not fit: the bug report's three errors, and one that fits by chance.

use candle_core::Tensor;
use shapelock::tap;

use super::kit::{BATCH, Parts, Small, small};
use super::ssm::{SSM, output, scan};

const INTO_STATE: &[(&str, &str)] = &[("input_projection.weight", "i d"), ("B", "n i")];

/// The right twins, products that candle refuses, one that it takes only where b = n, and one with other values.
pub fn subjects() -> Vec<Small> {
    let right = small("state_times_a", BATCH, SSM, |parts| {
        let a = parts.get("A")?;
        // A·h of each row is h·Aᵀ of all rows.
        let next = |h: &Tensor, u: Tensor| {
            a.broadcast_matmul(&h.unsqueeze(2)?)?.squeeze(2)? + u // (b, n)
        };
        model(parts, |u| scan(u, next))
    });
    vec![
        small("state_times_a_untransposed", BATCH, SSM, |parts| {
            let a = parts.get("A")?;
            let next = |h: &Tensor, u: Tensor| {
                h.matmul(&a)? + u // ~fault
            };
            model(parts, |u| scan(u, next))
        })
        .against(&right),
        right,
        small("a_times_column", BATCH, SSM, |parts| {
            let a = parts.get("A")?;
            let next = |h: &Tensor, u: Tensor| {
                a.matmul(&h.unsqueeze(2)?)?.squeeze(2)? + u // ~fault
            };
            model(parts, |u| scan(u, next))
        }),
        small("a_times_state", BATCH, SSM, |parts| {
            let a = parts.get("A")?;
            let next = |h: &Tensor, u: Tensor| {
                a.matmul(h)? + u // ~fault
            };
            model(parts, |u| scan(u, next))
        }),
        small("x_times_b_transposed", BATCH, INTO_STATE, |parts| {
            let x = projected(parts)?;
            tap("scan_input", x.broadcast_matmul(&parts.get("B")?.t()?)?) // (b, l, n)
        }),
        small("x_times_b", BATCH, INTO_STATE, |parts| {
            let x = projected(parts)?;
            tap("scan_input", x.matmul(&parts.get("B")?)?) // ~fault
        }),
        small("x_times_b_by_matmul", BATCH, INTO_STATE, |parts| {
            let x = projected(parts)?;
            tap("scan_input", x.matmul(&parts.get("B")?.t()?)?) // ~fault
        }),
    ]
}

fn projected(parts: &Parts<'_>) -> candle_core::Result<Tensor> {
    let w = parts.get("input_projection.weight")?; // (i, d)
    tap("input_projection", parts.get("input")?.broadcast_matmul(&w.t()?)?) // (b, l, i)
}

/// The bug report's model around a scan of (b, l, n).
fn model(
    parts: &Parts<'_>,
    scan: impl Fn(&Tensor) -> candle_core::Result<Vec<Tensor>>,
) -> candle_core::Result<Tensor> {
    let u = projected(parts)?.broadcast_matmul(&parts.get("B")?.t()?)?;
    let states = scan(&tap("scan_input", u)?)?; // (b, n) each
    output(parts, &tap("states", Tensor::stack(&states, 1)?)?) // (b, l, i)
}
