//! What the op graph shows that is seldom meant.

use super::lines::label;
use crate::harness::check::lints::{Lint, Odd};

/// What it is, where, and what to do where it is not meant.
pub fn odd(lint: &Lint, steps: &[String]) -> String {
    let place = lint.place.as_ref().map(|p| format!(", {p}")).unwrap_or_default();
    let what = what(&lint.odd);
    let (why, remedy) = why(&lint.odd);
    let mut text = label("before", &format!("{}{place}", lint.step));
    if steps.len() > 1 {
        text.push_str(&label("also", &format!("before {}", steps[1..].join(", "))));
    }
    text + &what + &label("why", why) + &label("remedy", remedy)
}

fn what(odd: &Odd) -> String {
    match odd {
        Odd::StridedProduct { left, strides, right } => {
            let left = format!("{left:?}, strides {strides:?}");
            label("left", &left) + &label("right", &format!("{right:?}, one matrix for all rows"))
        }
        Odd::RowsSummed { left, right, in_right } => {
            let sums = |summed: bool| if summed { ", sums over the rows of the batch" } else { "" };
            let left = label("left", &format!("{left:?}{}", sums(!in_right)));
            left + &label("right", &format!("{right:?}{}", sums(*in_right)))
        }
        Odd::NeverJoined { at, pieces } => {
            label("joined", &format!("{pieces} tensors at {at}, never two at a point of the case"))
        }
        Odd::OtherFormat { shape, actual, expected } => {
            let pass = expected.name();
            label("constant", &format!("{shape:?} in {actual}, in a pass in {pass}"))
        }
    }
}

/// Why it matters, and what to do about it.
fn why(odd: &Odd) -> (&'static str, &'static str) {
    match odd {
        Odd::StridedProduct { .. } => (
            "candle's CPU kernel folds the batch into the rows of the left without looking at its strides",
            "put a `.contiguous()?` behind what made the left side strided",
        ),
        Odd::RowsSummed { .. } => (
            "each row that comes out is made of all rows of the batch",
            "keep the batch an axis of both sides; where a size is as large by chance, exchange the sides",
        ),
        Odd::NeverJoined { .. } => (
            "candle takes one tensor for its concatenation along any axis, so a wrong one does not show",
            "add a size to the matrix at which there are two",
        ),
        Odd::OtherFormat { .. } => (
            "what meets it is cast to its format, in which all that follows is rounded or too wide",
            "make it in the format of what it meets, or let the case say `keeps_f32`",
        ),
    }
}
