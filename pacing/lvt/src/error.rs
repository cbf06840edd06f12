//! What can be wrong with a page. A program that meets one of these runs on unpaced, with
//! [`crate::Publisher::absent`].

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::layout::{HeaderError, MAX_SLOTS, RECORD_BYTES, VERSION};

/// Why a page cannot be made, read or published on. A simulation goes on without one: it is not paced then.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum Error {
    /// The number of slots asked for is not allowed.
    #[error("an LVT page has 1 to {MAX_SLOTS} slots, not {0}")]
    SlotCount(u32),
    /// The system refuses.
    #[error("LVT page {path}: {doing}: {source}")]
    System { path: PathBuf, doing: &'static str, source: io::Error },
    /// Something else than a file or a BPF map.
    #[error("LVT page {0}: neither a regular file nor a pinned BPF map")]
    Kind(PathBuf),
    /// A BPF map of another shape.
    #[error(
        "LVT page {path}: the BPF map is of type {map_type} with values of {value_bytes} bytes and flags {flags:#x}; it has \
         to be an array (type 2) with values of {RECORD_BYTES} bytes that can be mapped (flag 0x400)"
    )]
    Map { path: PathBuf, map_type: u32, value_bytes: u32, flags: u32 },
    /// The page belongs to another user.
    #[error("LVT page {path}: belongs to user {owner}, and this is user {user}")]
    ForeignOwner { path: PathBuf, owner: u32, user: u32 },
    /// Others may read or write the page.
    #[error("LVT page {path}: its mode {mode:o} gives other users access; it must be 600")]
    Mode { path: PathBuf, mode: u32 },
    /// Shorter or longer than its header says, or than a page can be.
    #[error("LVT page {path}: has {bytes} bytes where {expected} are expected")]
    Size { path: PathBuf, bytes: u64, expected: u64 },
    /// The file is something else.
    #[error("LVT page {0}: not an LVT page (it does not begin with PACELVT)")]
    NotAPage(PathBuf),
    /// Made by another version of Paceline.
    #[error("LVT page {path}: has version {found} of the layout, and this program knows version {VERSION}")]
    Version { path: PathBuf, found: u32 },
    /// Made with records of another size.
    #[error("LVT page {path}: has records of {found} bytes instead of {RECORD_BYTES}")]
    RecordBytes { path: PathBuf, found: u32 },
    /// The header has another number of slots than before: it was overwritten.
    #[error("LVT page {path}: its header has changed from {before} slots to {now}")]
    Changed { path: PathBuf, before: u32, now: u32 },
    /// Every slot has an owner that lives.
    #[error("LVT page {path}: all {slots} slots are taken")]
    Full { path: PathBuf, slots: u32 },
    /// The calling thread has a slot on this page already.
    #[error("LVT page {path}: this thread publishes on it already, in slot {index}")]
    Claimed { path: PathBuf, index: u32 },
    /// A guest's memory is not as long as a page can be.
    #[error(
        "guest memory {path}: has {bytes} bytes; it has to be a multiple of {RECORD_BYTES} from 128 to {most}, such as size=64K \
         in QEMU's options", most = crate::layout::page_bytes(MAX_SLOTS)
    )]
    GuestBytes { path: PathBuf, bytes: u64 },
    /// A process is no virtual machine, or does not name its threads.
    #[error(
        "process {0} has no thread of a virtual CPU (named \"CPU 0/KVM\", \"CPU 0/TCG\" or \"ALL CPUs/TCG\"); QEMU names them \
         with -name guest=NAME,debug-threads=on"
    )]
    NoVcpu(u32),
    /// When the calling thread was started cannot be read.
    #[error("/proc does not give the start time of this thread: {0}")]
    NoProc(String),
}

impl Error {
    pub(crate) fn system(path: &std::path::Path, doing: &'static str, source: impl Into<io::Error>) -> Self {
        Self::System { path: path.to_owned(), doing, source: source.into() }
    }

    pub(crate) fn header(path: &std::path::Path, error: HeaderError) -> Self {
        let path = path.to_owned();
        match error {
            HeaderError::Magic => Self::NotAPage(path),
            HeaderError::Version(found) => Self::Version { path, found },
            HeaderError::RecordBytes(found) => Self::RecordBytes { path, found },
        }
    }
}
