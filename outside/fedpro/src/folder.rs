//! The folder from which modules of object models are read.
//!
//! Invariants: a name leads to a file below the folder or to nothing, whatever links and `..` are in it;
//! nothing but a plain file is opened, since a pipe would hold up everybody.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use thiserror::Error;

use crate::archive::MODULE_MAX;

/// A module that is not read.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum ModuleError {
    /// It is not there, or may not be read.
    #[error("the module {name:?} cannot be read: {error}")]
    Io { name: String, error: io::Error },
    /// It is outside of the folder.
    #[error("the module {name:?} is outside of the folder of modules, of which nothing else is read")]
    Outside { name: String },
    /// It is a folder, a device or a pipe.
    #[error("the module {name:?} is no file")]
    NoFile { name: String },
    /// It is longer than a module may be.
    #[error("the module {name:?} has more than {MODULE_MAX} bytes")]
    Long { name: String },
}

/// A folder with modules.
#[derive(Clone, Debug)]
pub struct ModuleFolder {
    /// Without links.
    root: PathBuf,
}

impl ModuleFolder {
    /// The folder at `path`, which is there.
    pub fn open(path: &Path) -> io::Result<Self> {
        let root = path.canonicalize()?;
        if root.is_dir() { Ok(Self { root }) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    /// Reads the module of this name: a path in the folder.
    pub fn read(&self, name: &str) -> Result<Bytes, ModuleError> {
        let failed = |error| ModuleError::Io { name: name.to_owned(), error };
        // Links and `..` are followed here, and only where they lead is opened.
        let path = self.root.join(name).canonicalize().map_err(failed)?;
        if !path.starts_with(&self.root) {
            return Err(ModuleError::Outside { name: name.to_owned() });
        }
        if !path.is_file() {
            return Err(ModuleError::NoFile { name: name.to_owned() });
        }
        let mut content = Vec::new();
        let file = File::open(&path).map_err(failed)?;
        file.take(MODULE_MAX as u64 + 1).read_to_end(&mut content).map_err(failed)?;
        if content.len() > MODULE_MAX {
            return Err(ModuleError::Long { name: name.to_owned() });
        }
        Ok(content.into())
    }
}
