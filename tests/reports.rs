//! The reports of a run: their texts, and pages for `ci/browser`, which opens them.
#[path = "reports/scene.rs"]
mod scene;
mod zoo;

use scene::{GREEN, RED, read, run};
use shapelock::harness::trials::{Suite, run_words};

/// What the child process runs; in any other process it has nothing to do.
#[test]
fn child() {
    let Ok(words) = std::env::var("SHAPELOCK_TEST_CHILD") else { return };
    let assert = |name: &str, text: &str| insta::assert_snapshot!(name, text);
    let suite = Suite::new("", "cases", "shapes", zoo::registry(), assert);
    println!();
    let words = std::iter::once("shapes").chain(words.split_whitespace()).map(str::to_owned);
    std::process::exit(run_words(suite, words.collect()).into());
}

#[test]
fn a_red_run() {
    let folder =
        run("red", RED, &["html=page.html", "junit=junit.xml", "markdown=summary.md", "github"]);
    let filtered = |text: String| text;
    insta::assert_snapshot!("markdown", filtered(read(&folder, "summary.md")));
}

#[test]
fn a_green_run() {
    let folder = run("green", GREEN, &["html=page.html"]);
    assert!(read(&folder, "page.html").contains("all checks pass"));
}
