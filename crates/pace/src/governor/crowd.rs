//! Whether others of the machine want the cores that a paced program uses: by the CPU time that is used on the whole machine, less that
//! of the paced threads.
//!
//! Invariant: a stretch in which threads have come or gone says nothing, since the time cannot be attributed.

use procfs::{CurrentSI, KernelStats};

use super::threads::Thread;

/// How often it is counted: many of the kernel's ticks, by which the machine's time is counted.
const PERIOD_NS: u64 = 60_000_000;
/// The CPU time of others, in thousandths of a core, from which on the machine is crowded: what one busy process gets at least
/// beside threads that are its equals.
const CROWDED_PERMILLE: u64 = 500;
/// Below this it is not any more: less than that process gets beside threads that are before it.
const ALONE_PERMILLE: u64 = 40;
/// So many counts in a row say so.
const CROWDED_COUNTS: u32 = 3;
const ALONE_COUNTS: u32 = 5;

/// What was counted last.
#[derive(Debug, Default)]
pub struct Crowd {
    now_ns: u64,
    busy_ns: u64,
    threads: usize,
    is_crowded: bool,
    /// Counts in a row by which it would be otherwise.
    against: u32,
}

impl Crowd {
    /// Whether others want cores, where these are the paced threads.
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
                _ => known = false,
            }
            count += 1;
        }
        let Some(busy_ns) = busy_ns() else { return self.is_crowded };
        let others_ns = busy_ns.saturating_sub(self.busy_ns).saturating_sub(own_ns);
        if known && count == self.threads && count > 0 {
            self.judge(others_ns * 1000 / past_ns);
        } else {
            self.against = 0;
        }
        (self.now_ns, self.busy_ns, self.threads) = (now_ns, busy_ns, count);
        self.is_crowded
    }

    /// Takes in a count, in thousandths of a core.
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
