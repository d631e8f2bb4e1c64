//! Small pieces of text.

use crate::dims::Condition;
use crate::harness::check::Shape;

/// `label     value`, wrapped by nothing: one line.
pub fn label(name: &str, value: &str) -> String {
    format!("{name:<10}{value}\n")
}

/// `(b, l, n) = [8, 60, 16]`, or the extents alone.
pub fn shape(shape: &Shape) -> String {
    match &shape.axes {
        Some(axes) => format!("{axes} = {:?}", shape.extents),
        None => format!("{:?}", shape.extents),
    }
}

/// A condition as prose: `l = 1`.
pub fn plain(condition: &Condition) -> String {
    condition.to_string().replace("==", "=")
}
