//! Periodic Boost and Periodic Boost with Timestamp: SEDF that puts one domain first, chosen by the messages
//! that it has received.
//!
//! Source: co-scheduling thesis, sections 2.1.2.1 and 4.3. The statistics page holds, per domain, the number
//! of pending messages and when the last one came; the hypervisor reads it at every decision, so the period
//! of the boost is that of the decisions. The domain that is put first, in the run line and in extra time
//! alike:
//!
//! | name | first |
//! |---|---|
//! | `boost-1a` | the guest with most messages |
//! | `boost-1b` | DOM0, if it has a message |
//! | `boost-1c` | the domain with most messages, DOM0 or guest |
//! | `boost-2a` | the domain whose last message came last |
//! | `boost-2bi` | the same, if that was at most `window` ago (20 ms) |
//! | `boost-2bii` | the same, else as `boost-1c` |
//!
//! Only a domain with a message is put first; if there is none, SEDF's own order holds. It also decides among
//! equals; CSDE differs here: its ties go to the VCPU that waited longest.
//! Settings: those of SEDF, `choice` as for [`csde`](crate::csde), and `window` for the rules that have one.
//! The page is ready when a decision is made: a scan reads one entry per candidate.

use crate::deadline::choice::{Candidate, Rank, Rule, most};
use crate::deadline::sedf::Sedf;
use crate::{Host, MILLISECOND, PolicyError, Settings};

/// The domain that is put first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    MostPendingGuest,
    PrivilegedWithPending,
    MostPending,
    /// The one with the latest message, if that came at most so long ago.
    Latest(u64),
}

/// The preferences, in the order in which they are tried.
#[derive(Debug)]
struct Boost {
    firsts: Vec<First>,
}

impl Rule for Boost {
    fn rank(&self, preference: usize, candidate: &Candidate<'_>) -> Option<Rank> {
        let page = candidate.page;
        let (among, rank) = match self.firsts.get(preference)? {
            First::MostPendingGuest => (!page.privileged, most(page.pending.into())),
            First::PrivilegedWithPending => (page.privileged, 0),
            First::MostPending => (true, most(page.pending.into())),
            First::Latest(_) => (true, most(page.last_ns)),
        };
        (among && page.pending > 0).then_some([rank, 0, 0])
    }

    fn holds(&self, preference: usize, rank: Rank, now_ns: u64) -> bool {
        match self.firsts[preference] {
            First::Latest(window_ns) => now_ns - most(rank[0]) <= window_ns,
            _ => true,
        }
    }
}

/// The boost called `name` (one of the table) for `host`.
pub fn boost(name: &str, settings: &mut Settings, host: Host) -> Result<Sedf, PolicyError> {
    let mut window =
        || settings.nanos("window", 20 * MILLISECOND, 1_000, 1_000_000 * MILLISECOND).map(First::Latest);
    let firsts = match name {
        "boost-1a" => vec![First::MostPendingGuest],
        "boost-1b" => vec![First::PrivilegedWithPending],
        "boost-1c" => vec![First::MostPending],
        "boost-2a" => vec![First::Latest(u64::MAX)],
        "boost-2bi" => vec![window()?],
        "boost-2bii" => vec![window()?, First::MostPending],
        _ => unreachable!("the registry passes only names of the table"),
    };
    Sedf::with_rule(Boost { firsts }, settings, host)
}
