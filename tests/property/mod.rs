//! Drawing cases, and making a failing one small.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use shapelock::harness::case::{Case, CasePath, DeviceKind};
use shapelock::harness::check::Check;
use shapelock::harness::registry::Registry;
use shapelock::harness::report::{Context, failure};
use shapelock::harness::trial::{Trial, checks, run};

/// One case to be: a subject, its configuration and the sizes of its one point.
#[derive(Debug, Clone)]
pub struct Draw {
    pub subject: String,
    pub config: Vec<(String, String)>,
    pub sizes: Vec<(String, usize)>,
    /// The checks to make; all that the subject can have, if none are named.
    pub checks: Option<&'static str>,
}

impl Draw {
    pub fn size(&self, name: &str) -> usize {
        self.sizes.iter().find(|(own, _)| own == name).map_or(0, |(_, n)| *n)
    }

    fn yaml(&self, why: &str, checks: Option<&str>) -> String {
        let listed = |pairs: Vec<String>| pairs.join(", ");
        let config = self.config.iter().map(|(key, value)| format!("{key}: {value}"));
        // What is zero at one token has to be something at another length.
        let others = |name: &str, n| if (name, n) == ("seq", 1) { ", 2" } else { "" };
        let sizes = self.sizes.iter().map(|(name, n)| format!("{name}: [{n}{}]", others(name, *n)));
        let (config, sizes) = (listed(config.collect()), listed(sizes.collect()));
        let subject = &self.subject;
        let checks = checks.map(|checks| format!("checks: [{checks}]\n")).unwrap_or_default();
        // With one token, a state has nothing to act on.
        let zero = match (self.size("seq"), subject.as_str()) {
            (1, "dense_ssm") => "zero_gradient: {A: l == 1}\n",
            (1, "planted") => "",
            (1, name) if name != "mamba2_from_state" => {
                "zero_gradient: {backbone.layers.*.mixer.A_log: l == 1}\n"
            }
            _ => "",
        };
        format!(
            "subject: {subject}\nwhy: {why}\nconfig: {{{config}}}\nmatrix: {{{sizes}, dtype: [f64]}}\n{zero}{checks}"
        )
    }

    fn case(&self, checks: Option<&str>) -> Case {
        let path = CasePath::new("regressions::drawn").expect("a name");
        let yaml = self.yaml("drawn at random", checks.or(self.checks));
        Case::parse(Path::new("cases/regressions/drawn.yaml"), path, yaml.as_bytes())
            .unwrap_or_else(|errors| panic!("{errors}\n{yaml}"))
    }
}

/// A draw that a check found something in.
pub struct Found {
    pub draw: Draw,
    pub check: Check,
    /// What the check says.
    pub text: String,
}

impl Found {
    /// The case that shows it.
    pub fn yaml(&self) -> String {
        let why = format!("a random configuration failed by the check {}", self.check.name());
        self.draw.yaml(&why, Some(self.check.name()))
    }

    /// The name of its file.
    pub fn name(&self) -> String {
        let sizes = self.draw.sizes.iter().map(|(name, n)| format!("_{name}_{n}"));
        format!("{}_{}{}", self.draw.subject, self.check.name(), sizes.collect::<String>())
    }
}

/// The first check of a draw that finds something.
pub fn first_failure(subjects: &Registry, draw: &Draw) -> Option<Found> {
    let subject = subjects.get(&draw.subject).expect("a subject");
    let case = draw.case(None);
    let all = checks(&case, subject).unwrap_or_else(|errors| panic!("{errors}"));
    all.into_iter().find_map(|check| {
        let device = DeviceKind::Cpu;
        let (point, baseline, laws) = (None, None, None);
        let trial = Trial { case: &case, subjects, check, device, point, baseline, laws };
        let outcome = run(&trial).unwrap_or_else(|error| panic!("{error}"));
        let trial = format!("regressions::drawn::{}", check.name());
        let context = Context {
            trial: &trial,
            device: "cpu",
            skipped: &[],
            snapshot: None,
            texts: None,
            binary: "cases",
        };
        let text = || failure(&case, &outcome, &context);
        (!outcome.findings.is_empty()).then(|| Found { draw: draw.clone(), check, text: text() })
    })
}

