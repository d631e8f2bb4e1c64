//! What a wrong case is told: one file, one fault or one kind of faults, one text.
mod toy;

use std::path::{Path, PathBuf};

use rstest::rstest;
use shapelock::harness::case::{Case, CaseError, CasePath, Position, discover};
use shapelock::harness::plan::plan;
use toy::Toy;

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[rstest]
fn a_wrong_case_is_told_what_is_wrong_and_where(#[files("tests/bad_cases/*.yaml")] file: PathBuf) {
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let told = told(&file, &name).expect_err("a file here has a fault");
    insta::with_settings!({prepend_module_to_snapshot => false, snapshot_path => "bad_cases", omit_expression => true}, {
        insta::assert_snapshot!(name, told);
    });
}

fn told(file: &Path, name: &str) -> Result<(), String> {
    let path = CasePath::new(name).map_err(|error| error.to_string())?;
    let bytes = std::fs::read(file).map_err(|error| error.to_string())?;
    let shown = Path::new("cases").join(format!("{name}.yaml"));
    let case = Case::parse(&shown, path, &bytes).map_err(|error| error.to_string())?;
    plan(&case, &Toy).map(|_| ()).map_err(|error| error.to_string())
}

#[test]
fn a_file_too_large_is_not_read() -> Outcome {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("large.yaml");
    std::fs::write(&file, vec![b'#'; (1 << 20) + 1])?;
    let errors = Case::load(&file, CasePath::new("large")?).expect_err("1 MiB is the limit");
    let told = errors.to_string().replace(&*folder.path().to_string_lossy(), "cases");
    assert_eq!(
        told,
        "cases/large.yaml: more than 1024 KiB\nhelp: a case is a page of text: split it"
    );
    Ok(())
}

#[test]
fn a_file_that_is_not_there_is_an_error() -> Outcome {
    let errors =
        Case::load(Path::new("cases/none.yaml"), CasePath::new("none")?).expect_err("no such file");
    assert!(errors.to_string().starts_with("cases/none.yaml: cannot be read: "), "{errors}");
    Ok(())
}

#[test]
fn many_faults_are_cut_short() -> Outcome {
    let yaml: String = (0..5000).map(|index| format!("key{index}: 1\n")).collect();
    let errors = Case::parse(Path::new("many.yaml"), CasePath::new("many")?, yaml.as_bytes())
        .expect_err("unknown keys");
    assert_eq!(errors.iter().count(), 50);
    Ok(())
}

#[test]
fn a_long_text_is_quoted_in_part() -> Outcome {
    let yaml = "word ".repeat(10_000);
    let errors = Case::parse(Path::new("x.yaml"), CasePath::new("x")?, yaml.as_bytes())
        .expect_err("not a mapping");
    let told = errors.to_string();
    assert!(told.starts_with("x.yaml:1:1: a case should be a mapping, found the text `word word"));
    assert!(told.chars().count() < 350, "{told}");
    Ok(())
}

#[test]
fn folders_are_searched_in_order_and_lost_cases_are_told() -> Outcome {
    let root = tempfile::tempdir()?;
    for folder in ["b/inner", "a", "none/deeper", ".git", "b c"] {
        std::fs::create_dir_all(root.path().join(folder))?;
    }
    for file in [
        "b/inner/z.yaml",
        "b/y.yaml",
        "a/x.yaml",
        "w.yaml",
        ".hidden.yaml",
        "README.md",
        "a/old.yml",
        "a/LOUD.YAML",
        "a/x.y.yaml",
        "b c/v.yaml",
    ] {
        std::fs::write(root.path().join(file), "")?;
    }
    let found = discover(root.path());
    let names: Vec<_> = found.cases.iter().map(|case| case.path.to_string()).collect();
    assert_eq!(names, ["a::x", "b::inner::z", "b::y", "w"]);
    for case in &found.cases {
        assert_eq!(case.path.file(root.path()), case.file);
    }
    let errors = found.errors.map(|errors| errors.to_string()).unwrap_or_default();
    insta::assert_snapshot!(errors.replace(&*root.path().to_string_lossy(), "cases"), @r"
    cases/a/LOUD.YAML: a case ends in `.yaml`
    help: rename it to end in `.yaml`

    cases/a/old.yml: a case ends in `.yaml`
    help: rename it to end in `.yaml`

    cases/a/x.y.yaml: `x.y` cannot name a case
    help: use letters, digits, `_` and `-`

    cases/b c: `b c` cannot name a case
    help: use letters, digits, `_` and `-`

    cases/none/deeper: no case in this folder
    help: add a `.yaml` file or remove the folder
    ");
    Ok(())
}

/// Only Unix has these in a folder.
#[cfg(unix)]
#[test]
fn files_that_are_none_are_told_and_never_opened() -> Outcome {
    let root = tempfile::tempdir()?;
    std::fs::create_dir(root.path().join("inner"))?;
    std::fs::write(root.path().join("inner/good.yaml"), "")?;
    std::fs::write(root.path().join("new\nline.yaml"), "")?;
    let pipe = root.path().join("pipe.yaml");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status()?.success());
    std::os::unix::net::UnixListener::bind(root.path().join("socket.yaml"))?;
    std::os::unix::fs::symlink(root.path(), root.path().join("inner/again"))?;
    let found = discover(root.path());
    assert_eq!(found.cases.len(), 1, "{:?}", found.cases);
    let errors = found.errors.map(|errors| errors.to_string()).unwrap_or_default();
    insta::assert_snapshot!(errors.replace(&*root.path().to_string_lossy(), "cases"), @r"
    cases/inner/again: a link to a folder that it lies in
    help: remove the link: it has no end

    cases/new\nline.yaml: `new\nline` cannot name a case
    help: use letters, digits, `_` and `-`

    cases/pipe.yaml: is a pipe, a socket or a device, and a case is a regular file
    help: remove it or give it another extension

    cases/socket.yaml: is a pipe, a socket or a device, and a case is a regular file
    help: remove it or give it another extension
    ");
    let error = Case::load(&pipe, CasePath::new("pipe")?).expect_err("a pipe is no case");
    assert!(error.to_string().contains("a case is a regular file"), "{error}");
    Ok(())
}

#[test]
fn the_caret_of_a_long_line_stays_in_sight() {
    let error = CaseError {
        file: "cases/x.yaml".into(),
        at: Some(Position { line: 1, column: 301 }),
        excerpt: Some("-".repeat(300) + "!" + &"-".repeat(300)),
        message: "here".to_owned(),
        help: None,
    };
    let text = error.to_string();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[1].find('!'), lines[2].find('^'));
    assert!(lines[1].len() <= 104);
}
