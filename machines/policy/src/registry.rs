//! The table of all policies: their names, descriptions, settings and constructors. All code that lists,
//! parses or builds policies by name uses this table.
//!
//! Invariants, which tests keep: names differ; the keys of a row are those that its policy reads from its
//! settings.
//!
//! To add a policy, implement `Policy` in the folder of its family and give it a row here; scenarios,
//! `compare` and `list` take it from here. The list and the tables of `docs/machines.md` show what is here:
//! `PACELINE_WRITE_BOOK=1` writes them (`command/tests/program/book.rs`). A policy that admits a domain with
//! settings only needs these in `settings` of `tests/policies/every.rs`.

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
use crate::rt::{Deferrable, Periodic, Polling, RtServers, Rule, Sporadic};
use crate::rtds::Rtds;
use crate::sedf::Sedf;
use crate::{Host, Policy, PolicyError, Settings};

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
const SHARE: [&str; 3] = ["period", "slice", "extra"];
/// The settings of a domain under the servers of RT-Xen.
const SERVER: [&str; 3] = ["priority", "budget", "period"];

/// Writes the table: `NAME: DESCRIPTION => CONSTRUCTOR, keys KEYS, of domains KEYS;` for each policy. Where
/// one constructor makes several policies, `as NAME` after it is its first argument.
macro_rules! policies {
    ($($name:literal: $about:literal
        => $policy:path, $(as $which:literal,)? keys $keys:expr, of domains $domain_keys:expr;)+) => {
        /// Every policy that [`build`] knows.
        pub static POLICIES: &[PolicyKind] = &[$(PolicyKind {
            name: $name,
            about: $about,
            keys: &$keys,
            domain_keys: &$domain_keys,
            constructor: |settings, host| Ok(Box::new($policy($($which,)? settings, host)?)),
        }),+];
    };
}

policies! {
    "round-robin": "all VCPUs in turn, for a slice each"
        => RoundRobin::from_settings, keys ["slice"], of domains [];
    "credit": "Xen's credit scheduler: shares by weight and cap, a boost for VCPUs that wake"
        => Credit::from_settings,
            keys ["slice", "tick", "ratelimit", "accounting", "boost", "load_balance", "saved_slices"],
            of domains ["weight", "cap", "soft_affinity"];
    "sedf": "a slice of every period, and extra time: earliest deadline first"
        => Sedf::from_settings, keys ["quantum"], of domains SHARE;
    "csde": "SEDF, most pending messages first"
        => csde, keys ["ports", "choice", "quantum"], of domains SHARE;
    "csdd": "SEDF, DOM0 with messages first, then most pending messages"
        => csdd, keys ["ports", "choice", "quantum"], of domains SHARE;
    "boost-1a": "SEDF, the guest with most pending messages first"
        => boost, as "boost-1a", keys ["choice", "quantum"], of domains SHARE;
    "boost-1b": "SEDF, DOM0 with messages first"
        => boost, as "boost-1b", keys ["choice", "quantum"], of domains SHARE;
    "boost-1c": "SEDF, the domain with most pending messages first, if any has some"
        => boost, as "boost-1c", keys ["choice", "quantum"], of domains SHARE;
    "boost-2a": "SEDF, the domain with the latest message first"
        => boost, as "boost-2a", keys ["choice", "quantum"], of domains SHARE;
    "boost-2bi": "SEDF, the domain with the latest message of the last 20 ms first"
        => boost, as "boost-2bi", keys ["window", "choice", "quantum"], of domains SHARE;
    "boost-2bii": "SEDF, the latest message of the last 20 ms, else most pending messages"
        => boost, as "boost-2bii", keys ["window", "choice", "quantum"], of domains SHARE;
    "psx": "the least simulation time first, as guests report it (PSX)"
        => Psx::from_settings, keys ["tick", "reads", "rereads"], of domains [];
    "nsx": "a virtual clock per VCPU, the least first (NSX)"
        => Nsx::from_settings, keys ["tick", "dom0_ticks", "stagger", "adjust", "adjust_all", "max_diff_ticks"],
            of domains [];
    "govindan": "SEDF, DOM0 with messages first, then the domain that receives and sends most"
        => communication_aware, keys ["window", "choice", "quantum"], of domains SHARE;
    "implicit": "time sharing that boosts VCPUs with pending messages: at once, periodically or not"
        => Implicit::from_settings, keys ["slice", "reaction", "boost-period"], of domains [];
    "credit2": "Xen's second credit scheduler: most credits first, burnt by weight; caps"
        => Credit2::from_settings, keys ["migrate_resist", "ratelimit", "most_slice", "cap_period"],
            of domains ["weight", "cap", "soft_affinity"];
    "bvt": "borrowed virtual time: least effective virtual time first"
        => Bvt::from_settings, keys ["ctx_allow"], of domains ["mcu_advance", "warp", "warp_limit", "unwarp"];
    "gang": "all VCPUs of a domain at the same time, in slots"
        => Gang::from_settings, keys ["slot"], of domains ["gang"];
    "flexible": "gang scheduling of VCPUs that need it; the others fill the gaps"
        => flexible, keys ["evaluate", "messages", "use", "slot"], of domains ["gang"];
    "arinc653": "a window for every domain in each major frame"
        => Arinc653::from_settings, keys ["major_frame"], of domains ["offset", "runtime"];
    "rt-deferrable": "RT-Xen: fixed priorities, a budget kept until the period ends"
        => servers::<Deferrable>, keys [], of domains SERVER;
    "rt-periodic": "RT-Xen: fixed priorities, a budget idled away without work"
        => servers::<Periodic>, keys [], of domains SERVER;
    "rt-polling": "RT-Xen: fixed priorities, a budget lost without work"
        => servers::<Polling>, keys [], of domains SERVER;
    "rt-sporadic": "RT-Xen: fixed priorities, used budget is replenished a period later"
        => servers::<Sporadic>, keys [], of domains SERVER;
    "rtds": "Xen's RTDS: a budget in every period, earliest deadline first over all PCPUs"
        => rtds, keys [], of domains ["period", "budget", "extratime"];
    "null": "Xen's null scheduler: every VCPU has a PCPU of its own"
        => Null::from_settings, keys ["wait"], of domains ["soft_affinity"];
    "psx-plus": "the least simulation time first, with a share for every VCPU and a demotion for those that wait"
        => PsxPlus::from_settings, keys ["tick", "patience", "period", "share_percent"], of domains [];
    "nsx-plus": "virtual clocks that run exactly and may differ by a tick"
        => NsxPlus::from_settings, keys ["tick", "dom0_ticks"], of domains [];
}

/// The servers of RT-Xen have settings for domains only.
fn servers<R: Rule>(_: &mut Settings, host: Host) -> Result<RtServers<R>, PolicyError> {
    Ok(RtServers::new(host))
}

/// RTDS has settings for domains only.
fn rtds(_: &mut Settings, host: Host) -> Result<Rtds, PolicyError> {
    Ok(Rtds::new(host))
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
