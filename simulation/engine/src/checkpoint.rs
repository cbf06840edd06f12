//! Checkpoints: a whole run in a file, from which any protocol, partition and number of threads can continue
//! it.
//!
//! A file is a fixed opening (magic word, version of the format, lengths), a header that the engine does not
//! look into, a body (an [`Origin`](paceline_kernel::Origin), which says what run it is of, what is kept of
//! outside federates that do not do what the model would do, the changes of parameters that were made while
//! the run went on, and a [`World`](paceline_kernel::World), all in
//! the postcard format), and a checksum over all of it. Invariant: under its own name a checkpoint is
//! complete or not there. It is written beside its place first, synchronized, and then renamed, so that a
//! process or a machine that stops at any moment leaves the last complete one. A symbolic link is followed,
//! and the file keeps its permissions and owner.
//!
//! What changes while a run goes on is in the body: the header comes with the settings of the run. `course`
//! and, for several processes, `together` have the body written; `build` starts a run from it.
//!
//! To change the body, raise `VERSION`, also in `fuzz/fuzz_targets/checkpoint.rs` and in the message that
//! `tests/engine/origin.rs` expects; where the layout changes, `seal` in `tests/damaged.rs` too.

mod read;
mod write;

pub use read::CheckpointFile;
pub(crate) use write::{Codec, Front, Unpublished};

use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

const MAGIC: &[u8; 8] = b"PACELINE";
/// To be raised with every change of the format, that of the kernel's `World` included.
const VERSION: u32 = 6;
/// The opening: magic word, version, length of the header and of the body.
const OPENING_BYTES: usize = 8 + 4 + 8 + 8;
const CHECKSUM_BYTES: usize = 8;

/// Where a run writes its checkpoints, and how often. While it goes on, no other run can write there.
///
/// A limit on the size of files (`ulimit -f`) is passed over like a full disk by a program that handles or
/// ignores SIGXFSZ, as those of `paceline::app!` do; others are ended by that signal.
///
/// ```
/// # use paceline_kernel::{Context, LpId, Model, Time};
/// # struct Clock;
/// # impl Model for Clock {
/// #     type State = u64;
/// #     type Event = ();
/// #     type Output = ();
/// #     fn lps(&self) -> u32 { 1 }
/// #     fn lookahead(&self) -> Time { Time::secs(1) }
/// #     fn init(&self, _: LpId, cx: &mut Context<Self>) -> u64 { cx.schedule(Time::ZERO, ()); 0 }
/// #     fn handle(&self, ticks: &mut u64, _: &(), cx: &mut Context<Self>) {
/// #         *ticks += 1;
/// #         cx.schedule(Time::secs(1), ());
/// #     }
/// # }
/// use paceline_engine::{CheckpointFile, Checkpoints, Monitor, Simulation};
/// use std::time::Duration;
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("clock.checkpoint");
/// let run = || Simulation::new(Clock).until(Time::secs(1000));
/// let whole = run().run()?;
///
/// // An interrupted run writes a checkpoint at its end.
/// let monitor = Monitor::new();
/// monitor.stop();
/// let checkpoints = Checkpoints { path: path.clone(), every: Duration::from_secs(10), header: b"mine".into() };
/// run().checkpoint(checkpoints).monitor(&monitor).run()?;
///
/// let file = CheckpointFile::open(&path)?;
/// assert_eq!(file.header(), b"mine");
/// let resumed = run().resume(file.world(&Clock)?).run()?;
/// assert_eq!(resumed.digest, whole.digest);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Checkpoints {
    /// The file, a regular one or a symbolic link to one. Each checkpoint takes the place of the one before.
    pub path: PathBuf,
    /// Real time from one to the next. With zero there is one whenever the run pauses for another reason.
    pub every: Duration,
    /// Whatever the caller wants to find in the file.
    pub header: Vec<u8>,
}

/// Why a checkpoint cannot be written or read.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum CheckpointError {
    /// The system does not let us read it.
    #[error("{}: cannot be read: {reason}", path.display())]
    Read { path: PathBuf, reason: String },
    /// The system does not let us write it.
    #[error("cannot write the checkpoint {}: {reason}", path.display())]
    Write { path: PathBuf, reason: String },
    /// The file does not begin as a checkpoint does.
    #[error("{}: is not a checkpoint of Paceline", path.display())]
    Foreign { path: PathBuf },
    /// It is from another version of the program.
    #[error(
        "{}: is a checkpoint of format {found}, of {} version of the program; this one reads format {VERSION}. The run is to be \
         resumed with the version that wrote it, or started anew",
        path.display(),
        if *found < VERSION { "an older" } else { "a newer" }
    )]
    Version { path: PathBuf, found: u32 },
    /// The file has fewer bytes than its header announces.
    #[error("{}: is cut short: {found} bytes of a checkpoint of {expected}", path.display())]
    Truncated { path: PathBuf, found: u64, expected: u64 },
    /// Its checksum does not match, or bytes stand behind its end.
    #[error("{}: is damaged: {what}", path.display())]
    Damaged { path: PathBuf, what: &'static str },
    /// It is of another model, or of the model with other parameters or other LPs.
    #[error("{}: does not belong to this model: {what}", path.display())]
    Model { path: PathBuf, what: String },
}

paceline_kernel::debug_tells!(CheckpointError);

impl CheckpointError {
    fn write(path: &Path, reason: std::io::Error) -> Self {
        Self::Write { path: path.to_owned(), reason: reason.to_string() }
    }
}
