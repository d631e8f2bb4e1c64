//! The cases of a test binary, and where their snapshots lie.

use std::path::{Path, PathBuf};

use crate::harness::case::{Case, CaseErrors, CaseFile, CasePath, discover};
use crate::harness::registry::Registry;
use crate::harness::snapshot::{Assert, claim};
use crate::harness::study::Laws;

/// What a test binary, or the command line, runs.
#[derive(Clone)]
pub struct Suite {
    /// The package's folder, absolute.
    pub root: PathBuf,
    /// The cases.
    pub cases: Cases,
    /// The subjects that cases can name.
    pub subjects: Registry,
    /// insta's assertion from the user's crate; without one, snapshots are compared and never written.
    pub assert: Option<Assert>,
    /// The test binary's name, for the line that reproduces a failure.
    pub binary: String,
    /// Whether that binary may know subjects that are unknown here.
    pub partial: bool,
    /// What the checks of a case need not infer anew.
    pub laws: Laws,
}

/// Where cases come from.
#[derive(Debug, Clone)]
pub enum Cases {
    /// A folder, relative to the package's: its snapshots lie in the folder `snapshots` beside it.
    Folder(PathBuf),
    /// Names and texts that were compiled in; they have no snapshots.
    Embedded(&'static [(&'static str, &'static str)]),
}

impl Suite {
    /// The suite of a package's folder of cases.
    pub fn new(
        manifest_dir: &str,
        cases: &str,
        binary: &str,
        subjects: Registry,
        assert: Assert,
    ) -> Self {
        // cargo and nextest name the folder at run time too, which is right where a binary was built elsewhere.
        let root = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| manifest_dir.into());
        let root = PathBuf::from(root);
        let cases = Cases::Folder(cases.into());
        let binary = binary.to_owned();
        Self {
            root,
            cases,
            subjects,
            assert: Some(assert),
            binary,
            partial: false,
            laws: Laws::default(),
        }
    }

    /// The cases' names and files, and what stands in the way of finding them all.
    pub(super) fn files(&self) -> (Vec<CaseFile>, Option<CaseErrors>) {
        match &self.cases {
            Cases::Folder(folder) => {
                let found = discover(folder);
                (found.cases, found.errors)
            }
            Cases::Embedded(texts) => {
                let names = texts.iter().filter_map(|(name, _)| CasePath::new(name).ok());
                let file = |path: CasePath| CaseFile { file: path.file(Path::new("cases")), path };
                (names.map(file).collect(), None)
            }
        }
    }

    /// Reads one of them.
    pub(super) fn load(&self, case: &CaseFile) -> Result<Case, CaseErrors> {
        let name = case.path.to_string();
        match &self.cases {
            Cases::Folder(_) => Case::load(&case.file, case.path.clone()),
            Cases::Embedded(texts) => {
                let text = texts.iter().find(|(known, _)| *known == name);
                let text = text.map_or("", |(_, text)| text);
                Case::parse(&case.file, case.path.clone(), text.as_bytes())
            }
        }
    }

    /// The file of a case, without looking at others.
    pub(super) fn file(&self, path: CasePath) -> Option<CaseFile> {
        let Cases::Folder(folder) = &self.cases else { return None };
        let file = path.file(folder);
        file.is_file().then_some(CaseFile { path, file })
    }

    /// The file of a case's snapshot, relative to the package.
    pub(in crate::harness) fn snapshot(&self, path: &CasePath) -> Option<PathBuf> {
        let Cases::Folder(folder) = &self.cases else { return None };
        Some(path.file(&folder.with_file_name("snapshots")).with_extension("snap"))
    }

    /// The folder of the snapshots, relative to the package.
    pub(in crate::harness) fn snapshots(&self) -> Option<PathBuf> {
        let Cases::Folder(folder) = &self.cases else { return None };
        Some(folder.with_file_name("snapshots"))
    }

    /// The case of that name, if it is there and can be read.
    pub(in crate::harness) fn case(&self, path: &CasePath) -> Option<Case> {
        self.load(&self.file(path.clone())?).ok()
    }

    /// Tells insta which snapshots have a case, whether it ran or not. Where a filter chose the tests, the snapshots of
    /// the package's other tests are claimed too: whether these still have an owner cannot be told from such a run.
    pub(super) fn claim_snapshots(&self, filtered: bool) {
        let (cases, _) = self.files();
        let paths = cases.iter().filter_map(|case| self.snapshot(&case.path));
        let mut paths: Vec<PathBuf> =
            paths.map(|path| self.root.join(path)).filter(|path| path.is_file()).collect();
        if filtered {
            let others = ["tests", "examples", "benches", "src"];
            paths.extend(others.iter().flat_map(|folder| snapshots_below(&self.root.join(folder))));
        }
        if let Err(error) = claim(&paths) {
            eprintln!("warning: the list of owned snapshots cannot be written: {error}");
        }
    }
}

/// Every snapshot in a folder and those in it; links are not followed.
fn snapshots_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(path),
                Ok(kind) if kind.is_file() && path.extension().is_some_and(|e| e == "snap") => {
                    found.push(path);
                }
                _ => {}
            }
        }
    }
    found
}
