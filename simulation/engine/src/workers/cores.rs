//! The cores that this process may use, how threads are pinned to them, and how long threads wait for one.

use std::io;
use std::num::NonZero;
use std::time::Duration;

/// How many worker threads make sense: the cores in the thread's affinity, or fewer where a cgroup quota says
/// so.
pub(crate) fn available() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    u32::try_from(cores).unwrap_or(u32::MAX)
}

/// A thread whose affinity can be followed.
#[cfg(target_os = "linux")]
pub(crate) type Leader = rustix::thread::Pid;
#[cfg(not(target_os = "linux"))]
pub(crate) type Leader = ();

/// The calling thread.
#[cfg(target_os = "linux")]
pub(crate) fn leader() -> Leader {
    rustix::thread::gettid()
}

/// How long the thread `worker` of this process has been ready to run without running since it began, with
/// its number; none where that is not counted, or the thread has ended.
#[cfg(target_os = "linux")]
pub(crate) fn waited(worker: Leader) -> Option<(i32, Duration)> {
    let number = worker.as_raw_nonzero().get();
    let counts = std::fs::read_to_string(format!("/proc/self/task/{number}/schedstat")).ok()?;
    let waited_ns = counts.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some((number, Duration::from_nanos(waited_ns)))
}

/// Not counted on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn waited((): Leader) -> Option<(i32, Duration)> {
    None
}

/// The calling thread.
#[cfg(not(target_os = "linux"))]
pub(crate) fn leader() -> Leader {}

/// What [`available`] says in the thread `leader`, whose affinity somebody may have changed from outside. The
/// calling thread takes that affinity over, since [`available`] looks at the thread that calls it (and at
/// cgroup quotas, which affinity does not say); where it cannot be taken over, its own counts.
#[cfg(target_os = "linux")]
pub(crate) fn available_to(leader: Leader) -> u32 {
    use rustix::thread::{sched_getaffinity, sched_setaffinity};
    let followed = sched_getaffinity(Some(leader)).and_then(|cores| sched_setaffinity(None, &cores));
    followed.map_or_else(|_| available(), |()| available())
}

/// What [`available`] says; threads have no affinity of their own here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn available_to((): Leader) -> u32 {
    available()
}

/// Binds the calling thread to the `worker`-th of the cores it may use, counted round: more workers than
/// cores share them evenly. Fails where the system refuses.
#[cfg(target_os = "linux")]
pub(crate) fn pin(worker: usize) -> io::Result<()> {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    // A thread that an earlier leg has pinned is allowed its one core by now, and stays there: it has the
    // same number in every leg.
    let allowed = sched_getaffinity(None)?;
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect();
    let mut one = CpuSet::new();
    one.set(cores[worker % cores.len()]);
    Ok(sched_setaffinity(None, &one)?)
}

/// Binding threads to cores is not offered on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn pin(_worker: usize) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}
