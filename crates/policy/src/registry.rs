//! Policies by name.

use crate::nsx::Nsx;
use crate::nsx_plus::NsxPlus;
use crate::psx::Psx;
use crate::psx_plus::PsxPlus;
use crate::round_robin::RoundRobin;
use crate::{Host, Policy, PolicyError, Settings};

/// The names of the policies, and what each is.
pub const KINDS: &[(&str, &str)] = &[
    ("round-robin", "everybody in turn"),
    ("psx", "the least simulation time first, as guests report it (PSX)"),
    ("nsx", "a virtual clock per VCPU, the least first (NSX)"),
    ("psx-plus", "the least simulation time first, with a share for everybody and a demotion for who waits"),
    ("nsx-plus", "virtual clocks that run exactly and may differ by a tick"),
];

/// The policy called `kind`, one of [`KINDS`], for `host`, with its own settings.
pub fn build(kind: &str, settings: &mut Settings, host: Host) -> Result<Box<dyn Policy>, PolicyError> {
    let policy: Box<dyn Policy> = match kind {
        "round-robin" => Box::new(RoundRobin::from_settings(settings, host)?),
        "nsx" => Box::new(Nsx::from_settings(settings, host)?),
        "nsx-plus" => Box::new(NsxPlus::from_settings(settings, host)?),
        "psx" => Box::new(Psx::from_settings(settings, host)?),
        "psx-plus" => Box::new(PsxPlus::from_settings(settings, host)?),
        _ => {
            let names: Vec<_> = KINDS.iter().map(|(name, _)| *name).collect();
            return Err(PolicyError::UnknownPolicy { kind: kind.into(), allowed: names.join(", ") });
        }
    };
    settings.finish(kind)?;
    Ok(policy)
}
