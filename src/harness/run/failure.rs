//! Errors and panics of a model, as data.

use std::panic::{AssertUnwindSafe, catch_unwind};

use candle_core::Result;

use crate::trace::locate::{self, Place};

/// An error or a panic inside a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What it said.
    pub message: String,
    /// The op that refused, where candle names it.
    pub op: Option<String>,
    /// The shapes of the operands, where candle tells them.
    pub operands: Vec<Vec<usize>>,
    /// The element types of the operands, where it is these that do not fit.
    pub dtypes: Option<Box<[&'static str; 2]>>,
    /// The lines it came through, innermost first.
    pub places: Vec<Place>,
    /// Whether it was a panic.
    pub panicked: bool,
}

/// The functions of candle that refuse a shape of other values.
const SHAPING: [&str; 3] = ["reshape", "from_vec", "from_slice"];
/// One of them, where a backtrace does not say which.
pub const ANY_SHAPING: &str = "reshape or from_vec";

/// Runs code of the model: its errors and its panics become a [`Failure`].
pub(super) fn caught<R>(f: impl FnOnce() -> Result<R>) -> std::result::Result<R, Failure> {
    match panics::catch(f) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(Failure::from(&error)),
        Err(panic) => Err(panic),
    }
}

impl From<&candle_core::Error> for Failure {
    fn from(error: &candle_core::Error) -> Self {
        of_error(error)
    }
}

fn of_error(error: &candle_core::Error) -> Failure {
    use candle_core::Error;
    let bare = locate::bare(error);
    let (op, operands) = match bare {
        Error::ShapeMismatchBinaryOp { lhs, rhs, op } => (Some(*op), vec![lhs, rhs]),
        Error::UnexpectedNumberOfDims { shape, .. } => (None, vec![shape]),
        Error::DimOutOfRange { shape, op, .. } => (Some(*op), vec![shape]),
        Error::ShapeMismatchCat { first_shape, nth_shape, .. } => {
            (Some("cat"), vec![first_shape, nth_shape])
        }
        // Candle says the same of values that are given a shape and of a tensor that is given another.
        Error::ShapeMismatch { shape, .. } => {
            let called = locate::called(error);
            let known = SHAPING.into_iter().find(|op| called.as_deref() == Some(*op));
            (Some(known.unwrap_or(ANY_SHAPING)), vec![shape])
        }
        Error::DTypeMismatchBinaryOp { op, .. } => (Some(*op), vec![]),
        Error::OpRequiresAtLeastOneTensor { op } => (Some(*op), vec![]),
        _ => (None, vec![]),
    };
    let inner = inner_dims(bare);
    let op = op.or(inner.as_ref().map(|_| "broadcast_matmul"));
    let operands =
        operands.into_iter().map(|s| s.dims().to_vec()).chain(inner.into_iter().flatten());
    let dtypes = match bare {
        Error::DTypeMismatchBinaryOp { lhs, rhs, .. } => {
            Some(Box::new([lhs.as_str(), rhs.as_str()]))
        }
        _ => None,
    };
    Failure {
        dtypes,
        message: bare.to_string(),
        op: op.map(str::to_owned),
        operands: operands.collect(),
        places: locate::places(error),
        panicked: false,
    }
}

/// The sides of a `broadcast_matmul` that candle refuses, of which it makes no error of its own but this text.
fn inner_dims(error: &candle_core::Error) -> Option<Vec<Vec<usize>>> {
    let candle_core::Error::Msg(text) = error else { return None };
    let sides = text.strip_prefix("different inner dimensions in broadcast matmul ")?;
    let side =
        |side: &str| side.trim_matches([' ', '[', ']']).split(", ").map(str::parse).collect();
    let sides: std::result::Result<Vec<Vec<usize>>, std::num::ParseIntError> =
        sides.split("] [").map(side).collect();
    sides.ok().filter(|sides| sides.len() == 2)
}

/// Panics as data: message and line, and nothing on the terminal.
pub(crate) mod panics {
    use super::*;
    use std::cell::RefCell;
    use std::sync::Once;

    thread_local! {
        static INSIDE: RefCell<Option<Option<Failure>>> = const { RefCell::new(None) };
    }

    pub(crate) fn catch<R>(f: impl FnOnce() -> R) -> std::result::Result<R, Failure> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let outer = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                let ours = INSIDE.with_borrow_mut(|inside| match inside {
                    Some(slot) => {
                        *slot = Some(of_panic(info));
                        true
                    }
                    None => false,
                });
                if !ours {
                    outer(info);
                }
            }));
        });
        let before = INSIDE.replace(Some(None));
        let result = catch_unwind(AssertUnwindSafe(f));
        let seen = INSIDE.replace(before).flatten();
        result.map_err(|_| seen.unwrap_or_else(|| failure("panicked".into(), Vec::new())))
    }

    fn of_panic(info: &std::panic::PanicHookInfo<'_>) -> Failure {
        let payload = info.payload();
        let text = payload.downcast_ref::<&str>().map(|s| (*s).to_owned());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        let backtrace = std::backtrace::Backtrace::force_capture().to_string();
        let mut places = locate::frames(&backtrace);
        if places.is_empty() {
            places.extend(info.location().map(Place::from));
        }
        failure(text.unwrap_or_else(|| "panicked".into()), places)
    }

    fn failure(message: String, places: Vec<Place>) -> Failure {
        Failure { message, op: None, operands: Vec::new(), dtypes: None, places, panicked: true }
    }
}
