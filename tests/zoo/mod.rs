//! The zoo: subjects with one known fault each, and the right twin of each.
//!
//! A family a file. The faulty line carries `// ~fault`: the place that a report names is held against it.

pub mod joined_samples;
pub mod joined_states;
pub mod kit;

use shapelock::harness::registry::Registry;
use shapelock::harness::subjects::shipped;

/// The shipped subjects and every one of the zoo.
pub fn registry() -> Registry {
    let families = [joined_states::subjects(), joined_samples::subjects()];
    families.into_iter().flatten().fold(shipped(), Registry::with)
}
