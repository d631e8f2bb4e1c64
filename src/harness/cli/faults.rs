//! The command `faults`.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;

use super::FAILED;
use super::check::progress;
use super::choose::choose;
use super::style::{bad, faint, good, left_out};
use crate::faults::{Ground, Hunt, Score, Site, Verdict, sites};
use crate::harness::plan::Environment;
use crate::harness::run::{STACK, panics};
use crate::harness::snapshot::read_baseline;
use crate::harness::trials::{self, Options, Suite, Work};

#[derive(Args, Debug)]
pub(super) struct FaultsOptions {
    /// Cases by name (dense_ssm::bug_report), by folder (dense_ssm) or by file; all if none is named
    cases: Vec<String>,
    /// Try one fault in so many
    #[arg(long, default_value = "1", value_name = "N")]
    every: NonZero<usize>,
    /// Tell what became of each fault, and not of those alone that were not found
    #[arg(long)]
    all: bool,
}

/// Plants every fault at every tap of the wanted cases, and counts how many of them the cases' checks find.
///
/// # Errors
/// A name that no case has; a case that cannot be run.
pub(super) fn faults(
    suite: &Suite,
    machine: &Environment,
    options: &Options,
    wanted: &FaultsOptions,
) -> Result<u8, String> {
    let grounds = grounds(suite, machine, options, &wanted.cases)?;
    let sites = sites(&grounds).map_err(|error| error.to_string())?;
    let sites: Vec<Site> = sites.into_iter().step_by(wanted.every.get()).collect();
    if sites.is_empty() {
        return Err("these cases have no tap at which a fault could be planted".into());
    }
    let found = tried(&Hunt::new(&suite.subjects, &grounds), &sites);
    let mut score = Score::default();
    let mut slowest = Duration::ZERO;
    for (site, (verdict, took)) in sites.iter().zip(&found) {
        let line = score.add(site, verdict);
        slowest = slowest.max(*took);
        let is_killed = matches!(verdict, Verdict::Killed { .. });
        if wanted.all || !is_killed {
            let took = faint(format!("{:.2} s", took.as_secs_f64()));
            let line = if is_killed { line } else { left_out(line) };
            anstream::println!("{line}, {took}");
        }
    }
    anstream::print!("\n{}", score.text());
    anstream::println!("  the slowest took {:.1} s", slowest.as_secs_f64());
    anstream::println!("{}", if score.is_good() { good("ok") } else { bad("FAILED") });
    Ok(if score.is_good() { 0 } else { FAILED })
}

/// The cases that have a right subject and are meant to end well.
fn grounds(
    suite: &Suite,
    machine: &Environment,
    options: &Options,
    wanted: &[String],
) -> Result<Vec<Ground>, String> {
    let mut cases = BTreeMap::new();
    for listed in choose(trials::list(suite, machine, options, None), wanted)? {
        match listed.work {
            Work::Check(job) if job.case.fault.is_none() && job.case.expect.is_none() => {
                cases.insert(job.case.path.to_string(), job.case.clone());
            }
            Work::Broken(text) => return Err(text),
            Work::Check(_) | Work::NoSubject(_) => {}
        }
    }
    let mut grounds = Vec::new();
    for case in cases.values() {
        let path = suite.snapshot(&case.path);
        let baseline = path.map(|path| read_baseline(&path)).transpose();
        let baseline = baseline.map_err(|error| error.to_string())?.flatten();
        let of = Ground::of(case, &suite.subjects, baseline.as_ref());
        grounds.extend(of.map_err(|error| error.to_string())?);
    }
    Ok(grounds)
}

/// The verdict on each fault and how long it took, with a worker for each core.
fn tried(hunt: &Hunt<'_>, sites: &[Site]) -> Vec<(Verdict, Duration)> {
    let bar = progress(sites.len());
    let next = AtomicUsize::new(0);
    let found = Mutex::new(BTreeMap::new());
    let work = || {
        while let Some((i, site)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|i| Some((i, sites.get(i)?)))
        {
            bar.set_message(format!("{} {}", site.tap, site.change));
            let start = Instant::now();
            let verdict = panics::catch(|| hunt.verdict(site))
                .unwrap_or_else(|panic| Verdict::Trouble(panic.message));
            found
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(i, (verdict, start.elapsed()));
            bar.inc(1);
        }
    };
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        for _ in 0..workers {
            // Without a thread there is one worker less; the verdicts that no worker made are told below.
            let _ = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        }
    });
    bar.finish_and_clear();
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let none = || (Verdict::Trouble("no thread could be started".into()), Duration::ZERO);
    (0..sites.len()).map(|i| found.remove(&i).unwrap_or_else(none)).collect()
}
