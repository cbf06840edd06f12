//! Machines in checkpoints. The engine's checkpoint, `FILE`, holds the network with all that is on its way,
//! and of each machine a [`KeptSeat`]; the machine's state is a file of the folder `FILE.machines`, and
//! beside it are copies of what it has written, such as its console.
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

/// How names of states end, and those of copies of logs; other files of the folder are left alone.
const ENDINGS: [&str; 2] = ["machine", "machine-log"];
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
    #[error(
        "{}, {what} of guest {guest}: {reason}; the run cannot be resumed; allowed: FILE.machines as the run left it beside its \
         checkpoint FILE",
        path.display()
    )]
    File { guest: String, what: &'static str, path: PathBuf, reason: String },
    /// The run has other machines than the checkpoint.
    #[error("the checkpoint has {kept}; the run to be resumed has {found}")]
    OtherMachines { kept: String, found: String },
    /// What a machine was made of has changed.
    #[error(
        "{}: guest {guest} was saved with another {part}; allowed: the emulator and the programs that the run began with \
         (PACELINE_EMULATOR names their folder)",
        path.display()
    )]
    OtherParts { path: PathBuf, guest: String, part: String },
    /// What machines are made of cannot be read.
    #[error("the emulator cannot be read: {0}")]
    Parts(#[source] io::Error),
    /// A machine does not start where it was saved.
    #[error("guest {guest} starts at {found_ns} ns of its clock, and was saved at {kept_ns} ns")]
    OtherTime { guest: String, found_ns: u64, kept_ns: u64 },
    /// The thread that all machines share cannot be started.
    #[error("the thread of the guests cannot be started: {0}")]
    Thread(#[source] io::Error),
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
pub(crate) struct KeptSeat {
    pub(super) name: String,
    pub(super) node: u32,
    pub(super) place: (u64, u64),
    pub(super) clock_ns: u64,
    /// The Ethernet addresses of its cards, in their order.
    pub(super) ethernet: Vec<[u8; 6]>,
    pub(super) sent: u64,
    pub(super) events: u64,
    /// Frames that it will be sent: answers of the network to ARP requests.
    pub(super) arriving: Vec<KeptFrame>,
    /// It has switched itself off: its state is empty.
    pub(super) is_off: bool,
    pub(super) state: Seal,
    /// Copies of the files that the machine writes.
    pub(super) logs: Vec<Seal>,
    /// What the machine says of itself.
    pub(super) machine: Vec<u8>,
}

impl KeptSeat {
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, postcard::Error> {
        postcard::to_stdvec(self)
    }
}

/// The machines of a checkpoint, whose states are all there.
#[derive(Debug)]
pub struct SavedMachines {
    /// The file of the checkpoint, for messages.
    path: PathBuf,
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
        let kept = read(checkpoint)?;
        let kept =
            kept.map_err(|error| ResumeError::Kept { path: path.clone(), reason: error.to_string() })?;
        let saved = Self { path, folder, kept };
        for kept in &saved.kept {
            let files = kept.logs.iter().map(|log| ("the log", log)).chain([("the state", &kept.state)]);
            for (what, seal) in files {
                let path = saved.folder.join(&seal.name);
                if let Some(reason) = seal.broken_by(&path) {
                    return Err(ResumeError::File { guest: kept.name.clone(), what, path, reason });
                }
            }
        }
        Ok(saved)
    }

    /// The names of the machines, in the order in which the run had them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.kept.iter().map(|kept| &*kept.name)
    }

    /// The file of the checkpoint, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn at(&self, node: u32) -> Option<&KeptSeat> {
        self.kept.iter().find(|kept| kept.node == node)
    }

    /// The state from which the machine at `node` is to start; for a guest,
    /// [`GuestSettings::load`](crate::guest::GuestSettings::load). One that has switched itself off does not
    /// start ([`is_off`](Self::is_off)).
    #[must_use]
    pub fn state(&self, node: u32) -> Option<PathBuf> {
        Some(self.folder.join(&self.at(node)?.state.name))
    }

    /// Whether the machine at `node` had switched itself off.
    #[must_use]
    pub fn is_off(&self, node: u32) -> bool {
        self.at(node).is_some_and(|kept| kept.is_off)
    }

    /// What the machine at `node` has said of itself ([`Saved::kept`](super::Saved::kept)).
    #[must_use]
    pub fn kept(&self, node: u32) -> Option<&[u8]> {
        self.at(node).map(|kept| &*kept.machine)
    }

    /// Writes what the machine at `node` had written to `files`, which are in the order of
    /// [`Saved::logs`](super::Saved::logs). What the machine writes from there on belongs behind it
    /// ([`GuestSettings::appends`](crate::guest::GuestSettings::appends)).
    ///
    /// # Errors
    ///
    /// A file cannot be written.
    pub fn write_logs(&self, node: u32, files: &[PathBuf]) -> Result<(), ResumeError> {
        let Some(kept) = self.at(node) else { return Ok(()) };
        for (log, path) in kept.logs.iter().zip(files) {
            if let Err(error) = fs::copy(self.folder.join(&log.name), path) {
                let (guest, path) = (kept.name.clone(), path.clone());
                return Err(ResumeError::File { guest, what: "the log", path, reason: error.to_string() });
            }
        }
        Ok(())
    }

    /// What is kept of each of these machines, which must be all, in the same order.
    pub(crate) fn of(&self, machines: &[(u32, &str)]) -> Result<&[KeptSeat], ResumeError> {
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
    pub(super) fn checksum(&self) -> u64 {
        self.checksum
    }

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

/// A name for the state of machine `number`.
pub(super) fn new_file(checkpoint: &Path, number: u64, clock_ns: u64) -> io::Result<PathBuf> {
    let folder = folder(checkpoint);
    fs::create_dir_all(&folder)?;
    let names = (0_u32..).map(|again| folder.join(format!("{number}-{clock_ns}-{again}.{}", ENDINGS[0])));
    // A machine may be saved twice at one time of its clock, and no state is written over.
    Ok(names.into_iter().find(|file| !file.exists()).expect("a number is free"))
}

/// Copies what a machine has written beside its state.
pub(super) fn copied(logs: &[PathBuf], state: &Path) -> io::Result<Vec<Seal>> {
    let copy = |(number, log): (u32, &PathBuf)| {
        let copy = state.with_extension(format!("{number}.{}", ENDINGS[1]));
        fs::copy(log, &copy)?;
        sealed(&copy)
    };
    (0..).zip(logs).map(copy).collect()
}

/// Removes the files that the checkpoint which is there does not name, before the first machine is saved for
/// the next one.
pub(super) fn remove_unnamed(checkpoint: &Path) -> io::Result<()> {
    let folder = folder(checkpoint);
    if !folder.exists() {
        return Ok(());
    }
    let named: Vec<String> = if checkpoint.exists() {
        // One that cannot be read is not ours to clear up behind.
        let Ok(file) = CheckpointFile::open(checkpoint) else { return Ok(()) };
        let Ok(Ok(kept)) = read(&file) else { return Ok(()) };
        let seals = kept.into_iter().flat_map(|kept| kept.logs.into_iter().chain([kept.state]));
        seals.map(|seal| seal.name).collect()
    } else {
        // No checkpoint is there that could need any of them.
        Vec::new()
    };
    for entry in fs::read_dir(&folder)? {
        let entry = entry?;
        let path = entry.path();
        let is_ours = ENDINGS.iter().any(|ending| path.extension().is_some_and(|found| found == *ending));
        if is_ours && !named.iter().any(|name| **name == *entry.file_name()) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
