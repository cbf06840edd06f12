//! The table of all policies: their names, descriptions, settings and constructors. All code that lists,
//! parses or builds policies by name uses this table.
//!
//! Invariants, which tests keep: names differ; a policy's own name is that of its row; the keys of a row are
//! those that its policy reads from its settings.
//!
//! To add a policy, implement `Policy` in the folder of its family and give it a row here; scenarios,
//! `compare` and `list` take it from here.

use crate::arinc653::Arinc653;
use crate::boost::boost;
use crate::bvt::Bvt;
use crate::credit::Credit;
use crate::credit2::Credit2;
use crate::csde::{csdd, csde};
use crate::flexible::flexible;
use crate::gang::Gang;
use crate::govindan::communication_aware;
use crate::implicit::Implicit;
use crate::nsx::Nsx;
use crate::nsx_plus::NsxPlus;
use crate::null::Null;
use crate::psx::Psx;
use crate::psx_plus::PsxPlus;
use crate::round_robin::RoundRobin;
use crate::rt::{Deferrable, Periodic, Polling, RtServers, Sporadic};
use crate::rtds::Rtds;
use crate::sedf::Sedf;
use crate::{Host, Policy, PolicyError, Settings};

/// Makes a policy from its settings.
type Constructor = fn(&mut Settings, Host) -> Result<Box<dyn Policy>, PolicyError>;

/// One policy: a row of [`POLICIES`].
#[derive(Clone, Copy, Debug)]
pub struct PolicyKind {
    /// The name by which [`build`] finds it.
    pub name: &'static str,
    /// A description of one line.
    pub about: &'static str,
    /// The keys of its settings, in the order in which it reads them.
    pub keys: &'static [&'static str],
    /// The keys of the settings of a domain under it.
    pub domain_keys: &'static [&'static str],
    constructor: Constructor,
}

/// The settings of a domain under SEDF.
const SHARE: &[&str] = &["period", "slice", "extra"];
/// The settings of a domain under the servers of RT-Xen.
const SERVER: &[&str] = &["priority", "budget", "period"];

