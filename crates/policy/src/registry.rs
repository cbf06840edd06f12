//! Policies by name.

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
use crate::psx::Psx;
use crate::psx_plus::PsxPlus;
use crate::round_robin::RoundRobin;
use crate::rt::{Deferrable, Periodic, Polling, RtServers, Sporadic};
use crate::sedf::Sedf;
use crate::{Host, Policy, PolicyError, Settings};

/// The names of the policies, and what each is.
pub const KINDS: &[(&str, &str)] = &[
    ("round-robin", "everybody in turn"),
    ("credit", "Xen's credit scheduler: shares by weight and cap, boost for who wakes"),
    ("sedf", "a slice of every period, and extra time: earliest deadline first"),
    ("csde", "SEDF, most pending messages first"),
    ("csdd", "SEDF, DOM0 with messages first, then most pending messages"),
    ("boost-1a", "SEDF, the guest with most pending messages first"),
    ("boost-1b", "SEDF, DOM0 with messages first"),
    ("boost-1c", "SEDF, the domain with most pending messages first, if any has some"),
    ("boost-2a", "SEDF, the domain with the latest message first"),
    ("boost-2bi", "SEDF, the domain with the latest message of the last 20 ms first"),
    ("boost-2bii", "SEDF, the latest message of the last 20 ms, else most pending messages"),
    ("psx", "the least simulation time first, as guests report it (PSX)"),
    ("nsx", "a virtual clock per VCPU, the least first (NSX)"),
    ("govindan", "SEDF, DOM0 with messages first, then who receives and sends most"),
    ("implicit", "time sharing that boosts who has messages: at once, periodically or not"),
    ("credit2", "Xen's second credit scheduler: most credits first, burnt by weight"),
    ("bvt", "borrowed virtual time: least effective virtual time first"),
    ("gang", "all VCPUs of a domain at the same time, in slots"),
    ("flexible", "gang scheduling of those that need it, the others fill the gaps"),
    ("arinc653", "a window for every domain in each major frame"),
    ("rt-deferrable", "RT-Xen: fixed priorities, a budget kept until the period ends"),
    ("rt-periodic", "RT-Xen: fixed priorities, a budget idled away without work"),
    ("rt-polling", "RT-Xen: fixed priorities, a budget lost without work"),
    ("rt-sporadic", "RT-Xen: fixed priorities, what is used comes back a period later"),
    ("psx-plus", "the least simulation time first, with a share for everybody and a demotion for who waits"),
    ("nsx-plus", "virtual clocks that run exactly and may differ by a tick"),
];

/// The policy called `kind`, one of [`KINDS`], for `host`, with its own settings.
pub fn build(kind: &str, settings: &mut Settings, host: Host) -> Result<Box<dyn Policy>, PolicyError> {
    let policy: Box<dyn Policy> = match kind {
        "round-robin" => Box::new(RoundRobin::from_settings(settings, host)?),
        "credit" => Box::new(Credit::from_settings(settings, host)?),
        "sedf" => Box::new(Sedf::from_settings(settings, host)?),
        "csde" => Box::new(csde(settings, host)?),
        "csdd" => Box::new(csdd(settings, host)?),
        "boost-1a" => Box::new(boost("boost-1a", settings, host)?),
        "boost-1b" => Box::new(boost("boost-1b", settings, host)?),
        "boost-1c" => Box::new(boost("boost-1c", settings, host)?),
        "boost-2a" => Box::new(boost("boost-2a", settings, host)?),
        "boost-2bi" => Box::new(boost("boost-2bi", settings, host)?),
        "boost-2bii" => Box::new(boost("boost-2bii", settings, host)?),
        "nsx" => Box::new(Nsx::from_settings(settings, host)?),
        "nsx-plus" => Box::new(NsxPlus::from_settings(settings, host)?),
        "psx" => Box::new(Psx::from_settings(settings, host)?),
        "govindan" => Box::new(communication_aware(settings, host)?),
        "implicit" => Box::new(Implicit::from_settings(settings, host)?),
        "bvt" => Box::new(Bvt::from_settings(settings, host)?),
        "arinc653" => Box::new(Arinc653::from_settings(settings, host)?),
        "rt-deferrable" => Box::new(RtServers::<Deferrable>::new(host)),
        "rt-periodic" => Box::new(RtServers::<Periodic>::new(host)),
        "rt-polling" => Box::new(RtServers::<Polling>::new(host)),
        "rt-sporadic" => Box::new(RtServers::<Sporadic>::new(host)),
        "credit2" => Box::new(Credit2::from_settings(settings, host)?),
        "gang" => Box::new(Gang::from_settings(settings, host)?),
        "flexible" => Box::new(flexible(settings, host)?),
        "psx-plus" => Box::new(PsxPlus::from_settings(settings, host)?),
        _ => {
            let names: Vec<_> = KINDS.iter().map(|(name, _)| *name).collect();
            return Err(PolicyError::UnknownPolicy { kind: kind.into(), allowed: names.join(", ") });
        }
    };
    settings.finish(kind)?;
    Ok(policy)
}
