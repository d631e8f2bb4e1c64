//! Whenever an acceptance ends, a snapshot is the old one or the new one, and what was not taken over is still pending.

use std::cell::Cell;
use std::io;
use std::path::Path;
use std::time::Duration;

use rstest::rstest;
use shapelock::harness::snapshot::{Disk, Files, pending};

use super::{EXCHANGED, LAW, Package, accepted, changed, file};

/// The disk up to a step, at which it fails.
struct Failing {
    left: Cell<usize>,
    /// Whether nothing more happens after that step, as after a kill; else the next ones work again.
    killed: bool,
}

impl Failing {
    fn step(&self) -> io::Result<()> {
        match self.left.get() {
            0 => {
                let next = if self.killed { 0 } else { usize::MAX };
                self.left.set(next);
                Err(io::Error::other("no space left on device"))
            }
            left => {
                self.left.set(left - 1);
                Ok(())
            }
        }
    }
}

impl Files for Failing {
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        // A disk that is full, or a process that ends, leaves the first half.
        let whole = self.step();
        Disk.write(path, if whole.is_ok() { bytes } else { &bytes[..bytes.len() / 2] })?;
        whole
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        Disk.sync(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        Disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        Disk.remove(path)
    }
}

const CASES: [&str; 4] = ["ssm/first", "ssm/second", "third", "fourth"];

/// Each snapshot is whole, and where it is the old one, what is pending is there, whole too.
fn nothing_is_lost(package: &Package, cases: &[&str], new: &str) {
    for case in cases {
        let now = package.read(&format!("snapshots/{case}.snap"));
        let waits = package.read(&format!("snapshots/{case}.snap.new"));
        match now {
            Some(text) if text == accepted(new) => assert!(waits.is_none_or(|w| w == file(new))),
            other => {
                assert_eq!(other, Some(accepted(LAW)), "{case} is torn");
                assert_eq!(waits, Some(file(new)), "what was pending for {case}");
            }
        }
    }
}

#[rstest]
fn every_step_may_be_the_last(#[values(true, false)] killed: bool) {
    let new = changed(&[EXCHANGED]);
    for steps in 0..5 * CASES.len() {
        let package = Package::new(&CASES);
        for case in CASES {
            package.write(&format!("snapshots/{case}.snap.new"), &file(&new));
        }
        let files = Failing { left: Cell::new(steps), killed };
        let (all, _) = pending(&package.path().join("snapshots"));
        let failed = all.iter().filter(|one| one.accept(&files).is_err()).count();
        assert!(failed > 0, "{steps} steps are not all");
        nothing_is_lost(&package, &CASES, &new);
        // Nothing of it stands in the way of the next one.
        assert!(pending(&package.path().join("snapshots")).1.is_empty());
        assert_eq!(package.run(&["review", "--accept", "all"], "").0, 0);
        assert_eq!(package.read("snapshots/third.snap"), Some(accepted(&new)));
    }
}

/// The verdict does not depend on when the kill comes; the times only spread it.
#[cfg(unix)]
#[test]
fn a_kill_at_any_moment_leaves_the_old_or_the_new() {
    let new = changed(&[EXCHANGED]);
    let cases: Vec<String> = (0..40).map(|i| format!("many/case_{i}")).collect();
    let cases: Vec<&str> = cases.iter().map(String::as_str).collect();
    for kill in 0..200 {
        let package = Package::new(&cases);
        for case in &cases {
            package.write(&format!("snapshots/{case}.snap.new"), &file(&new));
        }
        let mut command = package.command(&["review", "--accept", "all"]);
        command.stdout(std::process::Stdio::null());
        let mut child = command.spawn().unwrap();
        std::thread::sleep(Duration::from_micros(500 + 100 * kill));
        child.kill().unwrap();
        child.wait().unwrap();
        nothing_is_lost(&package, &cases, &new);
    }
}
