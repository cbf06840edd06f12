//! Machines in checkpoints. The engine's checkpoint, `FILE`, holds the network with all that is on its way,
//! and of each machine a [`KeptSeat`]; the machine's state is a file of the folder `FILE.machines`.
//!
//! - A checkpoint with its folder can be moved together.
//! - States that no checkpoint needs any more are removed when the next one is written, so that there is room
//!   for two of each machine at most.
//!
//! Invariant: whatever ends a run, the checkpoint that is there and the states that it names belong together:
//! a state is never written in place, and its length and checksum are in the checkpoint.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use paceline_engine::{CheckpointError, CheckpointFile};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use xxhash_rust::xxh3::Xxh3;

use super::machine::Frame;

/// How names of states end; other files of the folder are left alone.
const ENDING: &str = "machine";
/// Bytes that are hashed at once.
const BLOCK_BYTES: usize = 1 << 18;

/// Why the machines of a checkpoint cannot go on.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum ResumeError {
    /// The checkpoint does not hold what it should.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// Something of a machine in it cannot be read.
    #[error("{}: does not hold a machine as this version of the program keeps it: {reason}", path.display())]
    Kept { path: PathBuf, reason: String },
    /// A machine's state, or what it has written, is not as it was.
    #[error("{}, {what} of guest {guest}: {reason}; the run cannot be resumed", path.display())]
    File { guest: String, what: &'static str, path: PathBuf, reason: String },
    /// The run has other machines than the checkpoint.
    #[error("the checkpoint has {kept}; the run to be resumed has {found}")]
    OtherMachines { kept: String, found: String },
}

/// A file and how it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seal {
    name: String,
    bytes: u64,
    checksum: u64,
}

/// A frame on its way to a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptFrame {
    time_ns: u64,
    card: usize,
    bytes: Vec<u8>,
}

impl From<&Frame> for KeptFrame {
    fn from(Frame { time_ns, card, bytes }: &Frame) -> Self {
        Self { time_ns: *time_ns, card: *card, bytes: bytes.clone() }
    }
}

impl From<&KeptFrame> for Frame {
    fn from(KeptFrame { time_ns, card, bytes }: &KeptFrame) -> Self {
        Self { time_ns: *time_ns, card: *card, bytes: bytes.clone() }
    }
}

/// What a checkpoint keeps of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptSeat {
    pub(super) name: String,
    pub(super) node: u32,
    pub(super) place: (u64, u64),
    pub(super) clock_ns: u64,
    /// By card.
    pub(super) ethernet: Vec<[u8; 6]>,
    pub(super) sent: u64,
    pub(super) events: u64,
    /// Frames that it will be sent: answers of the network to ARP requests.
    pub(super) arriving: Vec<KeptFrame>,
    pub(super) state: Seal,
    /// Files that the machine writes, with their lengths.
    pub(super) written: Vec<(PathBuf, u64)>,
}

impl KeptSeat {
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, postcard::Error> {
        postcard::to_stdvec(self)
    }
}

/// The machines of a checkpoint, whose states are all there.
#[derive(Debug)]
pub struct SavedMachines {
    folder: PathBuf,
    kept: Vec<KeptSeat>,
}

impl SavedMachines {
    /// The machines in a checkpoint; none if it is one of a run without machines.
    ///
    /// # Errors
    ///
    /// A machine's state is missing or is not as it was written, or the checkpoint was written by another
    /// version of the program.
    pub fn open(checkpoint: &CheckpointFile) -> Result<Self, ResumeError> {
        let (path, folder) = (checkpoint.path().to_owned(), folder(checkpoint.path()));
        let kept =
            read(checkpoint)?.map_err(|error| ResumeError::Kept { path, reason: error.to_string() })?;
        let saved = Self { folder, kept };
        for kept in &saved.kept {
            let file = saved.folder.join(&kept.state.name);
            if let Some(reason) = kept.state.broken_by(&file) {
                let guest = kept.name.clone();
                return Err(ResumeError::File { guest, what: "the state", path: file, reason });
            }
        }
        Ok(saved)
    }

