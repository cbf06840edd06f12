//! A file that gets its content as a whole.
//!
//! A regular file is written beside its place, brought to the disk, and renamed. Some cannot be replaced so:
//! one whose owner cannot be kept, one in a folder in which no file can be made, one that is a mount point.
//! These are written in place once the content is complete.
//!
//! Invariants: the lock on an unfinished file is held from before anything is written to it; every unfinished
//! file of this process that has not got its name is in [`UNFINISHED`].

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Seek};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::attributes;
use crate::leftovers::{self, is_at};
use crate::place::{Place, folder_of};

/// The unfinished files of this process.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// So often another name is tried for an unfinished file.
const MOST_TRIES: u32 = 100;

/// Removes the unfinished files of this process: for a program that ends in the middle of writing.
pub fn discard_unfinished() {
    for path in std::mem::take(&mut *unfinished()) {
        // It may have got its name just now.
        let _ = fs::remove_file(path);
    }
}

fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file that is being written, and gets its name when it is complete; see the crate. Dropped before, it
/// leaves nothing.
///
/// ```
/// use paceline_files::NewFile;
/// use std::io::Write;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("summary.json");
/// let mut file = NewFile::begin(&path)?;
/// file.content()?.write_all(b"{}\n")?;
/// assert!(!path.exists());
/// file.publish()?;
/// assert_eq!(std::fs::read(&path)?, b"{}\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct NewFile {
    way: Way,
}

#[derive(Debug)]
enum Way {
    /// Written beside the file of this path.
    Beside { file: File, beside: PathBuf, path: PathBuf, replaces: bool },
    /// Written where it is.
    InPlace(File),
    /// Written to what is no regular file.
    Stream(File),
}

/// A lock on a file, until it is dropped or the process ends: others cannot begin to write that file.
#[derive(Debug)]
pub struct Lock(File);

impl Lock {
    /// Locks the file at `path`, if there is one. The error: somebody else has locked it. Where there are no
    /// locks, nobody has.
    pub fn take(path: &Path) -> io::Result<Option<Self>> {
        // Some file systems want a file that is locked to be open for writing.
        let Ok(file) = OpenOptions::new().read(true).write(true).open(path) else { return Ok(None) };
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Err(taken()),
            Err(TryLockError::Error(_)) => Ok(None),
        }
    }

    /// Whether it is on the file that is at `path` now.
    pub fn is_at(&self, path: &Path) -> bool {
        is_at(&self.0, path)
    }
}

fn taken() -> io::Error {
    io::Error::other("another run is writing there")
}

impl NewFile {
    /// Begins to write the file at `path`, and removes what killed processes have left of it. Errors: it
    /// cannot be written, or another process is writing it.
    pub fn begin(path: &Path) -> io::Result<Self> {
        Self::begin_reporting_wait(path, || ())
    }

    /// As [`NewFile::begin`]. `wait` is called before this waits for somebody to read a FIFO.
    pub fn begin_reporting_wait(path: &Path, wait: impl FnOnce()) -> io::Result<Self> {
        let (path, old) = match Place::find(path, wait)? {
            Place::Stream(file) => return Ok(Self { way: Way::Stream(file) }),
            Place::Regular(path, old) => (path, old),
        };
        let (file, beside) = match create_beside(&path) {
            Ok(made) => made,
            Err(reason) if old.is_some() && is_of_folder(&reason) => return Self::in_place(&path),
            Err(reason) => return Err(of_folder(&path, reason)),
        };
        let (folder, name) = (folder_of(&path), path.file_name().unwrap_or_default());
        let found = leftovers::remove_of(folder, name, beside.file_name());
        let mut new = Self { way: Way::Beside { file, beside, path, replaces: true } };
        if found.owned > 0 {
            return Err(taken());
        }
        // Before there is any content: it may be for few to read.
        if let (Some(old), Way::Beside { file, path, replaces, .. }) = (&old, &mut new.way) {
            *replaces = attributes::take_over(file, path, old)?;
        }
        Ok(new)
    }

