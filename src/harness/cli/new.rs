//! The command `new`: a commented case for a subject, with the contract that a run of it obeyed.

mod config;
mod draft;

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::commands::Commands;
use super::schema;
use crate::harness::case::CasePath;
use crate::harness::outcome::counted;
use crate::harness::plan::Environment;
use crate::harness::subject::AnySubject;
use crate::harness::trials::{self, Cases, Options, Suite, Work, on_large_stack};
use draft::{Draft, draft};

/// Writes a case and says what to do next.
///
/// # Errors
/// A subject that is not there, a name that no case can have, a case that is there already, a folder that cannot be
/// written.
pub(super) fn new(
    suite: &Suite,
    machine: &Environment,
    subject: &str,
    name: Option<&str>,
) -> Result<u8, String> {
    let known = suite.subjects.get(subject);
    let known = known.ok_or_else(|| match suite.partial {
        true => format!(
            "{}\nhelp: those of your own are known to your tests: cargo test --test {} -- cli new {subject}",
            suite.subjects.unknown(subject),
            suite.binary
        ),
        false => suite.subjects.unknown(subject),
    })?;
    let folder = match &suite.cases {
        Cases::Folder(folder) => folder.clone(),
        Cases::Embedded(_) => PathBuf::from("cases"),
    };
    let path = path(subject, name)?;
    let file = path.file(&folder);
    if file.exists() {
        return Err(there(&file));
    }
    let others = configs(suite, machine, subject);
    let made = on_large_stack("new", || draft(&path, &file, (&suite.subjects, known), &others))?;
    let draft = made.map_err(|panic| format!("the subject panicked: {}", panic.message))?;
    write(&file, &draft.text)?;
    let schema_file = folder.join("schema.json");
    let wrote_schema = write(&schema_file, &schema::text(&suite.subjects)).is_ok();
    anstream::print!("{}", told(&file, &draft, wrote_schema.then_some(&*schema_file)));
    anstream::print!("{}", next(&Commands::of(suite), &path, &draft, known));
    Ok(0)
}

/// The name of the case: `first` below its subject, if none is given.
fn path(subject: &str, name: Option<&str>) -> Result<CasePath, String> {
    let name = name.map_or_else(|| "first".to_owned(), super::choose::name);
    let own = name.strip_prefix(&format!("{subject}::")).unwrap_or(&name);
    CasePath::new(&format!("{subject}::{own}")).map_err(|error| error.to_string())
}

fn there(file: &Path) -> String {
    let help = "give a name for the new one, behind that of its subject";
    format!("{} is there already, and is left as it is\nhelp: {help}", shown(file))
}

/// Writes a file that is not there yet.
fn write(file: &Path, text: &str) -> Result<(), String> {
    let trouble = |error: std::io::Error| format!("{} cannot be written: {error}", shown(file));
    fs::create_dir_all(file.parent().unwrap_or(Path::new("."))).map_err(trouble)?;
    let opened = OpenOptions::new().write(true).create_new(true).open(file);
    let mut opened = opened.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => there(file),
        _ => trouble(error),
    })?;
    opened.write_all(text.as_bytes()).map_err(trouble)
}

/// The configurations of the subject's other cases.
fn configs(
    suite: &Suite,
    machine: &Environment,
    subject: &str,
) -> Vec<serde_json::Map<String, serde_json::Value>> {
    let mut configs = Vec::new();
    for listed in trials::list(suite, machine, &Options::default(), None) {
        let Work::Check(job) = listed.work else { continue };
        if job.case.subject == subject && !configs.contains(&job.case.config) {
            configs.push(job.case.config.clone());
        }
    }
    configs
}

fn told(file: &Path, draft: &Draft, schema: Option<&Path>) -> String {
    let mut text = format!("wrote {}", shown(file));
    match &draft.trouble {
        None => {
            let (steps, points) = (counted(draft.steps, "step"), counted(draft.points, "point"));
            text.push_str(&format!(": {points}, and a contract of {steps} as runs obeyed it\n"));
        }
        Some(trouble) => text.push_str(&format!(", without a contract: {trouble}\n")),
    }
    if let Some(schema) = schema {
        let why = "by which editors complete and check cases";
        text.push_str(&format!("wrote {}, {why}\n", shown(schema)));
    }
    text
}

fn next(commands: &Commands, path: &CasePath, draft: &Draft, subject: &dyn AnySubject) -> String {
    let edit = match (&draft.trouble, draft.configured) {
        (_, false) => format!("fill in `config`: `{}` refuses the one in it", subject.name()),
        (Some(_), true) => "change `config` or `matrix` until the model runs".to_owned(),
        (None, true) => {
            "say in `why` what the case guards, and strike from `shapes` what is not meant for good"
                .to_owned()
        }
    };
    let lines = [
        (commands.cli(&format!("trace {path}")), "the shapes, step by step"),
        (commands.cli(&format!("explain {path}")), "what will run, and why"),
        (commands.test(&path.to_string()), "run it"),
        (commands.cli("review"), "look at its snapshot and lock it"),
    ];
    let width = lines.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    let lines = lines.iter().map(|(command, what)| format!("  {command:<width$}  {what}\n"));
    format!("\nnext\n  {edit}\n{}", lines.collect::<String>())
}

fn shown(file: &Path) -> String {
    file.to_string_lossy().replace('\\', "/")
}