    /// The names of the machines, in the order in which the run had them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.kept.iter().map(|kept| &*kept.name)
    }

    /// The state from which the machine at `node` is to start; for a guest,
    /// [`GuestSettings::load`](crate::guest::GuestSettings::load).
    #[must_use]
    pub fn state(&self, node: u32) -> Option<PathBuf> {
        let kept = self.kept.iter().find(|kept| kept.node == node)?;
        Some(self.folder.join(&kept.state.name))
    }

    /// Cuts the files that machines write, such as consoles, to what they had written when they were saved;
    /// what they write from there on belongs behind it
    /// ([`GuestSettings::appends`](crate::guest::GuestSettings::appends)).
    ///
    /// # Errors
    ///
    /// A file is missing or shorter than that.
    pub fn rewind(&self) -> Result<(), ResumeError> {
        for kept in &self.kept {
            for (path, bytes) in &kept.written {
                let (guest, path) = (kept.name.clone(), path.clone());
                if let Err(error) = cut(&path, *bytes) {
                    let (what, reason) = ("the log", error.to_string());
                    return Err(ResumeError::File { guest, what, path, reason });
                }
            }
        }
        Ok(())
    }

    /// What is kept of each of these machines, which must be all, in the same order.
    pub(super) fn of(&self, machines: &[(u32, &str)]) -> Result<&[KeptSeat], ResumeError> {
        let list = |machines: &mut dyn Iterator<Item = (u32, &str)>| {
            let named = machines.map(|(node, name)| format!("{name} at node {node}"));
            named.collect::<Vec<_>>().join(", ")
        };
        let kept = || self.kept.iter().map(|kept| (kept.node, &*kept.name));
        if kept().ne(machines.iter().copied()) {
            let (kept, found) = (list(&mut kept()), list(&mut machines.iter().copied()));
            return Err(ResumeError::OtherMachines { kept, found });
        }
        Ok(&self.kept)
    }
}

/// What a checkpoint keeps of machines, in the order of the machines.
fn read(checkpoint: &CheckpointFile) -> Result<Result<Vec<KeptSeat>, postcard::Error>, CheckpointError> {
    let kept = checkpoint.outside()?;
    let kept = kept.iter().map(|bytes| postcard::from_bytes::<KeptSeat>(bytes));
    Ok(kept.collect::<Result<Vec<_>, _>>().map(|mut kept| {
        // Federates are in the order of nodes, which need not be that of machines.
        kept.sort_by_key(|kept| kept.place);
        kept
    }))
}

fn folder(checkpoint: &Path) -> PathBuf {
    let mut path = checkpoint.as_os_str().to_owned();
    path.push(".machines");
    path.into()
}

impl Seal {
    /// Why a file is not as it was.
    fn broken_by(&self, path: &Path) -> Option<String> {
        match sealed(path) {
            Err(error) => Some(error.to_string()),
            Ok(found) if found.bytes != self.bytes => {
                Some(format!("it has {} bytes, and had {}", found.bytes, self.bytes))
            }
            Ok(found) => (found.checksum != self.checksum).then(|| "its checksum does not match".into()),
        }
    }
}

/// A file as it is, once it is on the disk.
pub(super) fn sealed(path: &Path) -> io::Result<Seal> {
    let mut file = File::open(path)?;
    let (mut hasher, mut bytes, mut block) = (Xxh3::new(), 0, vec![0; BLOCK_BYTES]);
    loop {
        match file.read(&mut block)? {
            0 => break,
            count => {
                hasher.update(&block[..count]);
                bytes += count as u64;
            }
        }
    }
    file.sync_all()?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Seal { name, bytes, checksum: hasher.digest() })
}

/// A name for the state of machine `number`. The first machine removes what no checkpoint needs.
pub(super) fn new_file(checkpoint: &Path, number: u64, clock_ns: u64) -> io::Result<PathBuf> {
    let folder = folder(checkpoint);
    fs::create_dir_all(&folder)?;
    if number == 0 {
        remove_unnamed(checkpoint, &folder)?;
    }
    let names = (0_u32..).map(|again| folder.join(format!("{number}-{clock_ns}-{again}.{ENDING}")));
    Ok(names.into_iter().find(|file| !file.exists()).expect("a number is free"))
}

/// Removes the states that the checkpoint which is there does not name.
fn remove_unnamed(checkpoint: &Path, folder: &Path) -> io::Result<()> {
    let named: Vec<String> = if checkpoint.exists() {
        // One that cannot be read is not ours to clear up behind.
        let Ok(file) = CheckpointFile::open(checkpoint) else { return Ok(()) };
        let Ok(Ok(kept)) = read(&file) else { return Ok(()) };
        kept.into_iter().map(|kept| kept.state.name).collect()
    } else {
        Vec::new()
    };
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_state = entry.path().extension().is_some_and(|ending| ending == ENDING);
        if is_state && !named.iter().any(|name| **name == *entry.file_name()) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Cuts a file to `bytes`, which it has at least.
fn cut(path: &Path, bytes: u64) -> io::Result<()> {
    let file = File::options().write(true).open(path)?;
    let found = file.metadata()?.len();
    if found < bytes {
        return Err(io::Error::other(format!("it has {found} bytes, and had {bytes}")));
    }
    file.set_len(bytes)
}
