//! Why a guest's image cannot be packed: the problem, and what is allowed instead.

use std::io;
use std::path::PathBuf;

/// Why a guest's image cannot be packed.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// A program is nowhere.
    #[error("there is no program {program:?} in Debian's packages for guests")]
    NoProgram {
        /// The program.
        program: String,
    },
    /// A path of this machine is no program.
    #[error("{path} is no program that a guest can run: {why}")]
    NotProgram {
        /// Where it is.
        path: PathBuf,
        /// Why.
        why: &'static str,
    },
    /// What a script of Debian's is for is missing.
    #[error("{path} is a script for {interpreter}, which is not in Debian's packages for guests")]
    NoInterpreter {
        /// The script.
        path: PathBuf,
        /// What runs it.
        interpreter: String,
    },
    /// A library is missing.
    #[error("{path} needs the library {library}, which is missing")]
    NoLibrary {
        /// The program, or one of its libraries.
        path: PathBuf,
        /// The library.
        library: String,
    },
    /// A package is not among those that were added.
    #[error("the package {package} was not added")]
    NoPackage {
        /// The package.
        package: String,
    },
    /// A module of the kernel is missing.
    #[error("the guests' kernel has no module {module}")]
    NoModule {
        /// The module.
        module: String,
    },
    /// A module of the kernel cannot be unpacked.
    #[error("the kernel's module {path} cannot be unpacked: {why}")]
    Packed {
        /// Where it is.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// A file cannot be read.
    #[error("{path} cannot be read: {source}")]
    Unreadable {
        /// Where it is.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl ImageError {
    /// What is allowed, or what helps.
    #[must_use]
    pub fn allowed(&self) -> String {
        match self {
            Self::NoProgram { .. } => "a program of Debian 12 whose package was added with `scripts/emulator add PACKAGE`, \
                 one of busybox, or an absolute path of this machine"
                .into(),
            Self::NoInterpreter { .. } => "a script whose interpreter was added too: `scripts/emulator add bash` (or perl, \
                 python3, ...)"
                .into(),
            Self::NotProgram { .. } => "a program for Linux on x86-64 (ELF), or a script for one".into(),
            Self::NoLibrary { .. } => {
                "a program whose libraries are all there; `scripts/emulator add PACKAGE` adds a package with all that it \
                 depends on"
                    .into()
            }
            Self::NoPackage { package } => {
                format!("packages that were added: run `scripts/emulator add {package}`")
            }
            Self::NoModule { .. } => "modules of the kernel that `scripts/emulator` gets".into(),
            Self::Packed { .. } => "modules that end in .ko, .ko.xz or .ko.zst; `scripts/emulator` gets them anew if its \
                 folder is removed"
                .into(),
            Self::Unreadable { .. } => "a file that exists and that you may read".into(),
        }
    }
}
