//! The command `review`: what is pending after a red run, each change once, accepted or rejected by group.

use std::io::{BufRead, Write};

use clap::Args;

use super::groups::{Group, groups, heading, text};
use crate::harness::outcome::counted;
use crate::harness::snapshot::{Disk, Pending, pending};
use crate::harness::trials::Suite;

/// What to do with what is pending; asks where neither is given.
#[derive(Args, Debug)]
pub(super) struct ReviewOptions {
    /// Show the groups and change nothing
    #[arg(long, conflicts_with_all = ["accept", "reject"])]
    list: bool,
    /// Accept these groups by number, or `all`
    #[arg(long, value_name = "GROUP", value_delimiter = ',')]
    accept: Vec<Chosen>,
    /// Reject these groups by number, or `all`: their snapshots stay as they are
    #[arg(long, value_name = "GROUP", value_delimiter = ',')]
    reject: Vec<Chosen>,
}

/// A group, or all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chosen {
    All,
    One(usize),
}

impl std::str::FromStr for Chosen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self::All),
            number => number
                .parse()
                .map(Self::One)
                .map_err(|_| "expected the number of a group, or `all`".into()),
        }
    }
}

/// What becomes of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Accept,
    Reject,
    Skip,
    Quit,
}

/// Shows what is pending and does what is asked for; 0 where nothing is left, 1 where something is.
///
/// # Errors
/// A group that is not there; a snapshot that cannot be read or written.
pub(super) fn review(suite: &Suite, options: &ReviewOptions) -> Result<u8, String> {
    let Some(folder) = suite.snapshots() else {
        return Err("these cases have no folder, and so no snapshots".into());
    };
    let (all, errors) = pending(&folder);
    for error in &errors {
        anstream::eprintln!("{}: {error}", super::style::bad("error"));
    }
    let (groups, same) = groups(all);
    // Left by a review that was stopped between accepting a file and removing what was pending.
    each(&same, |file| file.reject(&Disk))?;
    if groups.is_empty() {
        anstream::println!("nothing is pending below {}", super::groups::shown(&folder));
        return Ok(if errors.is_empty() { 0 } else { super::FAILED });
    }
    let told = told(options, groups.len())?;
    anstream::println!("{}\n", heading(&groups));
    let left = match options.list {
        true => show(&groups),
        false if told.is_empty() => asked(&groups, &mut std::io::stdin().lock())?,
        false => done(&groups, &told)?,
    };
    Ok(if left == 0 && errors.is_empty() { 0 } else { super::FAILED })
}

fn show(groups: &[Group]) -> usize {
    for (i, group) in groups.iter().enumerate() {
        anstream::println!("{}", text(i + 1, group));
    }
    groups.len()
}

/// What the options say of each group that they name.
fn told(options: &ReviewOptions, groups: usize) -> Result<Vec<(usize, Verdict)>, String> {
    let accepted = options.accept.iter().map(|chosen| (*chosen, Verdict::Accept));
    let rejected = options.reject.iter().map(|chosen| (*chosen, Verdict::Reject));
    let mut told = Vec::new();
    for (chosen, verdict) in accepted.chain(rejected) {
        match chosen {
            Chosen::All => told.extend((0..groups).map(|i| (i, verdict))),
            Chosen::One(number) if (1..=groups).contains(&number) => {
                told.push((number - 1, verdict))
            }
            Chosen::One(number) => {
                return Err(format!(
                    "there is no group {number}; there are {groups}, see review --list"
                ));
            }
        }
    }
    let twice = |(i, verdict): &&(usize, Verdict)| told.iter().any(|(j, v)| i == j && v != verdict);
    match told.iter().find(twice) {
        Some((i, _)) => Err(format!("group {} is both accepted and rejected", i + 1)),
        None => Ok(told),
    }
}

/// Does what the options say; how many groups are left.
fn done(groups: &[Group], told: &[(usize, Verdict)]) -> Result<usize, String> {
    let mut left = 0;
    for (i, group) in groups.iter().enumerate() {
        match told.iter().find(|(j, _)| *j == i) {
            Some((_, verdict)) => decide(group, *verdict)?,
            None => left += 1,
        }
    }
    if left > 0 {
        anstream::println!("{} left", counted(left, "group"));
    }
    Ok(left)
}

/// Asks for each group; how many are left.
fn asked(groups: &[Group], answers: &mut dyn BufRead) -> Result<usize, String> {
    let mut left = 0;
    for (i, group) in groups.iter().enumerate() {
        anstream::print!("{}\naccept (a), reject (r), skip (s), quit (q)? ", text(i + 1, group));
        match answer(answers) {
            Verdict::Quit => return Ok(left + groups.len() - i),
            Verdict::Skip => left += 1,
            verdict => decide(group, verdict)?,
        }
        anstream::println!();
    }
    Ok(left)
}

/// The next answer that can be understood; the end of the input is `quit`.
fn answer(answers: &mut dyn BufRead) -> Verdict {
    loop {
        let _ = std::io::stdout().flush();
        let mut line = String::new();
        match answers.read_line(&mut line) {
            Ok(0) | Err(_) => return Verdict::Quit,
            Ok(_) => {}
        }
        match line.trim() {
            "a" => return Verdict::Accept,
            "r" => return Verdict::Reject,
            "s" => return Verdict::Skip,
            "q" => return Verdict::Quit,
            _ => anstream::print!("a, r, s or q? "),
        }
    }
}

fn decide(group: &Group, verdict: Verdict) -> Result<(), String> {
    let files = counted(group.files.len(), "file");
    match verdict {
        Verdict::Accept => {
            each(&group.files, |file| file.accept(&Disk))?;
            anstream::println!("accepted: {files}");
        }
        Verdict::Reject => {
            each(&group.files, |file| file.reject(&Disk))?;
            anstream::println!("rejected: {files}");
        }
        Verdict::Skip | Verdict::Quit => {}
    }
    Ok(())
}

/// Goes on to the others where one fails, and tells all that failed.
pub(super) fn each<E: std::fmt::Display>(
    files: &[Pending],
    act: impl Fn(&Pending) -> Result<(), E>,
) -> Result<(), String> {
    let failed: Vec<String> =
        files.iter().filter_map(|file| act(file).err()).map(|error| error.to_string()).collect();
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n")) }
}
