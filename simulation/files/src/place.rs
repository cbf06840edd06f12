//! What a path names, before anything is written: a regular file to be replaced, or something to be opened
//! and written.
//!
//! Invariant: nothing here changes a file. A path that may not be opened for writing is refused, so that
//! whoever may not write a file cannot replace it either, and a symbolic link that the system does not follow
//! is not followed here.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Symbolic links that are followed one after the other, as many as Linux follows.
const MOST_LINKS: u32 = 40;

/// What a path names.
#[derive(Debug)]
pub(crate) enum Place {
    /// A regular file, or none yet: its path without symbolic links at the end, and what it is now.
    Regular(PathBuf, Option<Metadata>),
    /// Something that takes what is written to it: a FIFO, a device, or an open file of this process.
    Stream(File),
}

/// What `path` names if it is neither a regular file nor missing, with its article: "a folder", "a FIFO".
pub fn irregular(path: &Path) -> Option<&'static str> {
    path.metadata().ok().and_then(|data| kind(&data))
}

fn kind(data: &Metadata) -> Option<&'static str> {
    if data.is_file() {
        return None;
    }
    if data.is_dir() {
        return Some("a folder");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let found = data.file_type();
        if found.is_fifo() {
            return Some("a FIFO");
        }
        if found.is_char_device() || found.is_block_device() {
            return Some("a device");
        }
        if found.is_socket() {
            return Some("a socket");
        }
    }
    Some("no regular file")
}

impl Place {
    /// Looks at a path. `wait` is called before this waits for somebody to read a FIFO.
    pub(crate) fn find(path: &Path, wait: impl FnOnce()) -> io::Result<Self> {
        if path.as_os_str().is_empty() || path.file_name().is_none() && !path.is_dir() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "it has no file name"));
        }
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") && !path.is_dir() {
            return Err(io::Error::new(ErrorKind::NotFound, "there is no such folder"));
        }
        let data = match path.metadata() {
            Ok(data) => Some(data),
            Err(reason) if reason.kind() == ErrorKind::NotFound => None,
            Err(reason) => return Err(reason),
        };
        if data.as_ref().is_some_and(Metadata::is_dir) {
            return Err(io::Error::new(ErrorKind::IsADirectory, "it is a folder"));
        }
        if let Some(open) = data.as_ref().and_then(of_this_process) {
            return open.map(Self::Stream);
        }
        if data.as_ref().is_some_and(|data| kind(data).is_some()) {
            return open_stream(path, wait).map(Self::Stream);
        }
        let Some(resolved) = follow(path)? else {
            // A name of an open file, under which there is no other: whoever opened it has said whether it is
            // to be emptied.
            return OpenOptions::new().append(true).open(path).map(Self::Stream);
        };
        // Asks for permission by the name that was given: the system may refuse to follow a link in a folder
        // that all may write.
        match OpenOptions::new().write(true).open(path) {
            Ok(_) => Ok(Self::Regular(resolved, data)),
            Err(reason) if reason.kind() == ErrorKind::NotFound => Ok(Self::Regular(resolved, None)),
            Err(reason) => Err(reason),
        }
    }
}

/// Standard output or standard error, if `data` is of the same file: two descriptions of one file would
/// overwrite each other.
#[cfg(unix)]
fn of_this_process(data: &Metadata) -> Option<io::Result<File>> {
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;
    let streams = [io::stdout().as_fd().try_clone_to_owned(), io::stderr().as_fd().try_clone_to_owned()];
    let same = |file: &File| {
        file.metadata().is_ok_and(|found| (found.dev(), found.ino()) == (data.dev(), data.ino()))
    };
    streams.into_iter().flatten().map(File::from).find(same).map(Ok)
}

#[cfg(not(unix))]
fn of_this_process(_data: &Metadata) -> Option<io::Result<File>> {
    None
}

/// Opens what is no regular file.
#[cfg(unix)]
fn open_stream(path: &Path, wait: impl FnOnce()) -> io::Result<File> {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    use rustix::io::Errno;
    use std::os::unix::fs::OpenOptionsExt;
    // A terminal that is written to must not become that of this process.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
    let file = match OpenOptions::new().write(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(reason) if reason.raw_os_error() == Some(Errno::NXIO.raw_os_error()) && is_fifo(path) => {
            wait();
            return OpenOptions::new().write(true).open(path);
        }
        Err(reason) => return Err(reason),
    };
    // Writing waits for room.
    let flags = fcntl_getfl(&file)?;
    fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
    Ok(file)
}

#[cfg(unix)]
fn is_fifo(path: &Path) -> bool {
    irregular(path) == Some("a FIFO")
}

#[cfg(not(unix))]
fn open_stream(path: &Path, _wait: impl FnOnce()) -> io::Result<File> {
    OpenOptions::new().write(true).open(path)
}

/// Follows symbolic links to the place of the file, whether it is there or not; nothing where the path is a
/// name of an open file of a process, such as `/dev/fd/5`, which is no link that could be replaced at its
/// end.
fn follow(path: &Path) -> io::Result<Option<PathBuf>> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        if is_in_list_of_open_files(&path) {
            return Ok(None);
        }
        match fs::read_link(&path) {
            Ok(target) => path = folder_of(&path).join(target),
            // It is no link, or it is not there.
            Err(reason) if matches!(reason.kind(), ErrorKind::InvalidInput | ErrorKind::NotFound) => {
                return Ok(Some(path));
            }
            Err(reason) => return Err(reason),
        }
    }
    Err(io::Error::other("too many symbolic links lead on from it"))
}

fn is_in_list_of_open_files(path: &Path) -> bool {
    // Most paths are not looked at twice: the list is a folder of numbers.
    let number =
        path.file_name().is_some_and(|name| name.to_str().is_some_and(|name| name.parse::<u32>().is_ok()));
    let folder = number.then(|| folder_of(path).canonicalize().ok()).flatten();
    folder.is_some_and(|folder| folder.starts_with("/proc") && folder.ends_with("fd"))
}

/// The folder of a file; `.` where its path names none.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
