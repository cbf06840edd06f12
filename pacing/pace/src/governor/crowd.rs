//! Whether the machine is crowded, that is, whether other programs want the cores that a paced program uses.
//! It is judged by the CPU time used on the whole machine less that of the paced threads.
//!
//! Invariant: a period in which threads came or went is not judged, because its CPU time cannot be
//! attributed.

use procfs::{CurrentSI, KernelStats};

use super::threads::Thread;

/// How often CPU time is counted: a period of many kernel ticks, because the kernel counts the machine's time
/// in ticks.
const PERIOD_NS: u64 = 60_000_000;
/// From this CPU time of others on, in thousandths of a core, the machine is crowded: one busy process gets
/// at least as much beside threads that are its equals.
const CROWDED_PERMILLE: u64 = 500;
/// Below this it is no longer crowded: such a process gets more even beside threads that run before it.
const ALONE_PERMILLE: u64 = 40;
/// How many counts in a row change the judgement.
const CROWDED_COUNTS: u32 = 3;
const ALONE_COUNTS: u32 = 5;

/// The last count, and the judgement.
#[derive(Debug, Default)]
pub struct Crowd {
    now_ns: u64,
    busy_ns: u64,
    threads: usize,
    is_crowded: bool,
    /// How many counts in a row have contradicted the judgement.
    against: u32,
}

impl Crowd {
    /// Whether others want cores; `threads` are the paced ones.
    pub fn look<'a>(&mut self, now_ns: u64, threads: impl Iterator<Item = &'a Thread>) -> bool {
        let past_ns = now_ns - self.now_ns;
        if past_ns < PERIOD_NS {
            return self.is_crowded;
        }
        let (mut own_ns, mut count, mut known) = (0, 0, true);
        for thread in threads {
            let cpu_ns = thread.cpu_ns().ok();
            match (thread.counted_ns.replace(cpu_ns), cpu_ns) {
                (Some(before), Some(now)) => own_ns += now.saturating_sub(before),
                // It has ended, or was not there at the last count: its part of the period is not known.
                _ => known = false,
            }
            count += 1;
        }
        let Some(busy_ns) = busy_ns() else { return self.is_crowded };
        let others_ns = busy_ns.saturating_sub(self.busy_ns).saturating_sub(own_ns);
        if known && count == self.threads && count > 0 {
            self.judge(others_ns * 1000 / past_ns);
        } else {
            // Only counts in a row change the judgement, and this period has none.
            self.against = 0;
        }
        (self.now_ns, self.busy_ns, self.threads) = (now_ns, busy_ns, count);
        self.is_crowded
    }

    /// Judges by a count, in thousandths of a core.
    fn judge(&mut self, permille: u64) {
        let (is_against, enough) = match self.is_crowded {
            true => (permille < ALONE_PERMILLE, ALONE_COUNTS),
            false => (permille >= CROWDED_PERMILLE, CROWDED_COUNTS),
        };
        self.against = if is_against { self.against + 1 } else { 0 };
        if self.against >= enough {
            (self.is_crowded, self.against) = (!self.is_crowded, 0);
        }
    }
}

/// The CPU time that was used on this machine since it was started.
fn busy_ns() -> Option<u64> {
    let total = KernelStats::current().ok()?.total;
    // Not interrupts or stolen time, which no program of this machine has asked for.
    let ticks = total.user + total.nice + total.system;
    Some(ticks * (1_000_000_000 / procfs::ticks_per_second()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_changes_nothing_and_what_lasts_does() {
        let mut crowd = Crowd::default();
        for permille in [0, 900, 900, 100, 900, 499, 2000, 0] {
            crowd.judge(permille);
            assert!(!crowd.is_crowded);
        }
        for permille in [600, 600, 600] {
            crowd.judge(permille);
        }
        assert!(crowd.is_crowded);
        for permille in [0, 0, 0, 0, 100, 0, 0, 0, 0] {
            crowd.judge(permille);
            assert!(crowd.is_crowded, "it has its share of the releases");
        }
        crowd.judge(0);
        assert!(!crowd.is_crowded);
    }
}
