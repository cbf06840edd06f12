//! Threads as owners of slots, and whether they are still there.
//!
//! Thread ids are used again, so an owner is known by its id and by when it was started. Needs one system
//! call where the thread has ended, and a look into /proc where some thread has its id.
#![allow(unsafe_code)] // `tgkill`, for which there is no safe wrapper that takes a thread's id

use std::io;

use procfs::process::{Process, Stat};
use procfs::{ProcError, ProcResult};

/// The thread that owns a slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Owner {
    /// In the PID namespace of the process that published.
    pub pid: u32,
    /// In the same namespace; the one thread that publishes.
    pub tid: u32,
    /// When it was started, in clock ticks since the system was. 0 while the slot changes hands; `pid` says
    /// nothing then.
    pub start_time: u64,
}

/// The thread `tid` according to /proc/PID/task/TID/stat.
fn stat(pid: i32, tid: i32) -> ProcResult<Stat> {
    Process::new(pid)?.task_from_tid(tid)?.stat()
}

impl Owner {
    /// The calling thread.
    ///
    /// # Errors
    ///
    /// What /proc says where it does not give the thread's start time.
    pub fn of_this_thread() -> io::Result<Self> {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        let tid = rustix::thread::gettid().as_raw_nonzero().get();
        let start_time = stat(pid, tid).map_err(io::Error::other)?.starttime;
        Ok(Self { pid: pid.cast_unsigned(), tid: tid.cast_unsigned(), start_time })
    }

    /// Whether there is no thread with this id, in one system call. Says nothing of a thread that has got the
    /// id since.
    pub fn has_no_thread(&self) -> bool {
        let (Ok(pid), Ok(tid)) = (i32::try_from(self.pid), i32::try_from(self.tid)) else { return true };
        // The process is not known while the slot changes hands.
        // SAFETY: signal 0 is never delivered; both calls touch no memory.
        let result = unsafe {
            match self.start_time {
                0 => libc::syscall(libc::SYS_tkill, tid, 0),
                _ => libc::syscall(libc::SYS_tgkill, pid, tid, 0),
            }
        };
        let error = io::Error::last_os_error().raw_os_error();
        result == -1 && matches!(error, Some(libc::ESRCH | libc::EINVAL))
    }

    /// Whether the owner has ended: there is no such thread, or only its remains (a zombie), or one that was
    /// started at another time. What cannot be found out is taken for alive, as is the new owner of a
    /// slot that changes hands.
    pub fn is_gone(&self) -> bool {
        if self.has_no_thread() {
            return true;
        }
        if self.start_time == 0 {
            return false;
        }
        match stat(self.pid.cast_signed(), self.tid.cast_signed()) {
            Ok(stat) => matches!(stat.state, 'Z' | 'X' | 'x') || stat.starttime != self.start_time,
            Err(ProcError::NotFound(_)) => true,
            Err(_) => false,
        }
    }
}