/// Draws until something is found, which is then made as small as it goes.
pub fn search(
    subjects: &Registry,
    strategy: impl Strategy<Value = Draw>,
    draws: u32,
) -> Option<Found> {
    let config = Config { cases: draws, failure_persistence: None, ..Config::default() };
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let passes = |draw: Draw| match first_failure(subjects, &draw) {
        None => Ok(()),
        Some(found) => Err(TestCaseError::fail(found.check.name())),
    };
    match TestRunner::new_with_rng(config, random).run(&strategy, passes) {
        Ok(()) => None,
        Err(TestError::Fail(_, least)) => first_failure(subjects, &least),
        Err(TestError::Abort(reason)) => panic!("{reason}"),
    }
}

/// Writes the case, and gives its file.
pub fn write(folder: &Path, found: &Found) -> std::io::Result<PathBuf> {
    let file = folder.join(format!("{}.yaml", found.name()));
    let path = CasePath::new("regressions::found").expect("a name");
    std::fs::write(&file, path.schema_line() + &found.yaml())?;
    Ok(file)
}

fn sizes(least: usize) -> impl Strategy<Value = Vec<(String, usize)>> {
    (1..5usize, least..24usize)
        .prop_map(|(b, l)| vec![("batch".to_owned(), b), ("seq".to_owned(), l)])
}

/// A subject whose fields take any small number.
pub fn plain(
    subject: &str,
    fields: &'static [&'static str],
) -> impl Strategy<Value = Draw> + use<> {
    let subject = subject.to_owned();
    (prop::collection::vec(1..9usize, fields.len()), sizes(1)).prop_map(move |(values, sizes)| {
        let config = fields.iter().zip(values).map(|(f, n)| ((*f).to_owned(), n.to_string()));
        Draw { subject: subject.clone(), config: config.collect(), sizes, checks: None }
    })
}

/// A way of reading a Mamba-2 of any sizes that fit one another.
pub fn mamba2(subject: &str) -> impl Strategy<Value = Draw> + use<> {
    let subject = subject.to_owned();
    // Of a single feature, the norm keeps nothing but the sign.
    let heads = (1..4usize, 1..4usize, 2..5usize); // groups, heads a group, half of p
    let rest = (1..6usize, 1..9usize, 1..6usize, 1..4usize); // n, q, k, layers
    let flags = (0..4usize, any::<bool>(), any::<bool>(), any::<bool>());
    // Marks and lengths of one or two tokens may say nothing.
    let least = if matches!(subject.as_str(), "mamba2" | "mamba2_from_state") { 1 } else { 3 };
    (heads, rest, flags, sizes(least)).prop_map(move |((g, of_group, half), rest, flags, sizes)| {
        let ((n, q, k, layers), (scan, tied, bias, limited)) = (rest, flags);
        let (h, p) = (g * of_group, 2 * half);
        let scan = ["chunked", "sequential", "associative", "fused"][scan];
        let limit = if limited { "[0.001, 20.0]" } else { "[0.0, 100.0]" };
        let numbers = [
            ("d_model", h * half),
            ("n_layer", layers),
            ("d_state", n),
            ("headdim", p),
            ("ngroups", g),
            ("d_conv", k),
            ("chunk_size", q),
            ("vocab_size", 11),
            ("pad_vocab_size_multiple", 1),
        ];
        let numbers = numbers.map(|(key, n)| (key.to_owned(), n.to_string()));
        let words = [
            ("scan", scan.to_owned()),
            ("tie_embeddings", tied.to_string()),
            ("bias", bias.to_string()),
            ("dt_limit", limit.to_owned()),
        ];
        let words = words.map(|(key, value)| (key.to_owned(), value));
        // A tree's depth and where padding stands have no law.
        let checks = match (subject.as_str(), scan) {
            // Sequences of one token have gradients that are zero, wherever the marks put them.
            ("mamba2_padded", _) => Some("finite, batch, causal, scans"),
            ("mamba2_packed", "associative") => Some("finite, batch, causal, continuation, scans"),
            ("mamba2_packed", _) => Some("shapes, finite, batch, causal, continuation, scans"),
            (_, "associative") => Some("gradients, finite, batch, causal, scans"),
            _ => None,
        };
        let config = numbers.into_iter().chain(words).collect();
        Draw { subject: subject.clone(), config, sizes, checks }
    })
}
