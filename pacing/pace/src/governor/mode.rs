//! What the governor is permitted to do. It is found out by trying it, in a short-lived thread.

use std::io;

use rustix::process::{Resource, getrlimit};

use crate::pacer::UnavailableError;
use crate::plan::Class;
use crate::sched::{self, SchedClass};

/// The priority of the governor itself and of its guard, above all priorities that it gives to threads.
pub const OWN_PRIORITY: i32 = 4;

/// The name of the real-time mode.
pub const REAL_TIME: &str = "governor (real-time)";
/// The name of the mode without real-time priorities.
pub const NICE: &str = "governor (nice)";

/// How long a turn has to be if only weights decide which thread runs: two ticks of a slow kernel.
const NICE_TURN_NS: u64 = 8_000_000;
/// The least part of the time, in thousandths, that is left to the rest of the machine.
const RELEASE_LEAST_PERMILLE: u32 = 100;
/// The least part that is left while few other threads want a core.
const ALONE_LEAST_PERMILLE: u32 = 60;
/// The part of the kernel's limit for real-time threads that is used, in thousandths: usually, and while few
/// other threads want a core.
const USED_PERMILLE: i64 = 950;
const ALONE_USED_PERMILLE: i64 = 985;
/// The greatest part that may be left: with less than a fifth of the time, real-time priorities are of no
/// use.
const RELEASE_MOST_PERMILLE: u32 = 800;

/// What is permitted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mode {
    /// Real-time priorities, from 1 for the reserve to 3 for turns.
    RealTime {
        /// Whether threads that are not to run can be put into the idle class, and taken back out of it.
        idle: bool,
        /// The part of the time, in thousandths, in which no thread has a real-time priority.
        release_permille: u32,
        /// The same while few other threads want a core: little more than the kernel requires.
        alone_permille: u32,
    },
    /// The normal class and the idle class, which is below the highest nice level.
    Nice,
}

impl Mode {
    /// Real-time priorities, or why they are not permitted.
    pub fn real_time() -> Result<Self, UnavailableError> {
        let refuse = |reason: String| UnavailableError { policy: REAL_TIME, reason };
        let probe = |class| tried(move || sched::set(0, class));
        probe(SchedClass::RealTime(OWN_PRIORITY)).map_err(|error| {
            refuse(match error.kind() {
                io::ErrorKind::PermissionDenied => format!(
                    "not permitted (needs CAP_SYS_NICE or RLIMIT_RTPRIO of at least {OWN_PRIORITY}, and real-time \
                     runtime in the cgroup)"
                ),
                _ => error.to_string(),
            })
        })?;
        if let Some(limit_us) = getrlimit(Resource::Rttime).current {
            // The kernel counts the time in which a thread is above others, and signals SIGXCPU at the limit,
            // which ends it.
            return Err(refuse(format!(
                "RLIMIT_RTTIME of {limit_us} us would end threads that spin (ulimit -R unlimited)"
            )));
        }
        let (runtime, period) = (read("sched_rt_runtime_us"), read("sched_rt_period_us"));
        let left = |used, least| release_permille(&runtime, &period, used, least);
        let too_little = || refuse("the kernel leaves real-time threads too little time".into());
        let release_permille = left(USED_PERMILLE, RELEASE_LEAST_PERMILLE).ok_or_else(too_little)?;
        let alone_permille = left(ALONE_USED_PERMILLE, ALONE_LEAST_PERMILLE).ok_or_else(too_little)?;
        Ok(Self::RealTime { idle: tried(idle_and_back).is_ok(), release_permille, alone_permille })
    }

    /// Nice levels, or why they are not permitted.
    pub fn nice() -> Result<Self, UnavailableError> {
        tried(idle_and_back).map(|()| Self::Nice).map_err(|error| UnavailableError {
            policy: NICE,
            reason: match error.kind() {
                io::ErrorKind::PermissionDenied => {
                    "not permitted (needs CAP_SYS_NICE or RLIMIT_NICE of at least 20)".into()
                }
                _ => error.to_string(),
            },
        })
    }

