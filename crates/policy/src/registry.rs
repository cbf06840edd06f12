//! Policies by name.

use crate::arinc653::Arinc653;
use crate::bvt::Bvt;
use crate::credit::Credit;
use crate::credit2::Credit2;
use crate::round_robin::RoundRobin;
use crate::rt::{Deferrable, Periodic, Polling, RtServers, Sporadic};
use crate::{Host, Policy, PolicyError, Settings};

/// The names of the policies, and what each is.
pub const KINDS: &[(&str, &str)] = &[
    ("round-robin", "everybody in turn"),
    ("credit", "Xen's credit scheduler: shares by weight and cap, boost for who wakes"),
    ("credit2", "Xen's second credit scheduler: most credits first, burnt by weight"),
    ("bvt", "borrowed virtual time: least effective virtual time first"),
    ("arinc653", "a window for every domain in each major frame"),
    ("rt-deferrable", "RT-Xen: fixed priorities, a budget kept until the period ends"),
    ("rt-periodic", "RT-Xen: fixed priorities, a budget idled away without work"),
    ("rt-polling", "RT-Xen: fixed priorities, a budget lost without work"),
    ("rt-sporadic", "RT-Xen: fixed priorities, what is used comes back a period later"),
];

/// The policy called `kind`, one of [`KINDS`], for `host`, with its own settings.
pub fn build(kind: &str, settings: &mut Settings, host: Host) -> Result<Box<dyn Policy>, PolicyError> {
    let policy: Box<dyn Policy> = match kind {
        "round-robin" => Box::new(RoundRobin::from_settings(settings, host)?),
        "credit" => Box::new(Credit::from_settings(settings, host)?),
        "bvt" => Box::new(Bvt::from_settings(settings, host)?),
        "arinc653" => Box::new(Arinc653::from_settings(settings, host)?),
        "rt-deferrable" => Box::new(RtServers::<Deferrable>::new(host)),
        "rt-periodic" => Box::new(RtServers::<Periodic>::new(host)),
        "rt-polling" => Box::new(RtServers::<Polling>::new(host)),
        "rt-sporadic" => Box::new(RtServers::<Sporadic>::new(host)),
        "credit2" => Box::new(Credit2::from_settings(settings, host)?),
        _ => {
            let names: Vec<_> = KINDS.iter().map(|(name, _)| *name).collect();
            return Err(PolicyError::UnknownPolicy { kind: kind.into(), allowed: names.join(", ") });
        }
    };
    settings.finish(kind)?;
    Ok(policy)
}
