//! The commands as people type them.

use std::fs;
use std::process::Command;

use rstest::rstest;

use super::{EXCHANGED, LAW, Package, WIDER, accepted, changed, file};

#[test]
fn what_changed_is_shown_once_for_all_files() {
    let package = Package::pending();
    let (code, text) = package.run(&["review", "--list"], "");
    assert_eq!((code, package.waiting().len()), (1, 4));
    insta::assert_snapshot!("list", text);
}

#[test]
fn each_group_is_asked_for() {
    let package = Package::pending();
    let (code, text) = package.run(&["review"], "what?\na\nr\n");
    assert_eq!((code, package.waiting()), (0, vec![]));
    insta::assert_snapshot!("asked", text);
    let exchanged = accepted(&changed(&[EXCHANGED]));
    for case in ["ssm/first", "ssm/second", "third"] {
        assert_eq!(package.read(&format!("snapshots/{case}.snap")), Some(exchanged.clone()));
    }
    assert_eq!(package.read("snapshots/fourth.snap"), Some(accepted(LAW)));
}

#[rstest]
#[case::accept_one(&["review", "--accept", "1"], "", 1, &["fourth"])]
#[case::accept_all(&["review", "--accept", "all"], "", 0, &[])]
#[case::accept_and_reject(&["review", "--accept", "2", "--reject", "1"], "", 0, &[])]
#[case::skip_then_accept(&["review"], "s\na\n", 1, &["ssm/first", "ssm/second", "third"])]
#[case::quit(&["review"], "q\n", 1, &["ssm/first", "ssm/second", "third", "fourth"])]
#[case::no_answer(&["review"], "", 1, &["ssm/first", "ssm/second", "third", "fourth"])]
fn what_is_not_decided_stays_pending(
    #[case] words: &[&str],
    #[case] answers: &str,
    #[case] code: i32,
    #[case] waiting: &[&str],
) {
    let package = Package::pending();
    assert_eq!(package.run(words, answers).0, code);
    assert_eq!(package.waiting(), waiting);
}

#[rstest]
#[case::no_such_group(&["review", "--accept", "3"], "there is no group 3; there are 2")]
#[case::both(&["review", "--accept", "1", "--reject", "all"], "group 1 is both accepted and rejected")]
#[case::no_number(&["review", "--accept", "first"], "expected the number of a group, or `all`")]
fn what_is_not_understood_changes_nothing(#[case] words: &[&str], #[case] says: &str) {
    let package = Package::pending();
    let (code, text) = package.run(words, "");
    assert_eq!((code, package.waiting().len()), (2, 4));
    assert!(text.contains(says), "{text}");
}

#[rstest]
#[case::first("---\nsource: x\n---\n", LAW, "the first snapshot of its case")]
#[case::sizes(LAW, &LAW.replace("d=4", "d=6").replace("[2, 5, 4]", "[2, 5, 6]"), "other sizes at the reference point, the same law")]
#[case::step_more(LAW, &LAW.replace("states", "taps (b, n) [2, 3]\nstates"), "taps (b, n) is new")]
#[case::step_gone(LAW, &LAW.replace("states (b, l, n) [2, 5, 3]\n", ""), "states (b, l, n) is gone")]
#[case::zero(LAW, &LAW.replace(" zero where l = 1", ""), "A (n, n) zero where l = 1 became (n, n)")]
#[case::variant_more(LAW, &format!("{LAW}\n{}", LAW.replace("dense_ssm at", "dense_ssm / wide at")), "the variant wide is new")]
#[case::text_of_a_failure("first a\nthen b\n", "first a\nthen c\n", "then b is gone")]
fn a_change_is_told_by_what_it_means(#[case] old: &str, #[case] new: &str, #[case] says: &str) {
    let package = Package::new(&["third"]);
    match old.starts_with("---") {
        true => fs::remove_file(package.path().join("snapshots/third.snap")).unwrap(),
        false => package.write("snapshots/third.snap", &accepted(old)),
    }
    package.write("snapshots/third.snap.new", &file(new));
    let (_, text) = package.run(&["review", "--list"], "");
    assert!(text.contains(&format!("   {says}\n")), "{text}");
}

/// A review that is stopped between taking a file over and removing what was pending leaves both.
#[test]
fn what_is_pending_and_accepted_is_no_change() {
    let package = Package::new(&["third"]);
    package.write("snapshots/third.snap.new", &file(LAW));
    let (code, text) = package.run(&["review"], "");
    assert_eq!((code, text.as_str()), (0, "nothing is pending below snapshots\n"));
    assert_eq!(package.waiting(), [""; 0]);
}

