//! Whether the workers of a run get the cores they want: how long they were ready to run and did not.
//!
//! Linux counts that for every thread (`/proc/self/task/N/schedstat`, the second number, in nanoseconds).
//! Where it is not counted, no worker ever counts as kept waiting.
//!
//! Invariant: what is said follows from the waiting of threads that were given; a thread seen for the first
//! time has waited since it began.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::workers::cores::{self, Leader};

/// Workers that together wait for this part of a core are kept from it by other programs: seconds of waiting,
/// added up over the workers, in a second.
const KEPT: f64 = 0.2;
/// In so many looks in a row: a single time slice of another program says nothing about the next.
const LOOKS: u32 = 2;

#[derive(Debug, Default)]
pub(crate) struct Crowd {
    /// What each worker had waited at the last look.
    waited: BTreeMap<i32, Duration>,
    /// Looks in a row in which they were kept waiting.
    looks: u32,
}

impl Crowd {
    /// Looks at `workers`, `since` the last look. Says whether it has just become certain that they are kept
    /// waiting.
    pub(crate) fn look(&mut self, workers: &[Leader], since: Duration) -> bool {
        let waited = workers.iter().filter_map(|worker| cores::waited(*worker)).collect();
        self.note(waited, since)
    }

    fn note(&mut self, waited: BTreeMap<i32, Duration>, since: Duration) -> bool {
        let more = |(worker, now): (&i32, &Duration)| {
            now.saturating_sub(self.waited.get(worker).copied().unwrap_or_default())
        };
        let kept: Duration = waited.iter().map(more).sum();
        self.waited = waited;
        let kept = !since.is_zero() && kept.as_secs_f64() >= KEPT * since.as_secs_f64();
        self.looks = if kept { self.looks.saturating_add(1) } else { 0 };
        // Exactly then, and not at later looks: it is said once, until a look has found them running again.
        self.looks == LOOKS
    }

    /// Whether the last look found them waiting.
    pub(crate) fn is_near(&self) -> bool {
        self.looks > 0
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const SINCE: Duration = Duration::from_millis(20);

    fn after_ms(times: &[(i32, u64)]) -> BTreeMap<i32, Duration> {
        times.iter().map(|(worker, ms)| (*worker, Duration::from_millis(*ms))).collect()
    }

    #[test]
    fn it_is_said_once_when_they_wait_long_twice_in_a_row() {
        let mut crowd = Crowd::default();
        assert!(!crowd.note(after_ms(&[(1, 5), (2, 0)]), SINCE), "the first time");
        assert!(!crowd.note(after_ms(&[(1, 8), (2, 0)]), SINCE), "3 of 20 ms are little");
        assert!(!crowd.note(after_ms(&[(1, 11), (2, 3)]), SINCE), "the first time again: 3 and 3 of 20 ms");
        assert!(crowd.note(after_ms(&[(2, 3), (3, 4)]), SINCE), "worker 3 is new and has waited 4 ms");
        assert!(!crowd.note(after_ms(&[(2, 20), (3, 20)]), SINCE), "it is known by now");
        assert!(crowd.is_near());
        assert!(!crowd.note(after_ms(&[(2, 20), (3, 20)]), SINCE) && !crowd.is_near());
    }

    #[test]
    fn nobody_waits_where_nobody_is() {
        let mut crowd = Crowd::default();
        assert!(!crowd.look(&[], SINCE) && !crowd.look(&[], Duration::ZERO) && !crowd.is_near());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_thread_has_waited_is_read() {
        let waited = cores::waited(cores::leader());
        let counted = std::path::Path::new("/proc/self/task").exists()
            && std::fs::read_to_string("/proc/self/schedstat").is_ok();
        assert_eq!(waited.is_some(), counted);
    }
}
