//! What a run needs of a machine.

use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU32;
use std::time::Instant;

/// An Ethernet frame, without preamble and check sequence, at a card of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// When its last bit leaves or arrives, in nanoseconds of virtual time.
    pub time_ns: u64,
    /// The card, from 0.
    pub card: usize,
    /// From the destination address to the end of the data.
    pub bytes: Vec<u8>,
}

/// Whether a machine can be granted more time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineState {
    /// It stands, and goes on with the next grant.
    Standing,
    /// It has switched itself off.
    ShutDown,
    /// It has reset itself.
    Reset,
    /// Its kernel has reported a panic.
    Crashed,
}

/// What a machine did in a grant, once it stands again.
#[derive(Clone, Debug)]
pub struct Stopped {
    /// Its clock in nanoseconds: where the grant ended, or later by less than an instruction.
    pub time_ns: u64,
    /// The frames that left its cards, in the order of their times.
    pub frames: Vec<Frame>,
    /// The earliest time at which it does something by itself; `None` if it waits for frames alone.
    pub next_ns: Option<u64>,
    /// Whether it can go on.
    pub state: MachineState,
}

/// What a checkpoint needs of a machine beside the file of its state.
#[derive(Clone, Debug, Default)]
pub struct Saved {
    /// The files to which the machine itself writes, such as its console. They are copied.
    pub logs: Vec<PathBuf>,
    /// What has to be known to start it again ([`SavedMachines::kept`](super::SavedMachines::kept)).
    pub kept: Vec<u8>,
}

/// A word that a machine changes when [`Machine::read`] may give something; it wakes who sleeps there
/// (futex(2)), which costs less than a descriptor. A machine that is gone rings no more, so `read` is called
/// every 20 ms as well.
#[derive(Clone, Copy, Debug)]
pub struct Bell<'a> {
    /// The word, which the machine changes.
    pub word: &'a AtomicU32,
    /// What it is until then.
    pub heard: u32,
}

/// Why a machine cannot go on, in words that name it and its virtual time.
pub type MachineError = Box<dyn std::error::Error + Send + Sync>;

/// A machine whose clock advances only as far as it is granted. It runs from its start until it stands at its
/// first time, and from each grant until it stands again. Dropped, it ends.
pub trait Machine: Send {
    /// Its name in messages.
    fn name(&self) -> &str;

    /// Lets the machine, which stands, run up to `until_ns`, with the frames that arrive before, in the order
    /// of their times. Returns without waiting for it.
    ///
    /// # Errors
    ///
    /// The machine is gone.
    fn grant(&mut self, until_ns: u64, frames: &[Frame]) -> Result<(), MachineError>;

    /// What it did if it stands again, and `None` while it runs. Does not wait.
    ///
    /// # Errors
    ///
    /// The machine is gone, or has not answered by its deadline.
    fn read(&mut self) -> Result<Option<Stopped>, MachineError>;

    /// Readable when [`read`](Self::read) may give something. Not asked for if the machine has a bell, but
    /// while it runs to its first time.
    fn fd(&self) -> BorrowedFd<'_>;

    /// Whether it has a [bell](Self::bell). If all machines of a run have one, they are waited for there.
    fn has_bell(&self) -> bool {
        false
    }

    /// The bell of a machine that runs. `None` if [`read`](Self::read) gives something already, or if it has
    /// none.
    fn bell(&mut self) -> Option<Bell<'_>> {
        None
    }

    /// Writes the state of the machine, which stands, to a new file, from which an equal one can start. It
    /// can go on. The file of one that has switched itself off is empty.
    ///
    /// # Errors
    ///
    /// It cannot be saved, as one that does not implement this.
    fn save(&mut self, file: &Path) -> Result<Saved, MachineError> {
        Err(format!("a machine of its kind has no state for {}", file.display()).into())
    }

    /// How many frames did not arrive so far, since they are longer than its cards take.
    fn too_long(&self) -> u64 {
        0
    }

    /// How many frames arrived so far and were lost, since too many waited for its card's driver.
    fn dropped(&self) -> u64 {
        0
    }

    /// When [`read`](Self::read) gives the machine up unless it stands by then; `None` if it stands.
    fn deadline(&self) -> Option<Instant>;
}
