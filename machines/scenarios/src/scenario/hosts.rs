//! Hosts, their privileged domains, links and costs: the sections `[host]`, `[dom0]`, `[[link]]` and
//! `[costs]`.
//!
//! Invariant: names of hosts are unique, and links lead from one of them to another.

use paceline_kernel::Time;
use paceline_machine::{Costs, LinkSpec, Siblings};
use paceline_scenario::{Scenario, ScenarioError, Section};

const PCPUS_MAX: u32 = 4_096;
/// The most VCPUs that a domain may have.
pub(super) const VCPUS_MAX: u32 = 1_024;

#[derive(Clone, Debug)]
pub(super) struct HostPart {
    pub name: String,
    pub pcpus: u32,
    pub smt: bool,
    pub siblings: Siblings,
}

/// The privileged domain, the same on every host.
#[derive(Clone, Debug)]
pub(super) struct Dom0Part {
    pub vcpus: u32,
    pub pins: Vec<u32>,
    pub section: Section,
    pub settings: Section,
}

/// A whole number of at least `least` and at most `most`.
pub(super) fn count(
    section: &mut Section,
    key: &str,
    default: u32,
    least: u32,
    most: u32,
) -> Result<u32, ScenarioError> {
    let value = section.or(key, default)?;
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    let allowed = format!("a whole number from {least} to {most}");
    Err(section.refuse(key, format!("`{key}` cannot be {value}"), allowed))
}

/// A span of time in nanoseconds.
pub(super) fn nanos(section: &mut Section, key: &str, default_ns: u64) -> Result<u64, ScenarioError> {
    Ok(section.or(key, Time::nanos(default_ns))?.as_nanos())
}

/// Which of `hosts` the name at `key` is; the only one where the key is not there.
pub(super) fn host_of(section: &mut Section, key: &str, hosts: &[HostPart]) -> Result<u32, ScenarioError> {
    let choices: Vec<_> = hosts.iter().zip(0..).map(|(host, number)| (host.name.as_str(), number)).collect();
    section.choice(key, &choices, Some(0).filter(|_| hosts.len() == 1))
}

/// The PCPUs that `pins` names, all of them there on `host`.
pub(super) fn pins(section: &mut Section, host: &HostPart) -> Result<Vec<u32>, ScenarioError> {
    let pins: Vec<u32> = section.optional("pins")?.unwrap_or_default();
    match pins.iter().find(|pin| **pin >= host.pcpus) {
        None => Ok(pins),
        Some(pin) => {
            let problem = format!("there is no PCPU {pin} on {}", host.name);
            Err(section.refuse("pins", problem, format!("PCPUs 0 to {}", host.pcpus - 1)))
        }
    }
}

pub(super) fn hosts(scenario: &mut Scenario) -> Result<Vec<HostPart>, ScenarioError> {
    let mut sections = scenario.sections("host")?;
    if sections.is_empty() {
        sections.push(scenario.section("host")?);
    }
    let single = sections.len() == 1;
    let mut hosts: Vec<HostPart> = Vec::new();
    for mut section in sections {
        let name = match section.optional::<String>("name")? {
            Some(name) => name,
            None if single => "host".to_owned(),
            None => section.required("name")?,
        };
        if hosts.iter().any(|host| host.name == name) {
            return Err(section.refuse(
                "name",
                format!("a second host {name:?}"),
                "a name of its own for each",
            ));
        }
        section.required::<u32>("pcpus")?;
        let pcpus = count(&mut section, "pcpus", 1, 1, PCPUS_MAX)?;
        let smt = section.or("smt", false)?;
        if smt && pcpus % 2 == 1 {
            let problem = format!("{pcpus} PCPUs cannot be siblings two by two");
            return Err(section.refuse("pcpus", problem, "an even number where `smt` is true"));
        }
        let numberings = [("adjacent", Siblings::Adjacent), ("apart", Siblings::Apart)];
        let siblings = section.choice("siblings", &numberings, Some(Siblings::default()))?;
        section.finish()?;
        hosts.push(HostPart { name, pcpus, smt, siblings });
    }
    Ok(hosts)
}

/// The privileged domain.
pub(super) fn dom0(scenario: &mut Scenario, hosts: &[HostPart]) -> Result<Dom0Part, ScenarioError> {
    let mut section = scenario.section("dom0")?;
    let vcpus = count(&mut section, "vcpus", 1, 1, VCPUS_MAX)?;
    // It is the same everywhere, so it must fit the smallest host.
    let smallest = hosts.iter().min_by_key(|host| host.pcpus).expect("there is a host");
    let pins = pins(&mut section, smallest)?;
    if pins.len() > vcpus as usize {
        let problem = format!("{} pins for {vcpus} VCPUs", pins.len());
        return Err(section.refuse("pins", problem, "at most one for each VCPU"));
    }
    let settings = section.table("settings")?;
    section.clone().finish()?;
    Ok(Dom0Part { vcpus, pins, section, settings })
}

pub(super) fn links(scenario: &mut Scenario, hosts: &[HostPart]) -> Result<Vec<LinkSpec>, ScenarioError> {
    let link = |mut section: Section| {
        let (from, to) = (end(&mut section, "from", hosts)?, end(&mut section, "to", hosts)?);
        if from == to {
            let problem = format!("a link from {} to itself", hosts[to as usize].name);
            return Err(section.refuse("to", problem, "another host"));
        }
        let latency_ns = nanos(&mut section, "latency", 50_000)?;
        let bits_per_second = section.or("bits_per_second", 1_000_000_000u64)?;
        if bits_per_second == 0 {
            let problem = "a link that carries nothing";
            return Err(section.refuse("bits_per_second", problem, "a whole number from 1"));
        }
        section.finish()?;
        Ok(LinkSpec { from, to, latency_ns, bits_per_second })
    };
    scenario.sections("link")?.into_iter().map(link).collect()
}

fn end(section: &mut Section, key: &str, hosts: &[HostPart]) -> Result<u32, ScenarioError> {
    section.required::<String>(key)?;
    host_of(section, key, hosts)
}

pub(super) fn costs(scenario: &mut Scenario) -> Result<Costs, ScenarioError> {
    let mut section = scenario.section("costs")?;
    let mut costs = Costs::default();
    let spans = [
        ("decision", &mut costs.decision_ns),
        ("switch", &mut costs.switch_ns),
        ("migration", &mut costs.migration_ns),
        ("page_write", &mut costs.page_write_ns),
        ("send", &mut costs.send_ns),
        ("response", &mut costs.response_ns),
        ("receive", &mut costs.receive_ns),
        ("backend", &mut costs.backend_ns),
        ("event", &mut costs.event_ns),
        ("nic", &mut costs.nic_ns),
        ("loopback", &mut costs.loopback_ns),
        ("guest_quantum", &mut costs.guest_quantum_ns),
        ("guest_switch", &mut costs.guest_switch_ns),
    ];
    for (key, cost_ns) in spans {
        *cost_ns = nanos(&mut section, key, *cost_ns)?;
    }
    if costs.guest_quantum_ns == 0 {
        return Err(section.refuse("guest_quantum", "a quantum without time", "a duration above zero"));
    }
    costs.examined_ps = section.or("examined_ps", costs.examined_ps)?;
    costs.byte_ps = section.or("byte_ps", costs.byte_ps)?;
    costs.smt_permille = count(&mut section, "smt_permille", costs.smt_permille as u32, 1, 1_000)?.into();
    costs.ring_slots = count(&mut section, "ring_slots", costs.ring_slots, 1, 1 << 20)?;
    section.finish()?;
    Ok(costs)
}
