//! A machine in its place in a checkpoint: what is kept of it beside its state, and how it goes on from
//! there.
//!
//! Invariants: one that has failed is not saved, since it would go on as one that has switched itself off;
//! what a state was made with is named in the checkpoint, so that another emulator is refused before it reads
//! that state.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::{Clock, Failures, Placed, Seen};
use crate::run::ResumeError;
use crate::run::checkpoint::{KeptFrame, SavedMachines, sealed};
use crate::run::echoes::Echoes;
use crate::run::machine::{Frame, Machine, MachineError, MachineState, Saved, Stopped};

/// A part of what a machine is made of, with its checksum.
type Part = (String, u64);

/// What states of machines fit: the files of an emulator, and the image that machines boot.
#[derive(Debug, Default)]
pub struct Parts {
    files: Vec<(String, PathBuf)>,
    image: Option<u64>,
    /// Read when the first machine is saved: a run without checkpoints does not need them.
    sums: OnceLock<Vec<Part>>,
}

impl Parts {
    /// These files, each with its name in messages, and the content of the image, if there is one.
    #[must_use]
    pub fn new(files: Vec<(String, PathBuf)>, image: Option<&[u8]>) -> Self {
        Self { files, image: image.map(xxh3_64), sums: OnceLock::new() }
    }

    fn sums(&self) -> io::Result<&[Part]> {
        if let Some(sums) = self.sums.get() {
            return Ok(sums);
        }
        let sum = |(name, file): &(String, PathBuf)| Ok((name.clone(), sealed(file)?.checksum()));
        let mut sums = self.files.iter().map(sum).collect::<io::Result<Vec<_>>>()?;
        sums.extend(self.image.map(|image| ("image of packed programs".to_owned(), image)));
        Ok(self.sums.get_or_init(|| sums))
    }
}

/// What a checkpoint keeps of a machine in its place.
#[derive(Debug, Serialize, Deserialize)]
pub struct Kept {
    parts: Vec<Part>,
    clock: Clock,
    machine_ns: u64,
    until_ns: u64,
    held: Vec<KeptFrame>,
    echoes: Echoes,
    too_long: u64,
    dropped: u64,
}

impl Kept {
    /// That of the machine at `node`.
    ///
    /// # Errors
    ///
    /// There is none, or it was written by another version of the program.
    pub fn read(saved: &SavedMachines, node: u32) -> Result<Self, ResumeError> {
        let refuse = |reason: String| ResumeError::Kept { path: saved.path().to_owned(), reason };
        let bytes = saved.kept(node).ok_or_else(|| refuse(format!("no machine is at node {node}")))?;
        let kept: Self = postcard::from_bytes(bytes).map_err(|error| refuse(error.to_string()))?;
        match kept.echoes.is_sound() && kept.clock.under > 0 && kept.clock.over > 0 {
            true => Ok(kept),
            false => Err(refuse(format!("clock or echoes of the machine at node {node} are impossible"))),
        }
    }

    /// The machine's clock.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Where the machine stood by its own clock, in nanoseconds.
    #[must_use]
    pub fn machine_ns(&self) -> u64 {
        self.machine_ns
    }

    /// The first part that is not as it was when the machine was saved, and where it is now.
    ///
    /// # Errors
    ///
    /// One cannot be read.
    pub fn other_part(&self, parts: &Parts) -> io::Result<Option<String>> {
        let now = parts.sums()?;
        let other = now.iter().find(|part| !self.parts.contains(part));
        let other = other.or_else(|| self.parts.iter().find(|part| !now.contains(part)));
        Ok(other.map(|(name, _)| match parts.files.iter().find(|(file, _)| file == name) {
            Some((_, file)) => format!("{name} than {}", file.display()),
            None => format!("{name} than the one that is packed now"),
        }))
    }
}

