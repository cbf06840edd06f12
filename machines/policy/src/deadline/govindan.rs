//! The communication-aware scheduler of Xen and Co. (Govindan et al., 2007): SEDF that prefers the domains
//! that communicate.
//!
//! Source: co-scheduling thesis, sections 2.2.2.1 and 4.3.2, which say what the scheduler does: it counts on
//! a page of statistics what every domain receives and sends; it prefers the domain that has received most
//! packets; the delay of a sender that is not scheduled cannot be foreseen, so what it will send is predicted
//! from what it last sent; the driver domain, through which every packet goes, is to be scheduled soon; and
//! every domain keeps its slice of its period. Here, at every decision, among those that SEDF lets run in
//! this line:
//! 1. DOM0 if it has pending messages;
//! 2. the domain with the greatest intensity: its pending messages (reception) plus those that it is expected
//!    to send when it runs (anticipated transmission), which are as many as when it last ran;
//! 3. among equals, the domain that has received most in this `window` (100 ms, the period of a guest);
//! 4. then SEDF's order.
//!
//! What a guest sends appears as messages for DOM0 while the guest runs. If several guests run at once, each
//! is credited, because [`Policy::pending`](crate::Policy::pending) does not name the sender. (The published
//! code never counted this, because of a bug: section 4.3.2.2.)
//!
//! Guarantee: preferred or not, a VCPU takes part in the run line only while it has slice left, so that the
//! preference never gives more than a slice; with equal periods that begin together, every VCPU gets its
//! whole slice. Deadlines of unequal periods can be missed, as for [`csde`](crate::csde). Settings: those of
//! SEDF, `choice` and `window`.

use crate::deadline::choice::{Candidate, Rank, Rule, most};
use crate::deadline::sedf::Sedf;
use crate::{Host, MILLISECOND, PolicyError, Settings};

#[derive(Debug)]
struct CommunicationAware {
    window_ns: u64,
}

impl Rule for CommunicationAware {
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
