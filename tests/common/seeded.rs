//! How random values are drawn.
use proptest::prelude::ProptestConfig;
use proptest::test_runner::RngSeed;

/// The same values on every run; `PROPTEST_CASES` and `PROPTEST_RNG_SEED` look further.
pub fn config() -> ProptestConfig {
    let mut config = ProptestConfig::default();
    if config.rng_seed == RngSeed::Random {
        config.rng_seed = RngSeed::Fixed(176);
    }
    config
}