    fn in_place(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(taken()),
            _ => Ok(Self { way: Way::InPlace(file) }),
        }
    }

    /// Whether the content goes to something that is no regular file, such as a FIFO.
    pub fn is_stream(&self) -> bool {
        matches!(self.way, Way::Stream(_))
    }

    /// Whether the old file keeps its content until this one is complete.
    pub fn is_beside(&self) -> bool {
        matches!(self.way, Way::Beside { .. })
    }

    /// Where the content is to be written, from its beginning; what was written before is gone.
    pub fn content(&mut self) -> io::Result<&mut File> {
        match &mut self.way {
            Way::Stream(file) => Ok(file),
            Way::Beside { file, .. } | Way::InPlace(file) => {
                file.set_len(0)?;
                file.rewind()?;
                Ok(file)
            }
        }
    }

    /// Brings the content to the disk, and gives the file its name.
    pub fn publish(self) -> io::Result<()> {
        self.publish_locked().map(drop)
    }

    /// The same, and keeps others from writing it further on; nothing where there is no lock on it.
    pub fn publish_locked(mut self) -> io::Result<Option<Lock>> {
        let (file, beside, path, replaces) = match &mut self.way {
            // Pipes and devices have nothing to bring to a disk.
            Way::Stream(_) => return Ok(None),
            Way::InPlace(file) => {
                file.sync_all()?;
                return Ok(Some(Lock(file.try_clone()?)));
            }
            Way::Beside { file, beside, path, replaces } => (file, beside, path, *replaces),
        };
        file.sync_all()?;
        // Somebody may have made one, or changed who may read it, since it was begun.
        let old = path.symlink_metadata().ok();
        let replaces = match &old {
            Some(old) if old.is_file() => replaces && attributes::take_over(file, path, old)?,
            Some(_) => false,
            None => true,
        };
        if !replaces {
            return copy(file, path);
        }
        match fs::rename(&*beside, &*path) {
            Ok(()) => {}
            // It is a mount point.
            Err(reason) if matches!(reason.kind(), ErrorKind::ResourceBusy | ErrorKind::CrossesDevices) => {
                return copy(file, path);
            }
            Err(reason) if reason.kind() == ErrorKind::NotFound => {
                // The folder was removed, and the name with it; the content is still there.
                fs::create_dir_all(folder_of(path))?;
                let (mut again, name) = create_beside(path)?;
                file.rewind()?;
                let written = io::copy(file, &mut again).and_then(|_| again.sync_all());
                if let Err(reason) = written.and_then(|()| fs::rename(&name, &*path)) {
                    forget(&name);
                    return Err(reason);
                }
                unfinished().remove(&name);
                *file = again;
            }
            Err(reason) => return Err(reason),
        }
        unfinished().remove(&*beside);
        sync_folder(folder_of(path))?;
        let (locked, rest) = (file.try_clone()?, file.try_clone()?);
        // It has its name: there is nothing to remove.
        self.way = Way::Stream(rest);
        Ok(Some(Lock(locked)))
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Way::Beside { beside, .. } = &self.way {
            forget(beside);
        }
    }
}

/// Removes an unfinished file. The first failure is the one to report.
fn forget(beside: &Path) {
    let _ = fs::remove_file(beside);
    unfinished().remove(beside);
}

/// Makes an unfinished file, and locks it.
fn create_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    let name = path.file_name().ok_or_else(|| io::Error::other("it has no file name"))?;
    for _ in 0..MOST_TRIES {
        let beside = path.with_file_name(leftovers::new_name(name));
        unfinished().insert(beside.clone());
        let made = OpenOptions::new().read(true).write(true).create_new(true).open(&beside);
        let file = match made {
            Ok(file) => file,
            Err(reason) => {
                unfinished().remove(&beside);
                match reason.kind() {
                    // A process with this number has left it, or has it in another container.
                    ErrorKind::AlreadyExists => continue,
                    _ => return Err(reason),
                }
            }
        };
        // Whoever looks for leftovers may have it for a moment, and remove it. Some file systems have no
        // locks.
        if file.lock().is_err() || is_at(&file, &beside) {
            return Ok((file, beside));
        }
        unfinished().remove(&beside);
    }
    Err(io::Error::other("no name is left for the file in which it is made"))
}

/// Whether a file cannot be made because of the folder that it would be in.
fn is_of_folder(reason: &io::Error) -> bool {
    matches!(reason.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

/// Says of which folder it is that no file can be made there.
fn of_folder(path: &Path, reason: io::Error) -> io::Error {
    let folder = folder_of(path).display();
    match reason.kind() {
        ErrorKind::NotFound => io::Error::new(reason.kind(), format!("there is no folder {folder}")),
        _ if is_of_folder(&reason) => {
            io::Error::new(reason.kind(), format!("no file can be made in the folder {folder}: {reason}"))
        }
        _ => reason,
    }
}

/// Writes the content of `file` over that of the file at `path`.
fn copy(file: &mut File, path: &Path) -> io::Result<Option<Lock>> {
    file.rewind()?;
    let mut to = OpenOptions::new().write(true).open(path)?;
    if to.metadata()?.is_file() {
        if matches!(to.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(taken());
        }
        to.set_len(0)?;
        io::copy(file, &mut to)?;
        to.sync_all()?;
        return Ok(Some(Lock(to)));
    }
    io::copy(file, &mut to)?;
    Ok(None)
}

/// Brings the names in a folder to the disk, where the system lets that be done.
fn sync_folder(folder: &Path) -> io::Result<()> {
    let Ok(file) = File::open(folder) else { return Ok(()) };
    match file.sync_all() {
        // Some file systems cannot.
        Err(reason) if matches!(reason.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        synced => synced,
    }
}
