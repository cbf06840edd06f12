//! The guards: small processes that set every paced thread back to its normal class when the governor has
//! died or hangs.
//!
//! Through a pipe for each the governor registers each thread before it changes the thread's class, and sends
//! a sign of life regularly. When the pipe closes (whatever ended the governor, signal 9 included), a guard
//! restores all threads that it knows and ends. When no sign of life comes for [`SILENCE`], it restores them
//! too, and continues to wait.
//!
//! There are two, because a signal that is sent by name hits the governor and a process forked by it
//! together. The first guard is such a process. The second (`guard/second.rs`) is a program of its own, whose
//! name, command line and executable file differ. The governor gives up when one of them dies, or reads
//! nothing for [`STUCK`].
//!
//! Invariants: a thread whose class is changed is known to all guards. A thread is restored only while it is
//! the same thread: its start time is compared. After the fork the first guard allocates nothing and takes no
//! lock, because another thread may have held one.
#![allow(unsafe_code)] // fork(2), and what only its child may do

mod second;

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, setsid, waitpid};

use crate::pacer::rest_for;
use crate::sched::{self, SchedClass};

/// A governor that has given no sign of life for this long is taken to hang.
pub const SILENCE: Duration = Duration::from_millis(300);
/// A guard that has read nothing for this long after its pipe was full is taken to be stopped.
pub const STUCK: Duration = Duration::from_secs(1);
/// The size of a pipe, so small that it is full soon after a guard has stopped reading.
const PIPE_BYTES: usize = 4096;
const MESSAGE_BYTES: usize = 24;
/// A sign of life, in place of a slot.
const ALIVE: u32 = u32::MAX;

/// A thread that the guard restores.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ward {
    /// Its slot, below the number of slots that the guard was made for; it replaces the slot's earlier
    /// thread.
    pub slot: u32,
    pub tid: i32,
    pub pid: i32,
    /// When it was started, in clock ticks since the system was.
    pub start_time: u64,
    /// The class to set it back to.
    pub normal: SchedClass,
}

impl Ward {
    fn encode(self) -> [u8; MESSAGE_BYTES] {
        let mut bytes = [0; MESSAGE_BYTES];
        bytes[0..4].copy_from_slice(&self.slot.to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.tid.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.start_time.to_ne_bytes());
        bytes[16..20].copy_from_slice(&self.normal.number().0.to_ne_bytes());
        bytes[20..24].copy_from_slice(&self.pid.to_ne_bytes());
        bytes
    }

    fn decode(bytes: &[u8; MESSAGE_BYTES]) -> Self {
        let word = |at: usize| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        let mut start_time = [0; 8];
        start_time.copy_from_slice(&bytes[8..16]);
        Self {
            slot: u32::from_ne_bytes(word(0)),
            tid: i32::from_ne_bytes(word(4)),
            start_time: u64::from_ne_bytes(start_time),
            normal: SchedClass::from_number(i32::from_ne_bytes(word(16))),
            pid: i32::from_ne_bytes(word(20)),
        }
    }

    /// Sets it back, if it is still there.
    fn restore(&self) {
        if start_time(self.tid) == Some(self.start_time) {
            // An error means that it has ended meanwhile: then there is nothing to do.
            let _ = sched::set(self.tid, self.normal);
        }
    }
}

/// The governor's ends of the pipes.
#[derive(Debug)]
pub struct Guard {
    pipes: Vec<OwnedFd>,
    /// The first guard's process.
    process: Pid,
    /// Since when a pipe has been full at every sign of life.
    full_since: Cell<Option<Instant>>,
    /// Why there is no second guard.
    problem: Option<String>,
}

impl Guard {
    /// Starts the guards for `slots` slots, in `class`: one in which paced threads cannot keep them from
    /// running.
    ///
    /// # Errors
    ///
    /// If the first one cannot be started. Without the second one, [`Guard::problem`] gives the reason.
    pub fn start(slots: u32, class: SchedClass) -> io::Result<Self> {
        // The second one first: the fork below keeps no end of its pipe open, because it closes all files.
        let (second, problem) = match pipe().and_then(|(read, write)| {
            second::start(slots, class, read)?;
            Ok(write)
        }) {
            Ok(write) => (Some(write), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let (read, write) = pipe()?;
        let mut wards: Vec<Option<Ward>> = vec![None; slots as usize];
        // SAFETY: the child calls only what may be called after a fork (`serve`), and leaves by `_exit`.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                // While the guard held this end, the pipe would never close.
                drop(write);
                serve(&read, &mut wards, class);
                // SAFETY: ends the process at once, without the exit handlers that the parent has set up.
                unsafe { libc::_exit(0) }
            }
            child => {
                let process = Pid::from_raw(child).expect("a child has a process id");
                let pipes = std::iter::once(write).chain(second).collect();
                Ok(Self { pipes, process, full_since: Cell::new(None), problem })
            }
        }
    }

    /// The first guard's process.
    pub fn process(&self) -> i32 {
        self.process.as_raw_nonzero().get()
    }

    /// Why there is no second guard; none if there is one.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Registers a thread. `false` if a pipe is full: then the caller must not change the thread's class.
    pub fn watch(&self, ward: Ward) -> io::Result<bool> {
        self.send(&ward.encode())
    }

