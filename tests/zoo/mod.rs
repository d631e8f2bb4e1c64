//! The zoo: subjects with one known fault each, and the right twin of each.
//!
//! A family a file. The faulty line carries `// ~fault`: the place that a report names is held against it.

pub mod axes;
pub mod backward;
pub mod blocks;
pub mod broadcasts;
pub mod decoder;
pub mod dtypes;
pub mod elsewhere;
pub mod heads;
pub mod joined_samples;
pub mod joined_states;
pub mod kit;
pub mod lints;
pub mod long;
pub mod lookups;
pub mod overflow;
pub mod products;
pub mod ragged;
pub mod ranks;
pub mod rows;
pub mod severed;
pub mod ssm;
pub mod streams;
pub mod upstream;
pub mod windows;

use shapelock::harness::registry::Registry;
use shapelock::harness::subjects::shipped;

/// The shipped subjects and every one of the zoo.
pub fn registry() -> Registry {
    let families = [
        axes::subjects(),
        backward::subjects(),
        blocks::subjects(),
        broadcasts::subjects(),
        decoder::subjects(),
        dtypes::subjects(),
        heads::subjects(),
        joined_samples::subjects(),
        joined_states::subjects(),
        lints::subjects(),
        long::subjects(),
        lookups::subjects(),
        overflow::subjects(),
        products::subjects(),
        ragged::subjects(),
        ranks::subjects(),
        rows::subjects(),
        severed::subjects(),
        streams::subjects(),
        upstream::subjects(),
        windows::subjects(),
    ];
    let all = families.into_iter().flatten().fold(shipped(), Registry::with);
    elsewhere::subjects().into_iter().fold(all, Registry::with)
}
