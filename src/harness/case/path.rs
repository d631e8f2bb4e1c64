//! Where cases lie, and what they are called.
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::path::{Path, PathBuf};

use super::error::{CaseError, CaseErrors, visible};

/// Folders inside folders below the root.
const MAX_FOLDERS: usize = 16;

/// The name of a case: its path below the root, `::` between the parts, without the extension. Tests and snapshots are
/// named after it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CasePath(Vec<String>);

impl CasePath {
    /// The name for `dense_ssm::bug_report`.
    ///
    /// # Errors
    /// A part that cannot be a file's name everywhere.
    pub fn new(name: &str) -> Result<Self, NameError> {
        let parts: Vec<String> = name.split("::").map(str::to_owned).collect();
        let wrong = parts.iter().find_map(|part| Some((part.clone(), misnamed(part)?)));
        match wrong {
            Some((part, help)) => Err(NameError { name: name.to_owned(), part, help }),
            None => Ok(Self(parts)),
        }
    }

    /// The parts, outermost folder first.
    pub fn parts(&self) -> &[String] {
        &self.0
    }

    /// The file of this case below `root`: the inverse of [`discover`], for one case, without reading a folder.
    pub fn file(&self, root: &Path) -> PathBuf {
        let below: PathBuf = self.0.iter().collect();
        // Added, not set: `with_extension` would cut a name at its last dot.
        let mut file = root.join(below).into_os_string();
        file.push(".yaml");
        file.into()
    }

    /// The first line of its file, by which an editor finds the schema that lies in the folder of all cases.
    pub fn schema_line(&self) -> String {
        let up = if self.0.len() == 1 { "./".to_owned() } else { "../".repeat(self.0.len() - 1) };
        format!("# yaml-language-server: $schema={up}schema.json\n")
    }
}

/// A name that no case can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{part}` in the case name `{name}` cannot name a case: {help}")]
pub struct NameError {
    /// The whole name.
    pub name: String,
    /// The part that is to blame.
    pub part: String,
    /// What to do about it.
    pub help: &'static str,
}

impl fmt::Display for CasePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("::"))
    }
}

/// Whether `text` can be part of a name of cases, variants and tags: letters, digits, `_` and `-`.
pub(super) fn is_name(text: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !text.is_empty() && text.chars().all(word)
}

/// Characters in a part of a case's name: with what is appended to it, a file's name may have 255 bytes.
const MAX_NAME: usize = 100;

/// Names that Windows keeps for devices, whatever their extension.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// Why `part` cannot be part of the name of a case, as what to do about it; nothing if it can.
fn misnamed(part: &str) -> Option<&'static str> {
    let lower = part.to_ascii_lowercase();
    let port = |name: &str| {
        lower.strip_prefix(name).is_some_and(|n| matches!(n.as_bytes(), [b'1'..=b'9']))
    };
    if !is_name(part) {
        Some("use letters, digits, `_` and `-`")
    } else if part.starts_with('-') {
        Some("begin with something else than `-`, by which options begin")
    } else if part.len() > MAX_NAME {
        Some("use 100 characters at most")
    } else if DEVICES.contains(&lower.as_str()) || port("com") || port("lpt") {
        Some("use another name: Windows keeps this one for a device")
    } else {
        None
    }
}

/// A case that was found and not yet read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseFile {
    /// Its name.
    pub path: CasePath,
    /// Where it lies: the root as given, then the path.
    pub file: PathBuf,
}

/// What lies below a root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovered {
    /// The cases, sorted by name.
    pub cases: Vec<CaseFile>,
    /// Folders and files that cannot be told apart from cases that were lost; they hide no case.
    pub errors: Option<CaseErrors>,
}

/// Finds every `*.yaml` below `root`. Hidden files are skipped, and so is everything of another extension, save other
/// spellings of this one, which are errors, as are a folder with no case in it, a link back to a folder that it lies in
/// and a `*.yaml` that is no regular file: reading a pipe would wait for a writer that may never come.
pub fn discover(root: &Path) -> Discovered {
    let mut walk = Walk::default();
    walk.folder(root, &[]);
    walk.cases.sort_by(|a, b| a.path.cmp(&b.path));
    let alike = alike(&walk.cases);
    walk.errors.extend(alike);
    Discovered { cases: walk.cases, errors: CaseErrors::collect(walk.errors) }
}