    /// Its name in reports and refusals.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RealTime { .. } => REAL_TIME,
            Self::Nice => NICE,
        }
    }

    /// The class of the governor itself, and of its guard.
    pub const fn governor_class(self) -> SchedClass {
        match self {
            Self::RealTime { .. } => SchedClass::RealTime(OWN_PRIORITY),
            Self::Nice => SchedClass::Other,
        }
    }

    /// The kernel's class for a thread that the planner has put into `class`, and whose normal one is
    /// `normal`.
    pub const fn class(self, class: Class, normal: SchedClass) -> SchedClass {
        match (self, class) {
            (Self::RealTime { .. }, Class::Turn) => SchedClass::RealTime(3),
            (Self::RealTime { .. }, Class::Front) => SchedClass::RealTime(2),
            (Self::RealTime { .. }, Class::Reserve) => SchedClass::RealTime(1),
            (Self::RealTime { idle: true, .. } | Self::Nice, Class::Back) => SchedClass::Idle,
            _ => normal,
        }
    }

    /// The part of the time that is left to the rest of the machine, in thousandths, usually and while few
    /// other threads want a core; how long a turn has to be to have an effect; whether there is a
    /// reserve.
    pub const fn needs(self, slice_ns: u64) -> (u32, u32, u64, bool) {
        match self {
            Self::RealTime { release_permille, alone_permille, .. } => {
                (release_permille, alone_permille, slice_ns, true)
            }
            Self::Nice => (0, 0, NICE_TURN_NS, false),
        }
    }
}

/// Makes the calling thread run before all threads that the governor paces, like the governor itself. This is
/// for threads that serve paced ones and have little to do, such as a relay of a virtual machine. Its
/// children start in the normal class.
///
/// # Errors
///
/// If real-time priorities are not permitted. The governor then has none either.
pub fn run_before_paced() -> io::Result<()> {
    sched::set(0, SchedClass::RealTime(OWN_PRIORITY))
}

/// Makes the calling thread run in the normal class again after [`run_before_paced`].
///
/// # Errors
///
/// If the system refuses that.
pub fn run_as_usual() -> io::Result<()> {
    sched::set(0, SchedClass::Other)
}

/// The result of `call` in a thread of its own, whose scheduling does not matter.
fn tried(call: impl FnOnce() -> io::Result<()> + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().spawn(call)?.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
}

fn idle_and_back() -> io::Result<()> {
    sched::set(0, SchedClass::Idle)?;
    sched::set(0, SchedClass::Other)
}

fn read(setting: &str) -> String {
    std::fs::read_to_string(format!("/proc/sys/kernel/{setting}")).unwrap_or_default()
}

/// The part of the time, in thousandths, to leave to others, so that the kernel does not throttle real-time
/// threads: the part that it would take, and a little more; `least` if it never throttles, or does not say;
/// none if too little time would remain.
fn release_permille(runtime: &str, period: &str, used_permille: i64, least: u32) -> Option<u32> {
    let number = |text: &str| text.trim().parse::<i64>().ok();
    let (Some(runtime @ 0..), Some(period @ 1..)) = (number(runtime), number(period)) else {
        return Some(least);
    };
    let left = u32::try_from(1000 - (runtime.min(period) * used_permille / period)).unwrap_or(1000);
    (left <= RELEASE_MOST_PERMILLE).then_some(left.max(least))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_throttle_is_kept_and_a_tenth_is_left_where_there_is_none() {
        let usual =
            |runtime, period| release_permille(runtime, period, USED_PERMILLE, RELEASE_LEAST_PERMILLE);
        assert_eq!(usual("950000\n", "1000000\n"), Some(100));
        assert_eq!(usual("-1\n", "1000000\n"), Some(100));
        assert_eq!(usual("", ""), Some(100));
        assert_eq!(usual("500000", "1000000"), Some(525));
        assert_eq!(usual("0", "1000000"), None);
        for runtime in (100_000..=1_000_000).step_by(50_000) {
            for (used, least) in
                [(USED_PERMILLE, RELEASE_LEAST_PERMILLE), (ALONE_USED_PERMILLE, ALONE_LEAST_PERMILLE)]
            {
                if let Some(left) = release_permille(&runtime.to_string(), "1000000", used, least) {
                    assert!(1_000_000 - i64::from(left) * 1000 <= runtime, "{runtime}: {left}");
                }
            }
        }
    }
}
