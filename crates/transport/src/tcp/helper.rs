//! The helper thread of a process: it sends signs of life every quarter of the time limit, so that a process that computes for long
//! does not count as lost, and finds peers that send none. It sleeps otherwise.
//!
//! If the process also has links of another kind on which threads sleep, it passes on the first arrival after [`super::Tcp::arm`].

use std::time::{Duration, Instant};

use super::Core;

/// Runs until it is stopped.
pub(super) fn run(core: &Core) {
    let every = core.time_limit / 4;
    let (mut last, mut next) = (Instant::now(), Instant::now());
    while !core.is_stopping() {
        let now = Instant::now();
        if now >= next {
            tend(core, now.duration_since(last) > 2 * every);
            last = now;
            next = now + every;
        }
        if core.poller.nap(next.saturating_duration_since(Instant::now())) && !core.is_stopping() {
            core.pass_on();
        }
    }
}

/// Tends all connections. If this process itself was stopped for some time, the others may have been too, so their silence starts
/// anew.
fn tend(core: &Core, was_stopped: bool) {
    let mut any = false;
    for (_, link) in core.links() {
        if was_stopped {
            link.heard();
        }
        any |= link.tend(core.time_limit);
    }
    if any {
        core.wake();
        core.pass_on();
    }
}

/// How long a process that has announced its end waits at most for its last bytes to be sent.
pub(super) fn linger(time_limit: Duration) -> Duration {
    time_limit.min(Duration::from_secs(2))
}
