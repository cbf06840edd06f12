//! The calls that policies get from the machine, seen by their decisions.

use paceline_machine::MachineSpec;
use paceline_policy::{Setting, Settings};

use crate::lab::{MS, US, domain, host, ran, watched};
use crate::script::Act;

fn under(kind: &str, pcpus: u32) -> MachineSpec {
    let mut spec = host(pcpus);
    spec.hosts[0].policy.kind = kind.into();
    spec.hosts[0].policy.settings = Settings::default();
    spec
}

fn window(offset_ns: u64) -> Settings {
    let settings = Settings::default().with("offset", Setting::Nanos(offset_ns));
    settings.with("runtime", Setting::Nanos(MS))
}

#[test]
fn timers_go_off_when_they_were_set_for() {
    let mut spec = under("arinc653", 1);
    let mut guest = domain("guest", &[&[Act::Compute(1_500 * US)]]);
    guest.settings = window(3 * MS);
    spec.domains.push(guest);
    let (ran, watch) = watched(spec);
    // Two frames of 10 ms.
    assert_eq!(watch.of(1), [(0, 3 * MS, 4 * MS), (0, 13 * MS, 13_500 * US)]);
    assert_eq!(ran.report.at_ns, 13_500 * US);
}

#[test]
fn a_domain_that_has_gone_leaves_its_place_to_another() {
    let mut spec = under("arinc653", 1);
    let mut goes = domain("goes", &[&[Act::Compute(900 * US)]]);
    (goes.settings, goes.leaves_ns) = (window(3 * MS), Some(2 * MS));
    let mut comes = domain("comes", &[&[Act::Compute(900 * US)]]);
    (comes.settings, comes.arrives_ns) = (window(3 * MS), 2 * MS);
    spec.domains.extend([goes, comes]);
    assert_eq!(ran(spec).report.at_ns, 3_900 * US);
}
