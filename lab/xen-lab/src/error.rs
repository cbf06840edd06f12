//! The errors of the lab: what it could not do, and whether that is a mistake of the user.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why the lab cannot continue.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum LabError {
    /// This machine lacks something that the lab needs.
    #[error("skipped: {0}")]
    Skipped(String),
    /// The folder of our sources lacks a part.
    #[error("{} is not a folder of hypervisor sources: it contains no {lacks}; --sources names the folder", path.display())]
    Sources { path: PathBuf, lacks: &'static str },
    /// Our sources were changed while they were read.
    #[error("{} was changed while it was read", .0.display())]
    Changed(PathBuf),
    /// A boot's description is not allowed.
    #[error("boot {boot:?}: {problem}")]
    Boot {
        boot: String,
        /// What is wrong, and what is allowed.
        problem: String,
    },
    /// A program that was started has failed.
    #[error("{what} failed ({status}):\n{printed}")]
    Command {
        what: String,
        status: String,
        /// The end of what it printed.
        printed: String,
    },
    /// A file or a program cannot be used.
    #[error("cannot {doing} {}: {reason}", path.display())]
    Io { doing: &'static str, path: PathBuf, reason: io::Error },
    /// A stop was requested.
    #[error("stopped")]
    Stopped,
}

impl LabError {
    /// Whether the caller has made a mistake.
    pub fn is_mistake(&self) -> bool {
        matches!(self, Self::Sources { .. } | Self::Boot { .. })
    }
}

/// Makes an error from a failure to do something with a path.
pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LabError {
    let path = path.to_path_buf();
    move |reason| LabError::Io { doing, path, reason }
}