/// Cases whose names differ in capitals alone, of which each but the first is a fault.
fn alike(cases: &[CaseFile]) -> Vec<CaseError> {
    let mut known: HashMap<String, &CaseFile> = HashMap::new();
    let fault = |case: &CaseFile, other: &CaseFile| {
        let message = format!("`{}` differs from `{}` in capitals alone", case.path, other.path);
        let help = "rename one: on macOS and Windows both are one file, and so are their snapshots";
        CaseError::whole(&case.file, message).with_help(help)
    };
    let mut errors = Vec::new();
    for case in cases {
        match known.entry(case.path.to_string().to_lowercase()) {
            Entry::Occupied(other) => errors.push(fault(case, other.get())),
            Entry::Vacant(free) => {
                free.insert(case);
            }
        }
    }
    errors
}

/// The fault of a file that is there and can be no case, such as a pipe; nothing for one that may be read.
pub(super) fn irregular(file: &Path) -> Option<CaseError> {
    let kind = std::fs::metadata(file).ok().filter(|found| !found.is_file())?;
    let what = if kind.is_dir() { "is a folder" } else { "is a pipe, a socket or a device" };
    let error = CaseError::whole(file, format!("{what}, and a case is a regular file"));
    Some(error.with_help("remove it or give it another extension"))
}

#[derive(Default)]
struct Walk {
    cases: Vec<CaseFile>,
    errors: Vec<CaseError>,
    /// The folders that are open, without links.
    open: Vec<PathBuf>,
}

impl Walk {
    fn folder(&mut self, folder: &Path, parts: &[String]) {
        if parts.len() > MAX_FOLDERS {
            let message = format!("more than {MAX_FOLDERS} folders inside each other");
            return self.errors.push(CaseError::whole(folder, message));
        }
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        if self.open.contains(&real) {
            let error = CaseError::whole(folder, "a link to a folder that it lies in");
            return self.errors.push(error.with_help("remove the link: it has no end"));
        }
        self.open.push(real);
        self.entries(folder, parts);
        self.open.pop();
    }

    fn entries(&mut self, folder: &Path, parts: &[String]) {
        let known = (self.cases.len(), self.errors.len());
        match std::fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>) {
            Ok(found) => found.iter().for_each(|found| self.entry(&found.path(), parts)),
            Err(error) => {
                self.errors.push(CaseError::whole(folder, format!("cannot be read: {error}")));
            }
        }
        if known == (self.cases.len(), self.errors.len()) {
            let error = CaseError::whole(folder, "no case in this folder");
            self.errors.push(error.with_help("add a `.yaml` file or remove the folder"));
        }
    }

    fn entry(&mut self, file: &Path, parts: &[String]) {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with('.') {
            return;
        }
        let folder = file.is_dir();
        let (stem, extension) = match name.rsplit_once('.') {
            Some((stem, extension)) if !folder => (stem, extension),
            _ => (name.as_str(), ""),
        };
        let yaml = ["yaml", "yml"].iter().any(|known| extension.eq_ignore_ascii_case(known));
        if !folder && !yaml {
            return;
        }
        if !folder && extension != "yaml" {
            let error = CaseError::whole(file, "a case ends in `.yaml`");
            return self.errors.push(error.with_help("rename it to end in `.yaml`"));
        }
        if let Some(help) = misnamed(stem) {
            let message = format!("`{}` cannot name a case", visible(stem));
            return self.errors.push(CaseError::whole(file, message).with_help(help));
        }
        let parts = [parts, &[stem.to_owned()]].concat();
        if folder {
            return self.folder(file, &parts);
        }
        match irregular(file) {
            Some(error) => self.errors.push(error),
            None => self.cases.push(CaseFile { path: CasePath(parts), file: file.to_owned() }),
        }
    }
}
