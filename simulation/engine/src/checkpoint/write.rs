//! Writing a checkpoint: a file under another name first, then synchronized and renamed.
//!
//! The two halves are apart because the run stands still during the first only. Invariants: while a run goes
//! on it holds a lock, on the checkpoint that it has written last or on the unfinished file of the first, so
//! that two runs never write the same one; a checkpoint is never written in place.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paceline_files::{Lock, NewFile, irregular};
use paceline_kernel::{Change, Model, Origin, World};
use serde::Serialize;
use xxhash_rust::xxh3::Xxh3;

use super::{CheckpointError, Checkpoints, MAGIC, OPENING_BYTES, VERSION};

/// Bytes that are hashed and written at once: few calls of the system, and what is hashed is still in the
/// cache.
const BLOCK_BYTES: usize = 1 << 18;

type WriteBody<M> = fn(Front<'_>, &World<M>, &mut Sink<'_>) -> Result<(), postcard::Error>;

/// What stands in a body before its world.
#[derive(Clone, Copy)]
pub(crate) struct Front<'a> {
    pub origin: &'a Origin,
    /// What is kept of outside federates.
    pub outside: &'a [Vec<u8>],
    /// The changes of parameters that were made while the run went on.
    pub changes: &'a [Change],
}

/// How a model's worlds are written: a plain function, so that only runs with checkpoints need a model that
/// can be serialized.
pub(crate) struct Codec<M: Model> {
    write: WriteBody<M>,
    claim: Claim,
}

impl<M: Model> Codec<M>
where
    M::State: Serialize,
    M::Event: Serialize,
    M::Output: Serialize,
{
    pub(crate) fn new() -> Self {
        let write = |front: Front<'_>, world: &World<M>, sink: &mut Sink<'_>| {
            postcard::to_io(front.origin, &mut *sink)?;
            postcard::to_io(front.outside, &mut *sink)?;
            postcard::to_io(front.changes, &mut *sink)?;
            postcard::to_io(world, sink).map(drop)
        };
        Self { write, claim: Claim::default() }
    }
}

impl<M: Model> Codec<M> {
    /// Writes `world` beside its place, after `front`.
    pub(crate) fn write(
        &self,
        front: Front<'_>,
        world: &World<M>,
        checkpoints: &Checkpoints,
    ) -> Result<Unpublished, CheckpointError> {
        let Checkpoints { path, .. } = checkpoints;
        let failed = |reason: io::Error| CheckpointError::write(path, reason);
        let mut new = self.claim.next(path).map_err(failed)?;
        let filled = new.content().and_then(|file| self.fill(front, world, checkpoints, file));
        if let Err(reason) = filled {
            self.claim.keep(new);
            return Err(failed(reason));
        }
        Ok(Unpublished { new, path: path.clone(), claim: self.claim.clone() })
    }

    /// Tries whether checkpoints can be written: before a long run, and not after its first part. From now on
    /// no other run writes there.
    pub(crate) fn check(&self, checkpoints: &Checkpoints) -> Result<(), CheckpointError> {
        let path = &checkpoints.path;
        self.claim.stake(path).map_err(|reason| CheckpointError::write(path, reason))
    }

    fn fill(
        &self,
        front: Front<'_>,
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
        if let Err(error) = (self.write)(front, world, &mut sink) {
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

/// Keeps other runs from writing the checkpoints of this one. Clones share it.
#[derive(Clone, Debug, Default)]
struct Claim(Arc<Mutex<Claimed>>);

#[derive(Debug, Default)]
struct Claimed {
    /// The unfinished file of the first checkpoint, until it is written.
    first: Option<NewFile>,
    /// On the file that is there.
    held: Option<Lock>,
}

impl Claim {
    fn claimed(&self) -> MutexGuard<'_, Claimed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stake(&self, path: &Path) -> io::Result<()> {
        if let Some(kind) = irregular(path) {
            return Err(io::Error::other(format!("it is {kind}, which cannot be replaced as a whole")));
        }
        let held = Lock::take(path)?;
        let first = NewFile::begin(path)?;
        if !first.is_beside() {
            return Err(io::Error::other(
                "no file can be made beside it, where each is complete before it takes its place",
            ));
        }
        // One that had begun before may have got its name meanwhile.
        let held = match held {
            None => Lock::take(path)?,
            held => held,
        };
        *self.claimed() = Claimed { first: Some(first), held };
        Ok(())
    }

    /// The file for the next checkpoint.
    fn next(&self, path: &Path) -> io::Result<NewFile> {
        let mut claimed = self.claimed();
        if let Some(first) = claimed.first.take() {
            return Ok(first);
        }
        if !claimed.held.as_ref().is_some_and(|held| held.is_at(path)) {
            // Somebody has removed ours, or put another in its place.
            claimed.held = Lock::take(path)?;
        }
        match NewFile::begin(path) {
            Err(reason) if reason.kind() == ErrorKind::NotFound => {
                // The folder was removed since the run began.
                fs::create_dir_all(path.parent().unwrap_or(Path::new("")))?;
                NewFile::begin(path)
            }
            begun => begun,
        }
    }

    /// Keeps the file of a checkpoint that could not be written, without what is in it, for the next one.
    /// With it the run keeps its lock where no checkpoint is there yet.
    fn keep(&self, mut new: NewFile) {
        // What is still in it goes when the next one is written.
        let _ = new.content();
        self.claimed().first = Some(new);
    }
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
    new: NewFile,
    path: PathBuf,
    claim: Claim,
}

impl Unpublished {
    /// Makes sure that the file is on the disk, and gives it its name.
    pub(crate) fn publish(self) -> Result<(), CheckpointError> {
        let Self { new, path, claim } = self;
        let held = new.publish_locked().map_err(|reason| CheckpointError::write(&path, reason))?;
        claim.claimed().held = held;
        Ok(())
    }
}
