//! What helps to write cases: the schema for editors, and the commands that write, explain and shrink one.

#[path = "authoring/commands.rs"]
mod commands;
#[allow(dead_code, reason = "other tests use more of it")]
mod package;
#[path = "authoring/schema.rs"]
mod schema;
#[path = "authoring/uneven.rs"]
mod uneven;

use shapelock::harness::registry::Registry;
use shapelock::harness::trials::{self, Suite};

/// What the child process runs; in any other process it has nothing to do.
#[test]
fn child() {
    let Ok(words) = std::env::var("SHAPELOCK_TEST_CHILD") else { return };
    let assert = |name: &str, text: &str| insta::assert_snapshot!(name, text);
    let subjects = Registry::new().with(package::toy::Toy).with(uneven::Uneven);
    let suite = Suite::new("", "cases", "shapes", subjects, assert);
    // libtest has begun a line for this test.
    println!();
    let words = std::iter::once("shapes").chain(words.split_whitespace()).map(str::to_owned);
    std::process::exit(trials::run_words(suite, words.collect()).into());
}
