//! Running tasks side by side.
use rayon::prelude::*;

use super::spec::Spec;
use crate::scan::Sizes;

/// What each task gives, in the order of the tasks, whatever threads run them.
pub(super) fn each<I: Send, O: Send>(
    spec: &Spec,
    tasks: Vec<I>,
    run: impl Fn(I) -> O + Send + Sync,
) -> Vec<O> {
    if is_large(spec) {
        tasks.into_par_iter().map(run).collect()
    } else {
        tasks.into_iter().map(run).collect()
    }
}

/// Whether the work outweighs waking other threads.
fn is_large(spec: &Spec) -> bool {
    let Sizes { b, l, h, p, n, .. } = spec.sizes;
    b * l * h * p * n >= 1 << 17
}
