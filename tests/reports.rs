//! The reports of a run: their texts, and pages for `ci/browser`, which opens them.
#[path = "reports/filter.rs"]
mod filter;
#[path = "reports/made.rs"]
mod made;
#[path = "reports/scene.rs"]
mod scene;
mod zoo;

use filter::filtered;
use rstest::rstest;
use scene::{GREEN, RED, package, read, run, write};
use shapelock::harness::report::{Format, Run};
use shapelock::harness::trials::{Suite, run_words};

/// What the child process runs; in any other process it has nothing to do.
#[test]
fn child() {
    let Ok(words) = std::env::var("SHAPELOCK_TEST_CHILD") else { return };
    let assert = |name: &str, text: &str| insta::assert_snapshot!(name, text);
    let suite = Suite::new("", "cases", "shapes", zoo::registry(), assert);
    // libtest has begun a line for this test.
    println!();
    let words = std::iter::once("shapes").chain(words.split_whitespace()).map(str::to_owned);
    std::process::exit(run_words(suite, words.collect()).into());
}

#[test]
fn a_red_run_is_told_in_every_form() {
    let folder = package("red", RED);
    let forms =
        "--report html=page.html,junit=junit.xml --report markdown=summary.md --report github";
    let (code, said) = run(&folder, &format!("cli check {forms}"), &[]);
    assert_eq!(code, 2, "{said}");
    let annotations = said.lines().filter(|line| line.starts_with("::error"));
    let annotations: Vec<&str> = annotations.collect();
    insta::assert_snapshot!("annotations", filtered(&annotations.join("\n")));
    insta::assert_snapshot!("junit", filtered(&read(&folder, "junit.xml")));
    insta::assert_snapshot!("markdown", filtered(&read(&folder, "summary.md")));
    let page = read(&folder, "page.html");
    assert!(page.contains("<title>shapelock: 11 checks fail</title>"));
    closed(&page);
}

#[test]
fn a_green_run_is_told_in_every_form() {
    let folder = package("green", GREEN);
    let reports = "html=page.html,markdown=summary.md,github";
    let (_, said) = run(&folder, "cli check", &[("SHAPELOCK_REPORT", reports)]);
    assert!(said.contains("12 checks passed, 0 failed") && !said.contains("::error"), "{said}");
    insta::assert_snapshot!("markdown_green", read(&folder, "summary.md"));
    let page = read(&folder, "page.html");
    assert!(page.contains("<title>shapelock: all checks pass</title>"));
    assert!(page.contains("mixer") && !page.contains("class=\"step first\""));
    closed(&page);
}

/// What a test binary reports, and that paths of annotations start where GitHub wants them to.
#[test]
fn a_test_binary_takes_its_reports_from_the_environment() {
    let folder = package("of_tests", &[GREEN[1], RED[8]]);
    let workspace = folder.parent().unwrap().to_string_lossy().into_owned();
    let summary = folder.join("summary.md").to_string_lossy().into_owned();
    write(&folder, "summary.md", "before\n");
    let reports = format!("github,markdown={summary},junit=deep/er/junit.xml");
    let variables = [
        ("SHAPELOCK_REPORT", reports.as_str()),
        ("GITHUB_WORKSPACE", &workspace),
        ("GITHUB_STEP_SUMMARY", &summary),
    ];
    let (code, said) = run(&folder, "", &variables);
    assert_eq!(code, 101, "{said}");
    assert!(said.contains("\n::error file=of_tests/cases/unreadable.yaml,line=3,title="), "{said}");
    assert!(read(&folder, "deep/er/junit.xml").contains("<testsuite name=\"ssm::dense\""));
    assert!(read(&folder, "summary.md").starts_with("before\n### shapelock failed\n"));
    let (code, said) = run(&folder, "--list", &[("SHAPELOCK_REPORT", "html=listed.html")]);
    assert_eq!(code, 0, "{said}");
    assert!(!folder.join("listed.html").exists());
}

/// nextest runs every trial in a process of its own: the report has those of one run, and none of an earlier one.
#[test]
fn processes_of_one_nextest_run_make_one_report() {
    let folder = package("nextest", &[GREEN[1]]);
    let one = |trial: &str, id: &str| {
        let variables = [("SHAPELOCK_REPORT", "junit=junit.xml"), ("NEXTEST_RUN_ID", id)];
        run(&folder, &format!("{trial} --exact --nocapture"), &variables);
        read(&folder, "junit.xml")
    };
    one("ssm::dense::causal", "earlier");
    one("ssm::dense::finite", "this");
    let report = one("ssm::dense::batch", "this");
    let told = ["batch", "finite", "causal"]
        .map(|name| report.contains(&format!("testcase name=\"{name}\"")));
    assert_eq!(told, [true, true, false], "{report}");
}

#[rstest]
#[case::unknown("cli check --report pdf=x", "", "no report is called `pdf`")]
#[case::no_path("cli check --report html", "", "`html` needs a file, as in html=PATH")]
#[case::path("cli check --report github=x", "", "`github` goes to stdout and takes no file")]
#[case::variable("", "pdf=x", "error: SHAPELOCK_REPORT: no report is called `pdf`")]
#[case::folder("cli check --report html=cases", "", "error: the report ")]
fn what_is_no_report_is_told(#[case] words: &str, #[case] variable: &str, #[case] told: &str) {
    let name = format!("wrong_{}", words.len());
    let folder = package(&name, &[("unreadable", "subject: [")]);
    let (code, said) = run(&folder, words, &[("SHAPELOCK_REPORT", variable)]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains(told), "{said}");
}

#[test]
fn no_text_becomes_markup() {
    let page = page("hostile", &made::hostile());
    closed(&page);
    assert_eq!(page.matches("<script").count(), 1, "the page's own");
    assert!(!page.contains("<img") && !page.contains("onerror=alert(1)>\""));
    let text = Format::Markdown.text(&made::hostile(), "");
    // In a fence that is longer than any in it, text is text.
    let outside: Vec<&str> = text.split("````").step_by(2).collect();
    assert!(outside.len() == 2 && !outside.concat().contains("<script"), "{text}");
    let annotations = Format::Github.text(&made::hostile(), "");
    assert_eq!(annotations.lines().count(), 1, "{annotations}");
    let junit = Format::Junit.text(&made::hostile(), "");
    assert!(!junit.contains("<script") && !junit.contains('\u{1b}'), "{junit}");
}

/// A page that a browser opens at once, whatever the size of the run: what failed is shown before anything else.
#[test]
fn the_page_of_thousands_of_cases_stays_small() {
    let page = page("large", &made::large());
    assert!(page.len() < 5 << 20, "{} bytes", page.len());
    assert_eq!(page.matches("<details class=\"case\"").count(), 3000);
    assert!(page.matches("class=\"step first\"").count() > 50);
    assert!(page.contains("Left out, to keep the page small"));
    closed(&page);
}

fn page(name: &str, run: &Run) -> String {
    let page = Format::Html.text(run, "");
    write(&scene::folder(name), "page.html", &page);
    page
}

/// Nothing in the page is loaded from anywhere.
#[track_caller]
fn closed(page: &str) {
    for part in [" src=\"", "@import", "https://", "<link rel=\"stylesheet", "<iframe", "url(h"] {
        assert!(!page.contains(part), "the page has `{part}`");
    }
    assert_eq!(page.matches("url(").count(), page.matches("url(#").count());
}
