//! The helper thread of a process: it sends signs of life every quarter of the time limit, so that a process
//! that computes for long does not count as lost, and finds peers that send none, once they are late. It
//! sleeps otherwise.
//!
//! If the process also has links of another kind on which threads sleep, it passes on the first arrival after
//! [`super::Tcp::arm`].

use std::time::{Duration, Instant};

use super::Core;

/// How long a process that has announced its end waits at most for its last bytes to be sent.
pub(super) const LINGER: Duration = Duration::from_secs(2);

pub(super) fn run(core: &Core) {
    let every = core.limits.every();
    let (mut last, mut next) = (Instant::now(), Instant::now());
    while !core.is_stopping() {
        let now = Instant::now();
        if now >= next {
            core.links().for_each(|(_, link)| link.give_sign());
            next = now + every;
        }
        // If this process itself was stopped for some time, the others may have been too, so their silence
        // starts anew.
        if now.duration_since(last) > 2 * every {
            core.links().for_each(|(_, link)| link.heard());
        }
        last = now;
        let look_again = now + look(core);
        let nap = next.min(look_again).saturating_duration_since(Instant::now());
        if core.poller.nap(nap) && !core.is_stopping() {
            core.pass_on();
        }
    }
}

/// Looks at the signs of life of all peers, and says after which time to look again.
fn look(core: &Core) -> Duration {
    let (mut any, mut soonest) = (false, core.limits.every());
    for (_, link) in core.links() {
        let (found, left) = link.look_for_signs(core.limits);
        any |= found;
        soonest = soonest.min(left);
    }
    if any {
        core.wake();
        core.pass_on();
    }
    soonest
}
