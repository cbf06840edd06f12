//! Writing a checkpoint: a file under another name first, then synchronized and renamed.
//!
//! The two halves are apart because the run stands still during the first only. Invariant: the writer holds the lock on
//! the unfinished file, so that two runs never write into the same one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use paceline_kernel::{Model, Origin, World};
use serde::Serialize;
use xxhash_rust::xxh3::Xxh3;

use super::{CheckpointError, Checkpoints, MAGIC, OPENING_BYTES, VERSION};

/// Bytes that are hashed and written at once.
const BLOCK_BYTES: usize = 1 << 18;

/// How a model's worlds are written: a plain function, so that only runs with checkpoints need a model that can be serialized.
pub(crate) struct Codec<M: Model>(fn(&Origin, &World<M>, &mut Sink<'_>) -> Result<(), postcard::Error>);

impl<M: Model> Codec<M>
where
    M::State: Serialize,
    M::Event: Serialize,
    M::Output: Serialize,
{
    pub(crate) fn new() -> Self {
        Self(|origin, world, sink| {
            postcard::to_io(origin, &mut *sink)?;
            postcard::to_io(world, sink).map(drop)
        })
    }
}

impl<M: Model> Codec<M> {
    /// Writes `world`, a run that comes from `origin`, beside its place.
    pub(crate) fn write(
        &self,
        origin: &Origin,
        world: &World<M>,
        checkpoints: &Checkpoints,
    ) -> Result<Unpublished, CheckpointError> {
        let unpublished = checkpoints.open()?;
        self.fill(origin, world, checkpoints, &unpublished.file)
            .map_err(|reason| CheckpointError::write(&checkpoints.path, reason))?;
        Ok(unpublished)
    }

    fn fill(
        &self,
        origin: &Origin,
        world: &World<M>,
        checkpoints: &Checkpoints,
        file: &File,
    ) -> io::Result<()> {
        let mut file = file;
        // Lengths are known at the end only.
        file.write_all(&[0; OPENING_BYTES])?;
        let block = Vec::with_capacity(BLOCK_BYTES);
        let mut sink = Sink { file, block, hasher: Xxh3::new(), bytes: 0, failed: None };
        sink.write_all(&checkpoints.header)?;
        if let Err(error) = (self.0)(origin, world, &mut sink) {
            return Err(sink.failed.unwrap_or_else(|| io::Error::other(error)));
        }
        sink.flush()?;
        let Sink { mut hasher, bytes, .. } = sink;
        let header_bytes = checkpoints.header.len() as u64;
        let mut opening = [0; OPENING_BYTES];
        opening[..8].copy_from_slice(MAGIC);
        opening[8..12].copy_from_slice(&VERSION.to_le_bytes());
        opening[12..20].copy_from_slice(&header_bytes.to_le_bytes());
        opening[20..].copy_from_slice(&(bytes - header_bytes).to_le_bytes());
        hasher.update(&opening);
        file.write_all(&hasher.digest().to_le_bytes())?;
        file.rewind()?;
        file.write_all(&opening)
    }
}

impl Checkpoints {
    /// Tries whether files can be made where the checkpoints are to go: before a long run, and not after its first part.
    pub(crate) fn check(&self) -> Result<(), CheckpointError> {
        if self.path.is_dir() {
            return Err(CheckpointError::write(&self.path, "it is a folder"));
        }
        self.open().map(drop)
    }

    /// A checkpoint with nothing in it yet.
    fn open(&self) -> Result<Unpublished, CheckpointError> {
        let path = &self.path;
        let name = path.file_name().ok_or_else(|| CheckpointError::write(path, "it has no file name"))?;
        let beside = path.with_file_name(format!(".{}.unfinished", name.to_string_lossy()));
        let file = open(&beside).map_err(|reason| CheckpointError::write(path, reason))?;
        Ok(Unpublished { file, beside, path: path.clone(), published: false })
    }
}

/// Opens the unfinished file, empty and for us alone.
fn open(beside: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(beside)?;
    file.try_lock().map_err(|error| match error {
        fs::TryLockError::WouldBlock => io::Error::other("another run is writing there"),
        fs::TryLockError::Error(reason) => reason,
    })?;
    file.set_len(0)?;
    Ok(file)
}

/// Counts, hashes and writes a block at a time: models are written a few bytes after the other.
pub(crate) struct Sink<'f> {
    file: &'f File,
    block: Vec<u8>,
    hasher: Xxh3,
    bytes: u64,
    /// What the system said, which the postcard format does not pass on.
    failed: Option<io::Error>,
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.block.extend_from_slice(bytes);
        if self.block.len() >= BLOCK_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.hasher.update(&self.block);
        self.bytes += self.block.len() as u64;
        let written = self.file.write_all(&self.block);
        self.block.clear();
        written.map_err(|error| {
            let kind = error.kind();
            self.failed.get_or_insert(error);
            kind.into()
        })
    }
}

/// A checkpoint that is written, but not yet under its name; removed if it never gets there.
#[derive(Debug)]
pub(crate) struct Unpublished {
    file: File,
    beside: PathBuf,
    path: PathBuf,
    published: bool,
}

impl Unpublished {
    /// Makes sure that the file is on the disk, and gives it its name.
    pub(crate) fn publish(mut self) -> Result<(), CheckpointError> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let publish = || {
            self.file.sync_all()?;
            fs::rename(&self.beside, &self.path)?;
            File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
        };
        let published = publish();
        self.published = published.is_ok();
        published.map_err(|reason| CheckpointError::write(&self.path, reason))
    }
}

impl Drop for Unpublished {
    fn drop(&mut self) {
        if !self.published {
            // The first failure is the one to report.
            let _ = fs::remove_file(&self.beside);
        }
    }
}
