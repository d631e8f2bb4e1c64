//! The command `list`.

use super::choose::choose;
use super::style::{self, bad, faint, left_out};
use crate::harness::outcome::counted;
use crate::harness::plan::Environment;
use crate::harness::trials::{self, Options, Suite, Work};

/// Prints every trial with the number of its points, or why it does not run.
///
/// # Errors
/// A name that no case has.
pub(super) fn list(
    suite: &Suite,
    machine: &Environment,
    options: &Options,
    wanted: &[String],
) -> Result<u8, String> {
    let listed = choose(trials::list(suite, machine, options, None), wanted)?;
    let width = listed.iter().map(|listed| listed.name.len()).max().unwrap_or(0);
    // In a narrow terminal a column of long names would break every line.
    let width = width.min(style::width() / 2);
    let mut code = 0;
    for listed in &listed {
        let name = &listed.name;
        match (&listed.work, &listed.skip) {
            (_, Some(reason)) => {
                anstream::println!("{name:<width$}  {}", left_out(format!("skipped: {reason}")))
            }
            (Work::Check(job), None) => {
                anstream::println!("{name:<width$}  {}", faint(counted(job.points, "point")));
            }
            (Work::NoSubject(_), None) if suite.partial => {
                anstream::println!(
                    "{name:<width$}  {}",
                    left_out("skipped: its subject is known to tests only")
                );
            }
            (Work::Broken(text) | Work::NoSubject(text), None) => {
                code = super::NOT_UNDERSTOOD;
                anstream::println!("{name:<width$}  {}\n{text}\n", bad("cannot be read"));
            }
        }
    }
    Ok(code)
}
