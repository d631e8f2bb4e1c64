//! The zoo: subjects with one known fault each, and the right twin of each.
//!
//! A family a file. The faulty line carries `// ~fault`: the place that a report names is held against it.

pub mod broadcasts;
pub mod dtypes;
pub mod heads;
pub mod joined_samples;
pub mod joined_states;
pub mod kit;
pub mod overflow;
pub mod products;
pub mod ragged;
pub mod ranks;
pub mod severed;
pub mod windows;

use shapelock::harness::registry::Registry;
use shapelock::harness::subjects;

/// Every subject of the zoo.
pub fn registry() -> Registry {
    with(Registry::new())
}

/// The shipped subjects and those of the zoo.
pub fn all() -> Registry {
    with(subjects::shipped())
}

fn with(known: Registry) -> Registry {
    let families = [
        broadcasts::subjects(),
        dtypes::subjects(),
        heads::subjects(),
        joined_samples::subjects(),
        joined_states::subjects(),
        overflow::subjects(),
        products::subjects(),
        ragged::subjects(),
        ranks::subjects(),
        severed::subjects(),
        windows::subjects(),
    ];
    families.into_iter().flatten().fold(known, Registry::with)
}
