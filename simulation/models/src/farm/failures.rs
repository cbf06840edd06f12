//! The process that makes a host fail and come back.
//!
//! Invariant: it runs on a host that does not fail, or comes back with the one that it makes fail; and it
//! does not keep the run from ending (it is a daemon).

use paceline_kernel::Time;
use paceline_network::HostId;
use paceline_processes::Process;

use super::{FAILURES, Failing, Message};

/// The process that switches `host` off and on.
pub(super) async fn run(cx: Process<Message>, host: HostId, failing: Failing) {
    cx.daemonize();
    loop {
        cx.sleep(drawn(&cx, failing.between_failures)).await;
        cx.count(FAILURES, 1);
        cx.switch_off(host);
        cx.sleep(drawn(&cx, failing.repair)).await;
        cx.switch_on(host);
    }
}

/// The process that switches its own host off, and begins anew when that comes back: it acts on no other
/// host.
pub(super) async fn run_at_host(cx: Process<Message>, failing: Failing) {
    cx.daemonize();
    cx.sleep(drawn(&cx, failing.between_failures)).await;
    cx.count(FAILURES, 1);
    cx.switch_off_for(cx.host(), drawn(&cx, failing.repair));
    // It ends here, with its host.
    cx.yield_now().await;
}

/// An exponentially distributed time with this mean; at least 1 ns, so that time advances.
fn drawn(cx: &Process<Message>, mean: Time) -> Time {
    let seconds = cx.draw(|rng| rng.exponential(mean.as_secs_f64()));
    Time::from_secs_f64(seconds).max(Time::nanos(1))
}