    /// Gives a sign of life. An error says that a guard has died, or has been stopped.
    pub fn alive(&self) -> io::Result<()> {
        let sign = Ward { slot: ALIVE, tid: 0, pid: 0, start_time: 0, normal: SchedClass::Other };
        if self.send(&sign.encode())? {
            self.full_since.set(None);
            return Ok(());
        }
        let since = self.full_since.get().unwrap_or_else(Instant::now);
        self.full_since.set(Some(since));
        if since.elapsed() < STUCK {
            return Ok(());
        }
        Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "a guard does not read its messages; it may have been stopped",
        ))
    }

    /// Sends a message to all guards; `false` if one of them has no room for it.
    fn send(&self, message: &[u8; MESSAGE_BYTES]) -> io::Result<bool> {
        let mut sent = true;
        for pipe in &self.pipes {
            match rustix::io::write(pipe, message) {
                Ok(_) => {}
                // The other guard gets it all the same: it may know a thread that is not changed.
                Err(Errno::AGAIN) => sent = false,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(sent)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.pipes.clear();
        // Code that reaps all children may have been quicker: then there is nothing to wait for.
        let start = Instant::now();
        while matches!(waitpid(Some(self.process), WaitOptions::NOHANG), Ok(None)) {
            if start.elapsed() >= STUCK {
                // It has been stopped. Nothing is left for it to do: the governor restores all threads before
                // it drops its guards.
                let _ = kill_process(self.process, Signal::KILL);
                let _ = waitpid(Some(self.process), WaitOptions::empty());
                return;
            }
            rest_for(Duration::from_millis(1));
        }
    }
}

/// A small pipe that no program inherits, and on which nobody blocks.
fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    // A larger one only shows later that a guard has been stopped.
    let _ = fcntl_setpipe_size(&write, PIPE_BYTES);
    Ok((read, write))
}

/// The guard's loop, until the pipe closes.
fn serve(pipe: &OwnedFd, wards: &mut [Option<Ward>], class: SchedClass) {
    close_all_but(pipe.as_raw_fd());
    // A session of its own: the terminal's Ctrl-C and hang-up signals do not reach it.
    let _ = setsid();
    // SAFETY: a setting of the process; the name is a string that ends with NUL.
    unsafe { libc::prctl(libc::PR_SET_NAME, c"paceline-guard".as_ptr()) };
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
        // SAFETY: ignoring a signal runs no code.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    // If this is not permitted, the governor does not set real-time priorities either.
    let _ = sched::set(0, class);
    let silence = Timespec { tv_sec: 0, tv_nsec: i64::from(SILENCE.subsec_nanos()) };
    let mut message = [0; MESSAGE_BYTES];
    loop {
        let mut ready = [PollFd::new(pipe, PollFlags::IN)];
        match poll(&mut ready, Some(&silence)) {
            Ok(0) => wards.iter().flatten().for_each(Ward::restore),
            Ok(_) => match rustix::io::read(pipe.as_fd(), &mut message) {
                Ok(0) => break,
                // Messages arrive whole, because they are shorter than what a pipe writes atomically.
                Ok(_) => {
                    let ward = Ward::decode(&message);
                    if let Some(place) = wards.get_mut(ward.slot as usize) {
                        *place = Some(ward);
                    }
                }
                Err(Errno::AGAIN | Errno::INTR) => {}
                // Without messages it cannot know whether the governor lives, so it restores the threads.
                Err(_) => break,
            },
            Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    wards.iter().flatten().for_each(Ward::restore);
}

/// Closes every file but `kept`: the guard must not keep a pipe of the paced command open for its reader.
fn close_all_but(kept: i32) {
    let kept = kept.cast_unsigned();
    for (first, last) in [(0, kept.checked_sub(1)), (kept + 1, Some(u32::MAX))] {
        if let Some(last) = last {
            // SAFETY: the child uses no file but `kept`. If the kernel lacks the call (before Linux 5.9),
            // files stay open.
            unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
        }
    }
}

/// When a thread was started, read without allocating: field 22 of /proc/TID/stat.
fn start_time(tid: i32) -> Option<u64> {
    let mut path = [0; 32];
    write!(&mut path[..], "/proc/{tid}/stat").ok()?;
    let path = std::ffi::CStr::from_bytes_until_nul(&path).ok()?;
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, rustix::fs::Mode::empty()).ok()?;
    let mut text = [0; 1024];
    let read = File::from(file).read(&mut text).ok()?;
    // The name, in brackets, may hold anything; fields are counted from its end.
    let behind = text[..read].iter().rposition(|byte| *byte == b')')? + 2;
    let field = text[behind..read].split(|byte| *byte == b' ').nth(19)?;
    std::str::from_utf8(field).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_written() {
        for normal in [SchedClass::Other, SchedClass::Batch, SchedClass::Idle] {
            let ward = Ward { slot: 7, tid: 4711, pid: 4700, start_time: 1 << 40, normal };
            assert_eq!(Ward::decode(&ward.encode()), ward);
        }
    }

    #[test]
    fn the_start_time_is_that_of_proc() {
        let pid = std::process::id().cast_signed();
        let stat = procfs::process::Process::myself().and_then(|me| me.stat()).expect("there is a /proc");
        assert_eq!(start_time(pid), Some(stat.starttime));
        assert_eq!(start_time(i32::MAX), None);
    }
}
