//! The commands and their options, as clap reads them and `--help` shows them.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

#[cfg(feature = "faults")]
use super::faults;
use super::review;
use crate::harness::trials::{Wanted, wanted_one as wanted};

/// A lock file for the shapes of a candle model.
#[derive(Parser, Debug)]
#[command(name = "shapelock", version, after_help = EXAMPLES, max_term_width = 100)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  shapelock                                      check every case below cases/
  shapelock check dense_ssm                      check the cases of one folder
  shapelock trace dense_ssm::bug_report          show every step of the forward pass with its shape
  shapelock trace mamba2::scans --point b1-l3-f32-cpu --ops
                                                 show every op of candle's graph at one point
  shapelock list                                 show what would run, and what not, and why
  shapelock explain dense_ssm::bug_report        show what one case runs, why, and what it costs
  shapelock new dense_ssm long                   write a case, with the contract that runs obey
  shapelock review                               look at each change once, and accept it

Without a folder cases/ here, the cases that come with shapelock are used.
Subjects of your own are known to your tests: cargo test --test cases -- cli trace CASE

Exit codes: 0 all well, 1 a check failed, 2 an argument or a case cannot be understood.";

#[derive(Subcommand, Debug)]
pub(super) enum Command {
    /// Run the checks of all cases, or of those named (the default command)
    #[command(after_help = "\
Examples:
  shapelock check
  shapelock check dense_ssm::bug_report
  shapelock check cases/mamba2/scans.yaml
  shapelock check --report html=target/report.html --report github
  SHAPELOCK_POINT=b8-l60-f32-cpu shapelock check dense_ssm::bug_report

Snapshots are compared and never written: cargo test leaves what changed, and review accepts it.")]
    Check {
        /// Cases by name (dense_ssm::bug_report), by folder (dense_ssm) or by file
        cases: Vec<String>,
        /// Reports of the run: html=PATH, junit=PATH, markdown=PATH or github (annotations on stdout)
        #[arg(long, value_name = "FORM=PATH", value_delimiter = ',', value_parser = wanted)]
        report: Vec<Wanted>,
    },
    /// Show the forward pass of a case: each step with its axes, shape and line
    #[command(after_help = "\
Examples:
  shapelock trace dense_ssm::bug_report
  shapelock trace dense_ssm::bug_report --point b1-l60-f32-cpu
  shapelock trace dense_ssm::bug_report --ops

A model that fails is shown up to its error, with the operands and the line.")]
    Trace(TraceOptions),
    /// List every trial, and why those that cannot run here do not
    List {
        /// Cases by name (dense_ssm::bug_report), by folder (dense_ssm) or by file
        cases: Vec<String>,
    },
    /// Explain a case: its points, each check and why it is on or off, what is skipped, what it costs
    #[command(after_help = "\
Examples:
  shapelock explain dense_ssm::bug_report
  shapelock explain cases/mamba2/scans.yaml")]
    Explain {
        /// The case, by name (dense_ssm::bug_report) or by file
        case: String,
    },
    /// Print the smallest case that still fails as this one does
    #[command(after_help = "\
Examples:
  shapelock minimize dense_ssm::bug_report
  shapelock minimize dense_ssm::bug_report > cases/dense_ssm/small.yaml

Only the YAML goes to stdout. Sizes are made smaller, then numbers in the configuration, as far as the subject takes them.")]
    Minimize {
        /// The case, by name (dense_ssm::bug_report) or by file
        case: String,
    },
    /// Write a commented case for a subject, with the contract that runs of it obeyed
    #[command(after_help = "\
Examples:
  shapelock new dense_ssm
  shapelock new dense_ssm long_sequences

The case is cases/SUBJECT/NAME.yaml. A file that is there is left as it is.
For subjects of your own: cargo test --test cases -- cli new SUBJECT")]
    New {
        /// The subject, by the name it is registered with
        subject: String,
        /// The name of the case: `first` if not given
        name: Option<String>,
    },
    /// Print the JSON schema of a case, by which editors complete and check one
    #[command(after_help = "\
Examples:
  shapelock schema > cases/schema.json

A case names it in its first line, from where it lies:
  # yaml-language-server: $schema=../schema.json

Subjects of your own are offered too: cargo test --test cases -- cli schema")]
    Schema,
    /// Show what is pending after a red run, each change once, and accept or reject it
    #[command(after_help = "\
Examples:
  shapelock review                    ask for each group: accept, reject, skip
  shapelock review --list
  shapelock review --accept 1,3 --reject 2

Files that changed in the same way are one group; a file is accepted whole. What breaks a contract is not pending: only the
model or the case mends it. cargo insta review shows the same files one by one.
It exits with 1 where something is left.")]
    Review(review::ReviewOptions),
    /// Take over the pending snapshots that another machine left, as a runner with a GPU does
    #[command(after_help = "\
Examples:
  shapelock accept pending-snapshots
  shapelock accept pending-snapshots --pending && shapelock review

Each file has to be a snapshot of a case that is here, by its path and by its subject; else nothing is taken over.")]
    Accept {
        /// The folder with *.snap.new files, as a job uploaded it
        artifact: PathBuf,
        /// Lay them beside the snapshots for `review`, and accept nothing
        #[arg(long)]
        pending: bool,
    },
    /// Show what changed between two snapshots, folders of snapshots, or revisions
    #[command(after_help = "\
Examples:
  shapelock diff HEAD~1 HEAD
  shapelock diff main snapshots
  shapelock diff a.snap b.snap

It exits with 1 where something changed.")]
    Diff {
        /// A file, a folder or a revision that git knows
        a: String,
        /// The same
        b: String,
    },
    /// Plant every fault at every tap of the cases, and count how many the checks find
    #[cfg(feature = "faults")]
    #[command(after_help = "\
Examples:
  shapelock faults
  shapelock faults dense_ssm --all
  shapelock faults --every 10

No code is changed: an active fault replaces the tensor of a tap while the model runs.")]
    Faults(faults::FaultsOptions),
}

#[derive(Args, Debug)]
pub(super) struct TraceOptions {
    /// The case, by name (dense_ssm::bug_report) or by file
    pub(super) case: String,
    /// The point, as in b8-l60-f32-cpu; the reference point if not given
    #[arg(long, env = "SHAPELOCK_POINT", hide_env_values = true)]
    pub(super) point: Option<String>,
    /// The variant; the first of the case if not given
    #[arg(long)]
    pub(super) variant: Option<String>,
    /// Show every op of candle's graph instead of the steps
    #[arg(long)]
    pub(super) ops: bool,
}