#[test]
fn a_pending_file_that_is_no_snapshot_is_told_and_kept() {
    let package = Package::pending();
    package.write("snapshots/fourth.snap.new", "<<<<<<< HEAD\n");
    let (code, text) = package.run(&["review", "--accept", "all"], "");
    assert_eq!((code, package.waiting()), (1, vec!["fourth"]));
    assert!(text.contains("snapshots/fourth.snap.new: expected `---` in line 1"), "{text}");
}

#[test]
fn what_another_machine_left_is_taken_over() {
    let (here, there) = (Package::new(&["ssm/first", "third"]), Package::pending());
    fs::remove_file(there.path().join("snapshots/ssm/second.snap.new")).unwrap();
    fs::remove_file(there.path().join("snapshots/fourth.snap.new")).unwrap();
    let artifact = there.path().to_str().unwrap();
    let (code, _) = here.run(&["accept", artifact, "--pending"], "");
    assert_eq!((code, here.waiting()), (1, vec!["ssm/first", "third"]));
    let (code, text) = here.run(&["accept", artifact], "");
    assert_eq!((code, here.waiting()), (0, vec![]));
    insta::assert_snapshot!("accept", text);
    assert_eq!(here.read("snapshots/third.snap"), Some(accepted(&changed(&[EXCHANGED]))));
    let (code, text) = here.run(&["accept", artifact], "");
    assert_eq!((code, text.as_str()), (0, "2 files the same as here: nothing to accept\n"));
}

#[rstest]
#[case::no_such_case("snapshots/fifth.snap.new", LAW, "no case is called `fifth` here")]
#[case::no_name("snapshots/a b.snap.new", LAW, "its path names no case")]
#[case::other_subject("snapshots/third.snap.new", &LAW.replace("dense_ssm", "mamba2"), "it is of `mamba2`, and `third` tests `dense_ssm`")]
#[case::no_law("snapshots/third.snap.new", "anything\n", "line 1: ")]
fn what_does_not_fit_is_refused_whole(#[case] name: &str, #[case] text: &str, #[case] says: &str) {
    let (here, there) = (Package::new(&["ssm/first", "third"]), Package::new(&[]));
    there.write("snapshots/ssm/first.snap.new", &file(&changed(&[WIDER])));
    there.write(name, &file(text));
    let (code, said) = here.run(&["accept", there.path().to_str().unwrap()], "");
    assert_eq!((code, here.waiting()), (2, vec![]));
    assert!(said.contains(says) && said.contains("nothing was taken over"), "{said}");
    assert_eq!(here.read("snapshots/ssm/first.snap"), Some(accepted(LAW)));
}

#[cfg(unix)]
#[test]
fn a_link_in_an_artifact_is_not_followed() {
    let (here, there) = (Package::new(&["third"]), Package::new(&[]));
    there.write("secret", &file(&changed(&[WIDER])));
    fs::create_dir(there.path().join("snapshots")).unwrap();
    let (secret, link) =
        (there.path().join("secret"), there.path().join("snapshots/third.snap.new"));
    std::os::unix::fs::symlink(secret, link).unwrap();
    let (code, said) = here.run(&["accept", there.path().to_str().unwrap()], "");
    assert_eq!(code, 2);
    assert!(said.contains("no *.snap.new is below it"), "{said}");
}

#[test]
fn two_files_two_folders_and_two_revisions_are_compared() {
    let package = Package::new(&["ssm/first", "third"]);
    let git = |words: &[&str]| {
        let who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
        let done = Command::new("git").current_dir(package.path()).args(who).args(words).output();
        assert!(done.unwrap().status.success(), "git {words:?}");
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message=one"]);
    for case in ["ssm/first", "third"] {
        package.write(&format!("snapshots/{case}.snap"), &accepted(&changed(&[EXCHANGED])));
    }
    git(&["commit", "--quiet", "--all", "--message=two"]);
    package.write("old.snap", &accepted(LAW));
    fs::create_dir(package.path().join("before")).unwrap();
    let (code, text) = package.run(&["diff", "main~1", "main"], "");
    assert_eq!(code, 1);
    insta::assert_snapshot!("diff", text);
    let (code, text) = package.run(&["diff", "old.snap", "snapshots/third.snap"], "");
    assert_eq!(code, 1);
    assert!(text.contains("states (b, l, n) became (l, b, n)"), "{text}");
    let (code, text) = package.run(&["diff", "snapshots", "before"], "");
    assert_eq!((code, text.as_str()), (1, "gone: ssm/first.snap\ngone: third.snap\n"));
    assert_eq!(package.run(&["diff", "main", "main"], ""), (0, "nothing changed\n".into()));
    let (code, text) = package.run(&["diff", "main", "--output=x"], "");
    assert_eq!(code, 2, "{text}");
    let (code, text) = package.run(&["diff", "main", "nowhere"], "");
    assert_eq!(code, 2);
    assert!(
        text.contains("`nowhere` is no file or folder here, and git knows no revision"),
        "{text}"
    );
}
