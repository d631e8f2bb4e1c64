//! What a checkpoint is refused for.
use std::fmt;
use std::path::{Path, PathBuf};

use crate::model::ConfigError;

/// A checkpoint that cannot be loaded or saved.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// A file that cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A folder without weights.
    #[error("{}: expected one of {expected}, found none", path.display())]
    Absent {
        /// The folder.
        path: PathBuf,
        /// The files that were looked for.
        expected: String,
    },
    /// A file that is not what its name says, or is cut short.
    #[error("{}: {message}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// A configuration that is refused.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Tensors that are not the configuration's.
    #[error("{}: {} tensors do not fit the configuration{}", path.display(), problems.len(), lines(problems))]
    Mismatch {
        /// The folder.
        path: PathBuf,
        /// All of them.
        problems: Vec<Problem>,
    },
    /// An error of candle's while a tensor is made.
    #[error(transparent)]
    Tensor(#[from] candle_core::Error),
}

/// One tensor that does not fit the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The configuration has it, the file does not.
    Missing {
        /// Its name.
        name: String,
        /// The expected shape.
        shape: Vec<usize>,
    },
    /// The file has it, the configuration does not.
    Extra {
        /// Its key in the file.
        name: String,
        /// Its shape.
        shape: Vec<usize>,
    },
    /// It has another shape.
    Shape {
        /// Its name.
        name: String,
        /// The configuration's shape.
        expected: Vec<usize>,
        /// The file's shape.
        actual: Vec<usize>,
    },
    /// It is not made of floats.
    DType {
        /// Its name.
        name: String,
        /// The file's dtype.
        actual: String,
    },
    /// It occurs more than once.
    Repeated {
        /// Its name.
        name: String,
        /// The keys that mean it.
        keys: Vec<String>,
    },
    /// The embeddings are tied, but the head is not a copy of them.
    Untied,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { name, shape } => write!(f, "missing   {name}: expected {shape:?}"),
            Self::Extra { name, shape } => write!(f, "extra     {name}: actual {shape:?}"),
            Self::Shape { name, expected, actual } => {
                write!(f, "shape     {name}: expected {expected:?}, actual {actual:?}")
            }
            Self::DType { name, actual } => {
                write!(f, "dtype     {name}: expected floats, actual {actual}")
            }
            Self::Repeated { name, keys } => {
                write!(f, "repeated  {name}: as {}", keys.join(" and "))
            }
            Self::Untied => write!(f, "untied    lm_head.weight: differs from the tied embeddings"),
        }
    }
}

impl CheckpointError {
    pub(super) fn format(path: &Path, message: impl fmt::Display) -> Self {
        // candle's errors print a backtrace behind their first line where backtraces are on.
        let message = message.to_string().lines().next().unwrap_or_default().to_string();
        Self::Format { path: path.into(), message }
    }

    pub(super) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::File { path: path.into(), source }
    }
}

fn lines(problems: &[Problem]) -> String {
    problems.iter().map(|problem| format!("\n  {problem}")).collect()
}
