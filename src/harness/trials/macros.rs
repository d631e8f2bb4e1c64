//! What a user's crate expands: insta has to see that crate, and not this one.

/// The `main` of a test binary whose tests are the cases of the package.
///
/// In `Cargo.toml`: `[[test]] name = "shapes" harness = false`. In `tests/shapes.rs`, the subjects that cases name:
///
/// ```no_run
/// use shapelock::harness::subjects::{DenseSsmSubject, Mamba2Subject};
///
/// shapelock::main!(DenseSsmSubject, Mamba2Subject::Plain);
/// ```
///
/// Cases are read from the folder `cases`, snapshots lie in `snapshots` beside it. Another folder, or subjects that are
/// in a [`Registry`](crate::harness::registry::Registry) already:
///
/// ```no_run
/// shapelock::main!(cases: "cases", registry: shapelock::harness::subjects::shipped());
/// ```
///
/// The command line is in it too: `cargo test --test shapes -- cli trace CASE`.
#[macro_export]
macro_rules! main {
    (cases: $cases:expr, registry: $registry:expr $(,)?) => {
        fn main() -> ::std::process::ExitCode {
            $crate::harness::trials::main($crate::__suite!($cases, $registry))
        }
    };
    (cases: $cases:expr, subjects: [$($subject:expr),* $(,)?] $(,)?) => {
        $crate::main!(
            cases: $cases,
            registry: $crate::harness::registry::Registry::new()$(.with($subject))*
        );
    };
    ($($subject:expr),+ $(,)?) => {
        $crate::main!(cases: "cases", subjects: [$($subject),+]);
    };
}

/// Runs every check of one case inside an ordinary `#[test]`, and panics with the report.
///
/// ```no_run
/// # use shapelock::harness::subjects::DenseSsmSubject;
/// shapelock::check!(DenseSsmSubject, "cases/dense_ssm/bug_report.yaml");
/// ```
///
/// The folder of cases is the first of the path. A device that is absent is skipped with a line on stderr. Set
/// `RUST_LIB_BACKTRACE=1`, so that a failure inside the model has its line.
#[macro_export]
macro_rules! check {
    ($subject:expr, $file:expr $(,)?) => {{
        let file: &str = $file;
        let cases = file.split('/').next().unwrap_or_default();
        let subjects = $crate::harness::registry::Registry::new().with($subject);
        $crate::harness::trials::check(&$crate::__suite!(cases, subjects), file)
    }};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __suite {
    ($cases:expr, $registry:expr) => {
        $crate::harness::trials::Suite::new(
            ::std::env!("CARGO_MANIFEST_DIR"),
            $cases,
            ::std::env!("CARGO_CRATE_NAME"),
            $registry,
            |name, text| $crate::harness::snapshot::__insta::assert_snapshot!(name, text),
        )
    };
}
