//! The communication-aware scheduler of Xen and Co. (Govindan et al., 2007): SEDF that prefers the domains that communicate.
//!
//! Source: co-scheduling thesis, sections 2.2.2.1 and 4.3.2, which tell what the scheduler does: it counts what comes in for
//! every domain and what every domain sends, on a page of statistics; it prefers the domain with most received packets; the
//! delay of a sender that is not scheduled cannot be foreseen, so its next sending is predicted from its last; the driver
//! domain, through which every packet goes, is to be scheduled soon; and every domain keeps its slice of its period. Here, at
//! every decision, among those that SEDF lets run in this line:
//! 1. DOM0 if messages wait for it;
//! 2. the domain with the greatest intensity: the messages that wait for it now (reception) and those that it is expected to
//!    send when it runs (anticipated transmission): as many as when it last ran;
//! 3. among equals, the domain that has received most in this `window` (100 ms, the period of a guest);
//! 4. then SEDF's order.
//!
//! What a guest sends appears as messages for DOM0 while the guest runs. Where several guests run at once, each is credited,
//! as [`Policy::pending`](crate::Policy::pending) does not tell the sender. (The published code never got to count this:
//! section 4.3.2.2.)
//!
//! Guarantee: preferred or not, a VCPU takes part in the run line only while it has slice left, so that the preference never
//! gives more than a slice; with equal periods that begin together, everybody has all of it. Deadlines of unequal periods
//! can be missed, as for [`csde`](crate::csde). Settings: those of SEDF, `choice` and `window`.

use crate::deadline::choice::{Candidate, Rank, Rule, most};
use crate::deadline::sedf::Sedf;
use crate::{Host, MILLISECOND, PolicyError, Settings};

#[derive(Debug)]
struct CommunicationAware {
    window_ns: u64,
}

impl Rule for CommunicationAware {
    fn name(&self) -> &'static str {
        "govindan"
    }

    fn rank(&self, preference: usize, candidate: &Candidate<'_>) -> Option<Rank> {
        let page = candidate.page;
        let first = page.privileged && page.pending > 0;
        let intensity = u64::from(page.pending) + page.sent;
        (preference == 0).then_some([u64::from(!first), most(intensity), most(page.received)])
    }

    fn window_ns(&self) -> Option<u64> {
        Some(self.window_ns)
    }
}

/// The communication-aware scheduler for `host`.
pub fn communication_aware(settings: &mut Settings, host: Host) -> Result<Sedf, PolicyError> {
    let window_ns = settings.nanos("window", 100 * MILLISECOND, 100_000, 1_000_000 * MILLISECOND)?;
    Sedf::with_rule(CommunicationAware { window_ns }, settings, host)
}
