//! The helper thread of a process: gives signs of life every quarter of the time limit, so that a process that computes for long is not
//! taken for dead, and finds peers that give none. It sleeps otherwise.
//!
//! Where the process also has links of another kind to sleep on, it passes on the first arrival after [`super::Tcp::arm`].

use std::time::{Duration, Instant};

use super::Core;

/// What the thread does until it is stopped.
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

/// Looks after all connections. After this process itself was stopped for some time, others may have been as well, and are heard first.
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

/// How long a process that has taken leave looks after what it has sent, at most.
pub(super) fn linger(time_limit: Duration) -> Duration {
    time_limit.min(Duration::from_secs(2))
}
