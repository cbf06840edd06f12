//! Scheduling classes of threads, as sched_setscheduler(2) sets them.
//!
//! Nice levels are not touched: a thread that is set back to its normal class has the nice level that it had
//! before. Classes above the normal one are not inherited by what a thread forks (SCHED_RESET_ON_FORK).
#![allow(unsafe_code)] // no safe crate has sched_setscheduler(2)

use std::io;

/// A thread's scheduling class.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SchedClass {
    /// SCHED_OTHER: the normal one.
    Other,
    /// SCHED_BATCH: the normal one, for work without urgency.
    Batch,
    /// SCHED_IDLE: runs if no other thread wants the core.
    Idle,
    /// SCHED_RR with its priority: before all the above.
    RealTime(i32),
    /// Another class, which we do not set.
    Foreign(i32),
}

impl SchedClass {
    /// The kernel's number of the class, with the priority.
    pub const fn number(self) -> (i32, i32) {
        match self {
            Self::Other => (libc::SCHED_OTHER, 0),
            Self::Batch => (libc::SCHED_BATCH, 0),
            Self::Idle => (libc::SCHED_IDLE, 0),
            Self::RealTime(priority) => (libc::SCHED_RR, priority),
            Self::Foreign(number) => (number, 0),
        }
    }

    /// The class with the kernel's `number`.
    pub const fn from_number(number: i32) -> Self {
        match number & !libc::SCHED_RESET_ON_FORK {
            libc::SCHED_OTHER => Self::Other,
            libc::SCHED_BATCH => Self::Batch,
            libc::SCHED_IDLE => Self::Idle,
            foreign => Self::Foreign(foreign),
        }
    }
}

/// Sets the class of thread `tid`; 0 is the calling one.
pub fn set(tid: i32, class: SchedClass) -> io::Result<()> {
    let (number, priority) = class.number();
    match class {
        SchedClass::RealTime(_) => call(tid, number | libc::SCHED_RESET_ON_FORK, priority),
        // Without privileges the flag cannot be cleared again; it does no harm.
        _ => match call(tid, number, priority) {
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
                call(tid, number | libc::SCHED_RESET_ON_FORK, priority)
            }
            done => done,
        },
    }
}

/// Puts thread `tid` into the class with the kernel's number `number`.
pub(crate) fn call(tid: i32, number: i32, priority: i32) -> io::Result<()> {
    // The system call itself, whose parameter is the priority alone: musl's function of that name refuses
    // every call, as its threads are not POSIX's processes. SAFETY: the priority is only read, and lives
    // until the call returns.
    match unsafe { libc::syscall(libc::SYS_sched_setscheduler, tid, number, &raw const priority) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The class of thread `tid`; 0 is the calling one. Real-time classes are reported as foreign: no caller asks
/// for those that we have set.
pub fn get(tid: i32) -> io::Result<SchedClass> {
    // SAFETY: the call touches no memory of ours.
    match unsafe { libc::syscall(libc::SYS_sched_getscheduler, tid) } as i32 {
        number if number >= 0 => Ok(SchedClass::from_number(number)),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_that_is_set_is_the_one_that_is_found() {
        // In a thread of its own: without privileges there is no way back.
        let found = std::thread::spawn(|| set(0, SchedClass::Idle).and_then(|()| get(0))).join();
        assert_eq!(found.expect("nothing panics").expect("lowering oneself is allowed"), SchedClass::Idle);
    }

    #[test]
    fn nobody_has_the_largest_thread_id() {
        assert_eq!(get(i32::MAX).expect_err("there is no such thread").raw_os_error(), Some(libc::ESRCH));
    }
}
