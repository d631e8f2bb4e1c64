//! Faults that change nothing, each with the argument why.

use super::Site;

/// Why a fault that no check finds is none.
#[derive(Debug)]
pub struct Excuse {
    /// The name of the change.
    pub change: &'static str,
    /// The taps, `*` for any text.
    pub tap: &'static str,
    /// Why it changes nothing.
    pub because: &'static str,
}

/// The arguments, which `docs/faults.md` repeats.
pub const EXCUSED: &[Excuse] = &[
    Excuse {
        change: "strided",
        tap: "*",
        because: "where a tensor lies in memory is no part of its value; `layout` looks for code that takes it for one",
    },
    Excuse { change: "merged", tap: "layers.*.mixer.y", because: REGROUPED_AT_ONCE },
    Excuse { change: "extra", tap: "layers.*.mixer.y", because: REGROUPED_AT_ONCE },
    // Of an axis along the next one: the slices lie in this order already.
    Excuse { change: "joined", tap: "layers.*.mixer.y", because: REGROUPED_AT_ONCE },
    Excuse {
        change: "repeated",
        tap: "layers.*.mixer.zxbcdt",
        because: "its parts are narrowed out by their widths, and nothing reads what stands after the last of them",
    },
];

const REGROUPED_AT_ONCE: &str = "the next op reshapes it to (b, l, i), which takes the elements in their order, however they are grouped";

/// The argument why a fault changes nothing, by its position, if there is one.
pub(super) fn excuse(site: &Site) -> Option<usize> {
    let about =
        |excuse: &Excuse| excuse.change == site.change.name() && covers(excuse.tap, &site.tap);
    EXCUSED.iter().position(about)
}

fn covers(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => name.starts_with(before) && name.ends_with(after),
    }
}
