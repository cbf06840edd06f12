//! A file that is written entry after entry, and that may be cut short only between two entries.
//!
//! Invariant: where a regular file cannot take everything, it ends with the last entry that it could take as
//! a whole. What follows a failure is counted and not written.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use crate::place::Place;

/// Bytes that are written at once.
const BLOCK_BYTES: usize = 1 << 16;
/// So far before what has been written ends of entries are known, for a mark in place of the last ones.
const KNOWN_BYTES: u64 = 1 << 12;

/// Why a file does not hold everything. Whatever wrote it can go on; what is missing is not written later.
#[derive(Debug)]
pub struct CutError {
    /// What the system says.
    pub reason: io::Error,
    /// Entries in the file.
    pub kept: u64,
    /// Entries that should be in it.
    pub entries: u64,
}

/// A file that is written entry after entry. The first failure is kept until the end.
///
/// ```
/// use paceline_files::Entries;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("trace");
/// let mut trace = Entries::create(&path)?;
/// trace.write(b"one\n");
/// trace.write(b"two\n");
/// trace.finish().expect("there is room");
/// assert_eq!(std::fs::read(&path)?, b"one\ntwo\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Entries {
    file: File,
    is_regular: bool,
    block: Vec<u8>,
    /// Bytes in the file.
    written: u64,
    /// Where entries end: those of the block, and of some bytes before it.
    ends: VecDeque<u64>,
    entries: u64,
    kept: u64,
    failure: Option<io::Error>,
}

impl Entries {
    /// Empties the file at `path`, or makes it, to be written under its name as entries come. What is not a
    /// regular file is opened. Errors: it cannot be written, or another run writes it.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::create_reporting_wait(path, || ())
    }

    /// As [`Entries::create`]. `wait` is called before this waits for somebody to read a FIFO.
    pub fn create_reporting_wait(path: &Path, wait: impl FnOnce()) -> io::Result<Self> {
        let file = match Place::find(path, wait)? {
            Place::Stream(file) => return Ok(Self::over(file, false)),
            Place::Regular(..) => OpenOptions::new().write(true).create(true).truncate(false).open(path)?,
        };
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(io::Error::other("another run is writing there"));
        }
        file.set_len(0)?;
        Ok(Self::over(file, true))
    }

    /// Writes into a file that is open, and empty if it is a regular one.
    pub fn over(file: File, is_regular: bool) -> Self {
        Self {
            file,
            is_regular,
            block: Vec::with_capacity(BLOCK_BYTES),
            written: 0,
            ends: VecDeque::new(),
            entries: 0,
            kept: 0,
            failure: None,
        }
    }

    /// Writes an entry.
    pub fn write(&mut self, entry: &[u8]) {
        self.entries += 1;
        if self.failure.is_some() {
            return;
        }
        self.block.extend_from_slice(entry);
        self.ends.push_back(self.written + self.block.len() as u64);
        if self.block.len() >= BLOCK_BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let in_block = self.ends.iter().filter(|end| **end > self.written).count() as u64;
        match self.file.write_all(&self.block) {
            Ok(()) => {
                self.kept += in_block;
                self.written += self.block.len() as u64;
                let known = self.written.saturating_sub(KNOWN_BYTES);
                // One of them stays, so that there is a place to cut at.
                while self.ends.get(1).is_some_and(|end| *end < known) {
                    self.ends.pop_front();
                }
            }
            Err(reason) => {
                self.failure = Some(reason);
                if self.is_regular {
                    let there = self.file.metadata().map_or(self.written, |data| data.len());
                    self.kept += in_block;
                    self.cut(there);
                }
            }
        }
        self.block.clear();
    }

    /// Cuts the file after the last entry that ends within `most` bytes.
    fn cut(&mut self, most: u64) -> bool {
        while self.ends.back().is_some_and(|end| *end > most) {
            self.ends.pop_back();
            self.kept -= 1;
        }
        let end = self.ends.back().copied();
        // Before the first known end there may be more entries, or none.
        let end = end.or((self.kept == 0).then_some(0));
        end.is_some_and(|end| {
            self.file.set_len(end).and_then(|()| self.file.seek(SeekFrom::Start(end))).is_ok()
        })
    }

    /// Writes what is left. The error is the first one that there was.
    pub fn finish(&mut self) -> Result<(), CutError> {
        if self.failure.is_none() {
            self.flush();
        }
        let Some(reason) = self.failure.take() else { return Ok(()) };
        Err(CutError { reason, kept: self.kept, entries: self.entries })
    }

    /// The same; a regular file that has been cut ends with a mark, which `mark` makes of what is kept. There
    /// may be no room for it.
    pub fn finish_or_mark(&mut self, mark: impl Fn(&CutError) -> Vec<u8>) -> Result<(), CutError> {
        let Err(cut) = self.finish() else { return Ok(()) };
        if !self.is_regular {
            return Err(cut);
        }
        // Numbers may get shorter as entries make room.
        let bytes = mark(&cut).len() as u64;
        let there = self.file.metadata().map_or(0, |data| data.len());
        if there < bytes || !self.cut(there - bytes) {
            return Err(cut);
        }
        let cut = CutError { kept: self.kept, ..cut };
        // Whether it is there or not, the caller says it too.
        let _ = self.file.write_all(&mark(&cut));
        Err(cut)
    }
}

impl Drop for Entries {
    fn drop(&mut self) {
        // Of a run that has failed, what has happened until then is worth having.
        if self.failure.is_none() {
            self.flush();
        }
    }
}
