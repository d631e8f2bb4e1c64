//! The arguments of libtest, put into words that libtest-mimic knows.

/// Words for libtest-mimic, and the filters if there are several, which it cannot take.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Translated {
    pub(super) words: Vec<String>,
    /// Empty, or at least two: a test is chosen by any of them.
    pub(super) filters: Vec<String>,
}

/// Options whose value is the next word.
const WITH_VALUE: [&str; 6] =
    ["--test-threads", "--skip", "--logfile", "--color", "--format", "-Z"];

/// Options of libtest that change nothing here: the order is fixed, nothing is captured, each failure is reported.
const WITHOUT_EFFECT: [&str; 7] = [
    "--shuffle",
    "--report-time",
    "--ensure-time",
    "--fail-fast",
    "--force-run-in-process",
    "--exclude-should-panic",
    "--no-run",
];

impl Translated {
    /// From the program's own words, its name first, and the value of `RUST_TEST_THREADS`.
    pub(super) fn new(words: Vec<String>, threads: Option<String>) -> Self {
        let mut translated = Self { words: Vec::new(), filters: Vec::new() };
        let mut words = words.into_iter();
        translated.words.extend(words.next());
        while let Some(word) = words.next() {
            let option = word.split('=').next().unwrap_or_default();
            if word == "--no-capture" {
                translated.words.push("--nocapture".into());
            } else if option == "--shuffle-seed" {
                if option == word {
                    words.next();
                }
            } else if WITHOUT_EFFECT.contains(&option) {
            } else if word == "--" {
                translated.filters.extend(words.by_ref());
            } else if word.starts_with('-') {
                let value = WITH_VALUE.contains(&word.as_str()).then(|| words.next()).flatten();
                translated.words.push(word);
                translated.words.extend(value);
            } else {
                translated.filters.push(word);
            }
        }
        let given = translated.words.iter().any(|word| word.starts_with("--test-threads"));
        // The flag goes before the variable, as in libtest.
        if let (Some(threads), false) = (threads, given) {
            translated.words.push(format!("--test-threads={threads}"));
        }
        if translated.filters.len() == 1 {
            translated.words.extend(["--".into(), translated.filters.remove(0)]);
        }
        translated
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::nothing("", "", "")]
    #[case::nextest("--list --format terse", "--list --format terse", "")]
    #[case::one("a::b --exact --nocapture", "--exact --nocapture -- a::b", "")]
    #[case::several("a b --exact", "--exact", "a b")]
    #[case::no_capture("--no-capture", "--nocapture", "")]
    #[case::values(
        "--skip a --color=always --test-threads 3",
        "--skip a --color=always --test-threads 3",
        ""
    )]
    #[case::shuffled("--shuffle --shuffle-seed 7 --shuffle-seed=7 a", "-- a", "")]
    #[case::time("--report-time=plain -Z unstable-options", "-Z unstable-options", "")]
    fn libtests_words_are_translated(#[case] from: &str, #[case] to: &str, #[case] filters: &str) {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let translated = Translated::new(words(&format!("cases {from}")), None);
        assert_eq!(translated.words, words(&format!("cases {to}")));
        assert_eq!(translated.filters, words(filters));
    }

    #[rstest]
    #[case("", "--test-threads=2")]
    #[case("--test-threads=4", "--test-threads=4")]
    fn the_variable_counts_unless_the_flag_is_there(#[case] from: &str, #[case] to: &str) {
        let words = ["cases", from].map(str::to_owned).into_iter().filter(|word| !word.is_empty());
        assert_eq!(Translated::new(words.collect(), Some("2".into())).words, ["cases", to]);
    }
}
