//! Cases as tests: one trial is one check of one case on one device, all its points inside.
//!
//! ```no_run
//! # use shapelock::harness::subjects::DenseSsmSubject;
//! // tests/cases.rs, with `harness = false` in Cargo.toml
//! shapelock::main!(DenseSsmSubject);
//! ```
//!
//! The names are `dense_ssm::bug_report::shapes`, on another device than the CPU `dense_ssm::bug_report::shapes::cuda`.
//! `cargo test` and nextest list, filter and run them as any other test; listing reads YAML and builds no model. What
//! cannot run here is listed as ignored, and the summary at the end says why. Options travel in the environment, since
//! cargo and nextest pass on libtest's flags alone:
//!
//! | variable | effect |
//! |---|---|
//! | `SHAPELOCK_POINT=b8-l60-f32-cpu` | only this point |
//! | `SHAPELOCK_REPORT=html=target/report.html,github` | reports of the run: `html=PATH`, `junit=PATH`, `markdown=PATH`, `github` |
//! | `SHAPELOCK_REQUIRE=cuda` | a trial that cannot run because that device is absent fails; several with commas |
//!
//! This is the only file that names libtest-mimic.

mod arguments;
mod environment;
mod list;
mod lock;
mod macros;
mod one;
mod record;
mod reports;
mod suite;
mod summary;

use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use libtest_mimic::{Arguments, Conclusion, Failed, Trial};

use super::plan::Environment;
use super::report::Run;
use arguments::Translated;
pub(in crate::harness) use environment::prepare;
pub use environment::{Options, OptionsError};
pub use list::{Job, Listed, Work, list};
pub use one::{Done, Red, run};
pub use reports::{Wanted, WantedError, one as wanted_one};
pub use suite::{Cases, Suite};
use summary::{Notes, Summary};
#[cfg(feature = "cli")]
pub(in crate::harness) use {
    one::on_large_stack,
    record::{did_not_run, ran},
    reports::write,
    summary::Changes,
};

/// What test binaries of libtest exit with.
const FAILED: u8 = 101;
const NOT_UNDERSTOOD: u8 = 2;

/// The whole of a test binary. [`main!`](crate::main!) calls it, first thing in `main`; nothing else should, since it
/// sets environment variables, which is sound only as long as there is one thread.
#[doc(hidden)]
pub fn main(suite: Suite) -> ExitCode {
    prepare();
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    ExitCode::from(run_words(suite, words))
}

/// Runs a test binary on the words of its command line, its own name first; the exit code.
pub fn run_words(suite: Suite, words: Vec<String>) -> u8 {
    // Files are called by the names that people type. Where this fails they are not found, which is reported.
    let _ = std::env::set_current_dir(&suite.root);
    #[cfg(feature = "cli")]
    if words.get(1).is_some_and(|word| word == "cli") {
        // Commands look, and leave nothing to review.
        return super::cli::run(&Suite { assert: None, ..suite }, words.into_iter().skip(2));
    }
    match Options::read() {
        Ok(options) => test(&Arc::new(suite), &options, words),
        Err(error) => {
            eprintln!("error: {error}");
            NOT_UNDERSTOOD
        }
    }
}

fn test(suite: &Arc<Suite>, options: &Options, words: Vec<String>) -> u8 {
    let Translated { words, filters } =
        Translated::new(words, std::env::var("RUST_TEST_THREADS").ok());
    let arguments = Arguments::from_iter(words);
    let exact = arguments.filter.as_deref().filter(|_| arguments.exact);
    let all = list(suite, &Environment::read(), options, exact);
    let chosen = |name: &str| {
        let matches = |filter: &String| {
            if arguments.exact { name == filter } else { name.contains(filter) }
        };
        filters.is_empty() || filters.iter().any(matches)
    };
    let notes = Arc::<Mutex<Notes>>::default();
    let mut summary = Summary::default();
    let mut trials = Vec::new();
    for (at, listed) in all.into_iter().filter(|listed| chosen(&listed.name)).enumerate() {
        let (case, skip) = (listed.case.clone(), listed.skip.clone());
        let record = record::did_not_run(&listed, skip.clone());
        let trial = trial(suite, options, (at, listed), &notes);
        let skip = skip.filter(|_| arguments.is_ignored(&trial));
        if !arguments.is_filtered_out(&trial) {
            if skip.is_some() {
                told(&notes).records.insert(at, record);
            }
            summary.add(case, skip);
        }
        trials.push(trial);
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !arguments.list {
        let filtered = arguments.filter.is_some() || !filters.is_empty();
        suite.claim_snapshots(filtered);
        let Conclusion { num_passed, num_failed, .. } = conclusion;
        let mut notes = told(&notes);
        eprint!("{}", summary.text(num_passed, num_failed, &notes));
        let run = Run { trials: std::mem::take(&mut notes.records).into_values().collect() };
        match reports::write(&options.reports, &suite.root, &run) {
            Ok(printed) => print!("{printed}"),
            Err(error) => {
                eprintln!("error: {error}");
                return FAILED;
            }
        }
    }
    if conclusion.has_failed() { FAILED } else { 0 }
}

fn trial(
    suite: &Arc<Suite>,
    options: &Options,
    (at, listed): (usize, Listed),
    notes: &Arc<Mutex<Notes>>,
) -> Trial {
    let skipped = listed.skip.is_some();
    let point = options.point.clone();
    let (suite, notes) = (suite.clone(), notes.clone());
    let name = listed.name.clone();
    let runner = move || match &listed.work {
        Work::Check(job) => {
            let done = run(&suite, job, point.as_deref());
            let mut notes = told(&notes);
            notes.records.insert(at, record::ran(job, done.as_ref()));
            match done {
                Ok(done) => {
                    notes.unverified.extend(done.unverified);
                    notes.partial.extend(done.sight.map(|sight| (job.name.clone(), sight)));
                    Ok(())
                }
                Err(red) => {
                    let case = job.case.path.to_string();
                    notes.red.add(&case, red.mended_by_accepting);
                    notes.changes.add(&case, red.shown.changes);
                    Err(Failed::from(red.text))
                }
            }
        }
        Work::Broken(text) | Work::NoSubject(text) => {
            let mut notes = told(&notes);
            notes.red.add(&listed.case, false);
            notes.records.insert(at, record::did_not_run(&listed, None));
            Err(Failed::from(text.clone()))
        }
    };
    Trial::test(name, runner).with_ignored_flag(skipped)
}

fn told(notes: &Mutex<Notes>) -> MutexGuard<'_, Notes> {
    notes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs every check of one case, for [`check!`](crate::check!).
///
/// # Panics
/// With the report, if a check fails.
#[doc(hidden)]
#[track_caller]
pub fn check(suite: &Suite, file: &str) {
    let options = Options::read().unwrap_or_else(|error| panic!("{error}"));
    let mut failures = Vec::new();
    for listed in list::of_file(suite, file.as_ref(), &Environment::read(), &options) {
        match (listed.work, listed.skip) {
            (_, Some(reason)) => eprintln!("{}: skipped, {reason}", listed.name),
            (Work::Check(job), None) => {
                failures
                    .extend(run(suite, &job, options.point.as_deref()).err().map(|red| red.text));
            }
            (Work::Broken(text) | Work::NoSubject(text), None) => failures.push(text),
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}
