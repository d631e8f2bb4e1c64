//! Random configurations of every shipped subject pass every check; one that does not becomes a case of the least size.
//!
//! `PROPTEST_CASES` says how many are drawn for each subject. A failure is written to `cases/regressions/`, which the suite
//! replays; where `CI` is set it is only printed.

mod property;

use std::path::Path;

use candle_core::{Result, Tensor};
use candle_nn::VarBuilder;
use rstest::rstest;
use shapelock::dims::Dims;
use shapelock::harness::check::Check;
use shapelock::harness::registry::Registry;
use shapelock::harness::subject::{ConfigProblem, Input, Inputs, Model, Outputs, Subject};
use shapelock::harness::subjects::shipped;
use shapelock::tap;

use property::{Draw, Found, first_failure, mamba2, plain, search, write};

/// How many draws a subject gets where nobody says otherwise.
const DRAWS: u32 = 10;

#[rstest]
#[case::dense_ssm("dense_ssm")]
#[case::mamba2("mamba2")]
#[case::from_state("mamba2_from_state")]
#[case::packed("mamba2_packed")]
#[case::padded("mamba2_padded")]
fn every_configuration_passes_every_check(#[case] subject: &str) {
    let draws = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(DRAWS);
    let found = match subject {
        "dense_ssm" => search(&shipped(), plain(subject, &["d_model", "expand", "d_state"]), draws),
        _ => search(&shipped(), mamba2(subject), draws),
    };
    let Some(found) = found else { return };
    let yaml = found.yaml();
    if std::env::var_os("CI").is_some() {
        panic!("{}\n\nadd it as cases/regressions/{}.yaml:\n\n{yaml}", found.text, found.name());
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/regressions");
    let file = write(&folder, &found).expect("the folder can be written");
    panic!("{}\n\nwritten to {}", found.text, file.display());
}

/// A model whose first row reads the last one, but only in batches of 3 and more, of 5 tokens and more.
struct Planted;

#[derive(serde::Deserialize)]
struct Config {
    d: usize,
}

impl Subject for Planted {
    type Config = Config;

    fn name(&self) -> &str {
        "planted"
    }

    fn dims(&self, config: &Config) -> std::result::Result<Dims, ConfigProblem> {
        Ok(Dims::new().with("d", config.d))
    }

    fn inputs(&self, _: &Config) -> Vec<Input> {
        vec![Input::floats("input", "b l d")]
    }

    fn build(&self, config: &Config, vb: VarBuilder<'_>) -> Result<Box<dyn Model>> {
        let gain = vb.get(config.d, "gain")?;
        Ok(Box::new(move |inputs: &Inputs| {
            let x = inputs.get("input")?.broadcast_mul(&gain)?; // (b, l, d)
            let (b, l, _) = x.dims3()?;
            let mixed = match b > 2 && l > 4 {
                true => Tensor::cat(
                    &[(x.narrow(0, 0, 1)? + x.narrow(0, b - 1, 1)?)?, x.narrow(0, 1, b - 1)?],
                    0,
                )?,
                false => x,
            };
            Ok(Outputs::new().with("output", tap("mixed", mixed)?)) // (b, l, d)
        }))
    }
}

#[test]
fn a_planted_fault_ends_as_a_case_of_the_least_size_that_fails_by_the_same_check() {
    let subjects = Registry::new().with(Planted);
    let found = search(&subjects, plain("planted", &["d"]), 200).expect("the fault is found");
    assert_eq!(found.check, Check::Batch);
    assert_eq!((found.draw.size("batch"), found.draw.size("seq")), (3, 5));
    assert_eq!(found.draw.config, [("d".to_owned(), "1".to_owned())]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = write(folder.path(), &found).expect("a file");
    let yaml = std::fs::read_to_string(&file).expect("a case");
    let again: Found = first_failure(&subjects, &Draw::clone(&found.draw)).expect("it fails again");
    assert_eq!(again.check, found.check);
    insta::assert_snapshot!(yaml);
}
