//! The command line: the binary `shapelock`, and `cli` inside a test binary of [`main!`](crate::main!).
//!
//! It exits with 0 where all is well, with 1 where a check failed, and with 2 where the arguments or a case cannot be
//! understood.

mod accept;
mod arguments;
mod check;
mod choose;
mod commands;
mod diff;
mod embedded;
mod explain;
#[cfg(feature = "faults")]
mod faults;
mod find;
mod groups;
mod listing;
mod minimize;
mod new;
mod review;
mod schema;
mod style;
mod table;
mod trace;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

use super::plan::Environment;
use super::study::Laws;
use super::subjects::shipped;
use super::trials::{Cases, Options, Suite, prepare};
use arguments::{Arguments, Command};
pub use embedded::CASES;

const FAILED: u8 = 1;
const NOT_UNDERSTOOD: u8 = 2;

/// The binary: the models of this crate, and the cases below `cases/` or, without that folder, those that come with it.
pub fn main() -> ExitCode {
    prepare();
    let folder = Path::new("cases");
    let cases = if folder.is_dir() { Cases::Folder(folder.into()) } else { Cases::Embedded(CASES) };
    let root = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let (subjects, binary) = (shipped(), "cases".to_owned());
    let laws = Laws::default();
    let suite = Suite { root, cases, subjects, assert: None, binary, partial: true, laws };
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    ExitCode::from(run(&suite, words))
}

/// Runs one command on a suite; `words` are the arguments without the program's name. The exit code.
pub fn run(suite: &Suite, words: impl Iterator<Item = String>) -> u8 {
    let arguments =
        match Arguments::try_parse_from(std::iter::once("shapelock".into()).chain(words)) {
            Ok(arguments) => arguments,
            Err(error) => {
                // What clap prints is help or a fault of the arguments; if it cannot be printed nobody is there to read it.
                let _ = error.print();
                return if error.use_stderr() { NOT_UNDERSTOOD } else { 0 };
            }
        };
    let options = match Options::read() {
        Ok(options) => options,
        Err(error) => return not_understood(&error.to_string()),
    };
    let machine = Environment::read();
    let done =
        match arguments.command.unwrap_or(Command::Check { cases: Vec::new(), report: Vec::new() })
        {
            Command::Check { cases, report } => {
                let reports = if report.is_empty() { options.reports.clone() } else { report };
                check::check(suite, &machine, &Options { reports, ..options }, &cases)
            }
            Command::Trace(wanted) => trace::trace(suite, &machine, &wanted),
            Command::Review(options) => review::review(suite, &options),
            Command::Accept { artifact, pending } => accept::accept(suite, &artifact, pending),
            Command::Diff { a, b } => diff::diff(suite, &a, &b),
            Command::List { cases } => listing::list(suite, &machine, &options, &cases),
            Command::Explain { case } => explain::explain(suite, &machine, &case),
            Command::Minimize { case } => minimize::minimize(suite, &machine, &case),
            Command::New { subject, name } => new::new(suite, &machine, &subject, name.as_deref()),
            Command::Schema => {
                anstream::print!("{}", schema::text(&suite.subjects));
                Ok(0)
            }
            #[cfg(feature = "faults")]
            Command::Faults(wanted) => faults::faults(suite, &machine, &options, &wanted),
        };
    done.unwrap_or_else(|message| not_understood(&message))
}

fn not_understood(message: &str) -> u8 {
    anstream::eprintln!("{}: {message}", style::bad("error"));
    NOT_UNDERSTOOD
}