impl Placed {
    /// A machine that goes on where it was saved, and stands there as `first` says.
    ///
    /// # Errors
    ///
    /// The system has no more sockets.
    pub fn resumed(
        machine: Box<dyn Machine>,
        first: Stopped,
        kept: Kept,
        macs: Vec<[u8; 6]>,
        (seen, failures): (Arc<Seen>, Failures),
        parts: Arc<Parts>,
    ) -> io::Result<Self> {
        let (clock, time_ns, state) = (kept.clock, first.time_ns, first.state);
        let mut placed = Self::new(machine, first, (clock, macs), (seen, failures), parts)?;
        *placed.seen.echoes.lock().unwrap_or_else(PoisonError::into_inner) = kept.echoes;
        placed.seen.reached_ns.store(kept.until_ns, Ordering::Relaxed);
        placed.seen.too_long.store(kept.too_long, Ordering::Relaxed);
        placed.seen.dropped.store(kept.dropped, Ordering::Relaxed);
        placed.until_ns = kept.until_ns;
        (placed.too_long_before, placed.dropped_before) = (kept.too_long, kept.dropped);
        placed.held = kept.held.iter().map(Frame::from).collect();
        placed.ready = Some(match state {
            MachineState::Standing => placed.standing(Vec::new()),
            _ => Stopped { time_ns: clock.simulated_ns(time_ns), frames: Vec::new(), next_ns: None, state },
        });
        Ok(placed)
    }

    /// Writes the machine's state, and gives what else a checkpoint keeps of it.
    pub(super) fn write_state(&mut self, file: &Path) -> Result<Saved, MachineError> {
        if self.is_failed {
            return Err(format!("guest {} has failed, and cannot be saved", self.name()).into());
        }
        let parts = self.parts.sums()?.to_vec();
        // Of itself a guest has nothing to keep.
        let Saved { logs, kept: _ } =
            self.machine.save(file).map_err(|error| self.in_simulated_time(error))?;
        let echoes = self.seen.echoes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let kept = Kept {
            parts,
            clock: self.clock,
            machine_ns: self.machine_ns,
            until_ns: self.until_ns,
            held: self.held.iter().map(KeptFrame::from).collect(),
            echoes,
            too_long: self.too_long(),
            dropped: self.dropped(),
        };
        Ok(Saved { logs, kept: postcard::to_stdvec(&kept)? })
    }
}

/// A machine that had switched itself off when it was saved: it is silent, and its logs stay as they are.
#[derive(Debug)]
pub struct SwitchedOff {
    name: String,
    clock_ns: u64,
    logs: Vec<PathBuf>,
    /// Readable at any time.
    always: (UnixStream, UnixStream),
}

impl SwitchedOff {
    /// One whose clock had come to `clock_ns` and that had written `logs`.
    ///
    /// # Errors
    ///
    /// The system has no more sockets.
    pub fn new(name: impl Into<String>, clock_ns: u64, logs: Vec<PathBuf>) -> io::Result<Self> {
        let mut always = UnixStream::pair()?;
        always.0.write_all(&[1])?;
        Ok(Self { name: name.into(), clock_ns, logs, always })
    }

    /// What it said last.
    #[must_use]
    pub fn stopped(&self) -> Stopped {
        let state = MachineState::ShutDown;
        Stopped { time_ns: self.clock_ns, frames: Vec::new(), next_ns: None, state }
    }
}

impl Machine for SwitchedOff {
    fn name(&self) -> &str {
        &self.name
    }

    fn grant(&mut self, _: u64, _: &[Frame]) -> Result<(), MachineError> {
        Err(format!("guest {} has switched itself off", self.name).into())
    }

    fn read(&mut self) -> Result<Option<Stopped>, MachineError> {
        Ok(Some(self.stopped()))
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.always.1.as_fd()
    }

    fn has_bell(&self) -> bool {
        true
    }

    fn save(&mut self, file: &Path) -> Result<Saved, MachineError> {
        File::create_new(file)?;
        Ok(Saved { logs: self.logs.clone(), kept: Vec::new() })
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }
}
