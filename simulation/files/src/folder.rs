//! The lock on a folder into which a run writes its results.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

/// Keeps others that ask for it from writing into a folder, until it is dropped or the process ends, however
/// it ends.
///
/// ```
/// use paceline_files::FolderLock;
/// # let folder = tempfile::tempdir()?;
/// let lock = FolderLock::take(folder.path())?;
/// assert!(FolderLock::take(folder.path()).is_err());
/// drop(lock);
/// assert!(FolderLock::take(folder.path()).is_ok());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct FolderLock(#[expect(dead_code, reason = "it is held")] Option<File>);

impl FolderLock {
    /// Takes the lock. The error: somebody has it. Where folders cannot be opened or locked, as on some file
    /// systems of other hosts, all get it.
    pub fn take(folder: &Path) -> io::Result<Self> {
        let Ok(file) = File::open(folder) else { return Ok(Self(None)) };
        match file.try_lock() {
            Ok(()) => Ok(Self(Some(file))),
            Err(TryLockError::WouldBlock) => Err(io::Error::other("another run is writing there")),
            Err(TryLockError::Error(_)) => Ok(Self(None)),
        }
    }
}
