//! CSDE and CSDD: SEDF that chooses the VCPU whose domain has most messages waiting on its event channels.
//!
//! Source: co-scheduling thesis, section 4.4.4 and appendix A.2. At every decision the choice is among the
//! VCPUs that SEDF would let run: those with slice left in this period or, if there are none, those in extra
//! time. The one with most messages is first; among equals the one that has waited longest, by the time at
//! which it was last chosen.
//! - CSDE (domain equivalence) treats DOM0 like the others.
//! - CSDD (domain distinguishing) takes DOM0 first if it has any message.
//!
//! In the appendix the outcome depends on where the scan meets DOM0: without messages it can only win from
//! the head of the queue. Here DOM0 without messages is treated like the others.
//! The listing scans the run queue only; the thesis prints no scan of extra time. Here the rule holds there
//! too. CSDE and CSDD choose differently only if DOM0 has a message and a guest that stands with it, in
//! slices or in extra time, has more, or as many and has waited longer.
//!
//! The paper looks at the event channels of every candidate, O(N x M) for N candidates with M ports. Here an
//! ordered index that [`Policy::pending`](crate::Policy::pending) keeps up to date gives the same in O(log
//! N); the setting `choice = "scan"` selects the paper's way, for `ports` ports (1,024). The arrival of a
//! message causes no decision by itself. Slices are guaranteed, deadlines are not (section 6.2.2): see
//! [`sedf`](crate::sedf).

use crate::deadline::choice::{Candidate, Rank, Rule, most};
use crate::deadline::sedf::Sedf;
use crate::{Host, PolicyError, Settings};

#[derive(Debug)]
struct MostPending {
    /// Whether DOM0 goes before all guests while it has messages.
    distinguishes: bool,
    ports: u32,
}

impl Rule for MostPending {
    fn rank(&self, preference: usize, candidate: &Candidate<'_>) -> Option<Rank> {
        let page = candidate.page;
        let first = self.distinguishes && page.privileged && page.pending > 0;
        (preference == 0).then_some([u64::from(!first), most(page.pending.into()), candidate.chosen_ns])
    }

    fn entries(&self) -> u32 {
        self.ports
    }
}

/// CSDE for `host`: the settings of SEDF, `choice` and `ports`.
pub fn csde(settings: &mut Settings, host: Host) -> Result<Sedf, PolicyError> {
    most_pending(false, settings, host)
}

/// CSDD for `host`, with the same settings.
pub fn csdd(settings: &mut Settings, host: Host) -> Result<Sedf, PolicyError> {
    most_pending(true, settings, host)
}

fn most_pending(distinguishes: bool, settings: &mut Settings, host: Host) -> Result<Sedf, PolicyError> {
    let ports = settings.count("ports", 1024, 1, 1 << 17)? as u32;
    Sedf::with_rule(MostPending { distinguishes, ports }, settings, host)
}
