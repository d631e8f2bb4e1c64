//! How many faults are found, those that change shapes and those that keep them apart.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::excused::excuse;
use super::{EXCUSED, Site, Verdict};

/// The least part of the faults that keep shapes which has to be found.
const LEAST: f64 = 0.95;
/// The largest part of all faults that may change nothing.
const MOST_EQUAL: f64 = 0.10;

/// Faults and what became of them.
#[derive(Debug, Default)]
pub struct Score {
    changing: Part,
    keeping: Part,
    by_check: BTreeMap<&'static str, usize>,
    excused: BTreeMap<usize, usize>,
    equal: usize,
    red: Vec<String>,
}

/// The faults of one kind.
#[derive(Debug, Default)]
struct Part {
    killed: usize,
    survived: usize,
}

impl Score {
    /// Counts a fault; the line that tells of it.
    pub fn add(&mut self, site: &Site, verdict: &Verdict) -> String {
        let fault = format!("{} {} {}", site.subject, site.tap, site.change);
        let part = if site.shape_changes { &mut self.changing } else { &mut self.keeping };
        match verdict {
            Verdict::Killed { case, check, step } => {
                part.killed += 1;
                *self.by_check.entry(check.name()).or_default() += 1;
                let at = step.as_ref().map(|step| format!(" at {step}")).unwrap_or_default();
                format!("killed    {fault}: {}{at}, {case}", check.name())
            }
            Verdict::Survived { equal: true, .. } => {
                self.equal += 1;
                match excuse(site) {
                    Some(i) => {
                        *self.excused.entry(i).or_default() += 1;
                        format!("no fault  {fault}: {}", EXCUSED[i].because)
                    }
                    None => self.refused(format!(
                        "survived  {fault}: it changes nothing, and nothing says why"
                    )),
                }
            }
            Verdict::Survived { equal: false, would } => {
                part.survived += 1;
                let would = would.as_ref().map(|what| format!("{what} would find it"));
                let would = would.unwrap_or_else(|| {
                    "no larger size, other format or further check finds it".into()
                });
                format!("survived  {fault}: values change and no check sees it; {would}")
            }
            Verdict::Unreached => {
                self.refused(format!("unreached {fault}: no run came by the tap"))
            }
            Verdict::Trouble(text) => self.refused(format!("trouble   {fault}: {text}")),
        }
    }

    fn refused(&mut self, line: String) -> String {
        self.red.push(line.clone());
        line
    }

    /// Whether enough was found, and nothing went wrong.
    pub fn is_good(&self) -> bool {
        let all = self.changing.count() + self.keeping.count() + self.equal;
        self.red.is_empty()
            && self.changing.survived == 0
            && self.keeping.share() >= LEAST
            && self.equal as f64 <= MOST_EQUAL * all as f64
    }

    /// The counts.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let all = self.changing.count() + self.keeping.count() + self.equal + self.red.len();
        let _ = writeln!(text, "{all} faults");
        for (part, says) in
            [(&self.changing, "change a shape"), (&self.keeping, "keep every shape")]
        {
            let (count, killed, share) = (part.count(), part.killed, 100. * part.share());
            let _ = writeln!(text, "  {count} {says}: {killed} killed ({share:.1} %)");
        }
        let _ = writeln!(text, "  {} change nothing", self.equal);
        for (i, count) in &self.excused {
            let excuse = &EXCUSED[*i];
            let _ = writeln!(
                text,
                "    {count} {} at {}: {}",
                excuse.change, excuse.tap, excuse.because
            );
        }
        let by_check = self.by_check.iter().map(|(check, count)| format!("{check} {count}"));
        let _ = writeln!(text, "  killed by {}", by_check.collect::<Vec<_>>().join(", "));
        for line in &self.red {
            let _ = writeln!(text, "  {line}");
        }
        text
    }
}

impl Part {
    fn count(&self) -> usize {
        self.killed + self.survived
    }

    fn share(&self) -> f64 {
        if self.count() == 0 { 1. } else { self.killed as f64 / self.count() as f64 }
    }
}