/// Every policy that [`build`] knows.
pub static POLICIES: &[PolicyKind] = &[
    PolicyKind {
        name: "round-robin",
        about: "all VCPUs in turn, for a slice each",
        keys: &["slice"],
        domain_keys: &[],
        constructor: |settings, host| boxed(RoundRobin::from_settings(settings, host)),
    },
    PolicyKind {
        name: "credit",
        about: "Xen's credit scheduler: shares by weight and cap, a boost for VCPUs that wake",
        keys: &["slice", "tick", "ratelimit", "accounting", "boost", "load_balance", "saved_slices"],
        domain_keys: &["weight", "cap", "soft_affinity"],
        constructor: |settings, host| boxed(Credit::from_settings(settings, host)),
    },
    PolicyKind {
        name: "sedf",
        about: "a slice of every period, and extra time: earliest deadline first",
        keys: &["quantum"],
        domain_keys: SHARE,
        constructor: |settings, host| boxed(Sedf::from_settings(settings, host)),
    },
    PolicyKind {
        name: "csde",
        about: "SEDF, most pending messages first",
        keys: &["ports", "choice", "quantum"],
        domain_keys: SHARE,
        constructor: |settings, host| boxed(csde(settings, host)),
    },
    PolicyKind {
        name: "csdd",
        about: "SEDF, DOM0 with messages first, then most pending messages",
        keys: &["ports", "choice", "quantum"],
        domain_keys: SHARE,
        constructor: |settings, host| boxed(csdd(settings, host)),
    },
    PolicyKind {
        name: "boost-1a",
        about: "SEDF, the guest with most pending messages first",
        keys: &["choice", "quantum"],
        domain_keys: SHARE,
        constructor: |settings, host| boxed(boost("boost-1a", settings, host)),
    },
    PolicyKind {
        name: "boost-1b",
        about: "SEDF, DOM0 with messages first",
        keys: &["choice", "quantum"],
        domain_keys: SHARE,
        constructor: |settings, host| boxed(boost("boost-1b", settings, host)),
    },
    PolicyKind {
        name: "boost-1c",
        about: "SEDF, the domain with most pending messages first, if any has some",
        keys: &["choice", "quantum"],
        domain_keys: SHARE,
        constructor: |settings, host| boxed(boost("boost-1c", settings, host)),
    },
    PolicyKind {
        name: "boost-2a",
        about: "SEDF, the domain with the latest message first",
        keys: &["choice", "quantum"],
        domain_keys: SHARE,
        constructor: |settings, host| boxed(boost("boost-2a", settings, host)),
    },
    PolicyKind {
        name: "boost-2bi",
        about: "SEDF, the domain with the latest message of the last 20 ms first",
        keys: &["window", "choice", "quantum"],
        domain_keys: SHARE,
        constructor: |settings, host| boxed(boost("boost-2bi", settings, host)),
    },
    PolicyKind {
        name: "boost-2bii",
        about: "SEDF, the latest message of the last 20 ms, else most pending messages",
        keys: &["window", "choice", "quantum"],
        domain_keys: SHARE,
        constructor: |settings, host| boxed(boost("boost-2bii", settings, host)),
    },
    PolicyKind {
        name: "psx",
        about: "the least simulation time first, as guests report it (PSX)",
        keys: &["tick", "reads", "rereads"],
        domain_keys: &[],
        constructor: |settings, host| boxed(Psx::from_settings(settings, host)),
    },
    PolicyKind {
        name: "nsx",
        about: "a virtual clock per VCPU, the least first (NSX)",
        keys: &["tick", "dom0_ticks", "stagger", "adjust", "adjust_all", "max_diff_ticks"],
        domain_keys: &[],
        constructor: |settings, host| boxed(Nsx::from_settings(settings, host)),
    },
    PolicyKind {
        name: "govindan",
        about: "SEDF, DOM0 with messages first, then the domain that receives and sends most",
        keys: &["window", "choice", "quantum"],
        domain_keys: SHARE,
        constructor: |settings, host| boxed(communication_aware(settings, host)),
    },
    PolicyKind {
        name: "implicit",
        about: "time sharing that boosts VCPUs with pending messages: at once, periodically or not",
        keys: &["slice", "reaction", "boost-period"],
        domain_keys: &[],
        constructor: |settings, host| boxed(Implicit::from_settings(settings, host)),
    },
    PolicyKind {
        name: "credit2",
        about: "Xen's second credit scheduler: most credits first, burnt by weight; caps",
        keys: &["migrate_resist", "ratelimit", "most_slice", "cap_period"],
        domain_keys: &["weight", "cap", "soft_affinity"],
        constructor: |settings, host| boxed(Credit2::from_settings(settings, host)),
    },
    PolicyKind {
        name: "bvt",
        about: "borrowed virtual time: least effective virtual time first",
        keys: &["ctx_allow"],
        domain_keys: &["mcu_advance", "warp", "warp_limit", "unwarp"],
        constructor: |settings, host| boxed(Bvt::from_settings(settings, host)),
    },
    PolicyKind {
        name: "gang",
        about: "all VCPUs of a domain at the same time, in slots",
        keys: &["slot"],
        domain_keys: &["gang"],
        constructor: |settings, host| boxed(Gang::from_settings(settings, host)),
    },
    PolicyKind {
        name: "flexible",
        about: "gang scheduling of VCPUs that need it; the others fill the gaps",
        keys: &["evaluate", "messages", "use", "slot"],
        domain_keys: &["gang"],
        constructor: |settings, host| boxed(flexible(settings, host)),
    },
    PolicyKind {
        name: "arinc653",
        about: "a window for every domain in each major frame",
        keys: &["major_frame"],
        domain_keys: &["offset", "runtime"],
        constructor: |settings, host| boxed(Arinc653::from_settings(settings, host)),
    },
    PolicyKind {
        name: "rt-deferrable",
        about: "RT-Xen: fixed priorities, a budget kept until the period ends",
        keys: &[],
        domain_keys: SERVER,
        constructor: |_, host| Ok(Box::new(RtServers::<Deferrable>::new(host))),
    },
    PolicyKind {
        name: "rt-periodic",
        about: "RT-Xen: fixed priorities, a budget idled away without work",
        keys: &[],
        domain_keys: SERVER,
        constructor: |_, host| Ok(Box::new(RtServers::<Periodic>::new(host))),
    },
    PolicyKind {
        name: "rt-polling",
        about: "RT-Xen: fixed priorities, a budget lost without work",
        keys: &[],
        domain_keys: SERVER,
        constructor: |_, host| Ok(Box::new(RtServers::<Polling>::new(host))),
    },
    PolicyKind {
        name: "rt-sporadic",
        about: "RT-Xen: fixed priorities, used budget is replenished a period later",
        keys: &[],
        domain_keys: SERVER,
        constructor: |_, host| Ok(Box::new(RtServers::<Sporadic>::new(host))),
    },
    PolicyKind {
        name: "rtds",
        about: "Xen's RTDS: a budget in every period, earliest deadline first over all PCPUs",
        keys: &[],
        domain_keys: &["period", "budget", "extratime"],
        constructor: |_, host| Ok(Box::new(Rtds::new(host))),
    },
    PolicyKind {
        name: "null",
        about: "Xen's null scheduler: every VCPU has a PCPU of its own",
        keys: &["wait"],
        domain_keys: &["soft_affinity"],
        constructor: |settings, host| boxed(Null::from_settings(settings, host)),
    },
    PolicyKind {
        name: "psx-plus",
        about: "the least simulation time first, with a share for every VCPU and a demotion for those that wait",
        keys: &["tick", "patience", "period", "share_percent"],
        domain_keys: &[],
        constructor: |settings, host| boxed(PsxPlus::from_settings(settings, host)),
    },
    PolicyKind {
        name: "nsx-plus",
        about: "virtual clocks that run exactly and may differ by a tick",
        keys: &["tick", "dom0_ticks"],
        domain_keys: &[],
        constructor: |settings, host| boxed(NsxPlus::from_settings(settings, host)),
    },
];

fn boxed<P: Policy + 'static>(policy: Result<P, PolicyError>) -> Result<Box<dyn Policy>, PolicyError> {
    Ok(Box::new(policy?))
}

/// The names of all policies, in the order of [`POLICIES`].
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    POLICIES.iter().map(|kind| kind.name)
}

/// The policy called `name`, one of [`POLICIES`], for `host`, with its own settings.
pub fn build(name: &str, settings: &mut Settings, host: Host) -> Result<Box<dyn Policy>, PolicyError> {
    let Some(kind) = POLICIES.iter().find(|kind| kind.name == name) else {
        let allowed = names().collect::<Vec<_>>().join(", ");
        return Err(PolicyError::UnknownPolicy { kind: name.into(), allowed });
    };
    let policy = (kind.constructor)(settings, host)?;
    settings.finish(name)?;
    Ok(policy)
}
