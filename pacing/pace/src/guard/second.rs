//! Starts the second guard, `sched-restore`: a program of its own, compiled from `restore/restore.c` and run
//! from memory.
//!
//! Invariant: neither its name nor its command line nor its executable file contains the pacer's name, and it
//! is not the pacer's child, so that nothing that is sent to the pacer by name, session or family hits both.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::fs::{MemfdFlags, memfd_create};

use super::SILENCE;
use crate::sched::SchedClass;

/// Empty if there was no C compiler.
static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sched-restore"));
/// Its name, as `ps` shows it.
const NAME: &str = "sched-restore";

/// Starts it for `slots` slots in `class`; it reads from `pipe`.
///
/// # Errors
///
/// If this build has no such program, or the system does not execute files in memory.
pub fn start(slots: u32, class: SchedClass, pipe: OwnedFd) -> io::Result<()> {
    if PROGRAM.is_empty() {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "it was built without a C compiler"));
    }
    // Since Linux 6.3 a system may be set so that only files that ask for it can be executed; older ones do
    // not know the flag.
    let file = memfd_create(NAME, MemfdFlags::CLOEXEC | MemfdFlags::EXEC)
        .or_else(|_| memfd_create(NAME, MemfdFlags::CLOEXEC))?;
    let mut written = File::from(file);
    written.write_all(PROGRAM)?;
    let file = File::open(format!("/proc/self/fd/{}", written.as_raw_fd()))?;
    // A file that is open for writing is not executed.
    drop(written);
    let (_, priority) = class.number();
    let mut command = Command::new(format!("/proc/self/fd/{}", file.as_raw_fd()));
    command.arg0(NAME).args([slots.to_string(), priority.to_string(), SILENCE.as_millis().to_string()]);
    command.env_clear().stdin(Stdio::from(pipe)).stdout(Stdio::null()).stderr(Stdio::null());
    // It forks, and the process that is waited for here ends at once.
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("{NAME} ended with {status}"))) }
}
