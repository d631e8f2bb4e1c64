//! The command line: see [`shapelock::harness::cli`].

#[cfg(feature = "cli")]
fn main() -> std::process::ExitCode {
    shapelock::harness::cli::main()
}

#[cfg(not(feature = "cli"))]
fn main() {
    eprintln!("built without the feature `cli`");
}
