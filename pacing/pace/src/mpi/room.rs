//! The room: memory that the MPI processes under a pacer share, with a cell for each, in which they sleep and
//! wake each other.
//!
//! Its layout is described in `shim/README.md` and defined in `shim/bell.h`. The pacer creates it and does
//! not access it later.
//!
//! Invariant: no process can shrink or grow it, so that no access to it can kill a process that has mapped
//! it.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{self, MemfdFlags, Mode, SealFlags};

/// The environment variable that names the room.
pub const ROOM_ENV: &str = "PACELINE_MPI";
/// How many processes have a cell in a room. Those beyond that yield, and do not sleep on bells.
pub const ROOM_CELLS: u32 = 1024;

const MAGIC: [u8; 8] = *b"PACEMPI\0";
const VERSION: u32 = 1;
const CELL_BYTES: u64 = 64;

/// A room. It exists as long as this value or a process that has mapped it.
#[derive(Debug)]
pub struct Room {
    path: PathBuf,
    /// Keeps the file to which `path` leads.
    _file: File,
}

impl Room {
    /// Makes an empty room of [`ROOM_CELLS`] cells in a sealed memory file.
    ///
    /// # Errors
    ///
    /// The system's error if such a file cannot be created.
    pub fn create() -> io::Result<Self> {
        let file =
            File::from(fs::memfd_create("paceline-mpi", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
        fs::fchmod(&file, Mode::RUSR | Mode::WUSR)?;
        file.set_len(CELL_BYTES * (u64::from(ROOM_CELLS) + 1))?;
        let mut header = [0; 16];
        header[..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_ne_bytes());
        header[12..].copy_from_slice(&ROOM_CELLS.to_ne_bytes());
        file.write_all_at(&header, 0)?;
        // The size is sealed and the content is not: processes write to their cells.
        fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()).into();
        Ok(Self { path, _file: file })
    }

    /// The room's path, for [`ROOM_ENV`]. Processes of this user can open it as long as this value lives.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_is_empty_and_keeps_its_size() {
        let room = Room::create().expect("memory files can be made");
        let bytes = std::fs::read(room.path()).expect("its owner can read it");
        assert_eq!(bytes.len(), 64 * 1025);
        assert_eq!(&bytes[..8], b"PACEMPI\0");
        assert!(bytes[16..].iter().all(|byte| *byte == 0));
        let file = File::options().write(true).open(room.path()).expect("its owner can write to it");
        assert!(file.set_len(64).is_err() && file.set_len(1 << 20).is_err(), "it is sealed");
    }
}
