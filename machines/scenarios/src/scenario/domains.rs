//! Guest domains: the sections `[[domain]]`, each of which describes some equal domains, and the groups in
//! which their processes work together. `Domains::specs` makes the domains of the machine of them.
//!
//! Invariant: the domains of a group follow each other, so that its processes have consecutive numbers.

use paceline_machine::{DomainSpec, Program};
use paceline_scenario::{Scenario, ScenarioError, Section};

use super::federates::AnyModel;
use super::hosts::{HostPart, VCPUS_MAX, count, host_of, nanos, pins};
use super::policies::settings;
use super::workload::Workload;

const DOMAINS_MAX: u32 = 10_000;
const PROCESSES_MAX: u32 = 1_024;

/// A section `[[domain]]`.
#[derive(Clone, Debug)]
pub(super) struct Domains {
    pub name: String,
    pub count: u32,
    pub host: u32,
    vcpus: u32,
    /// By VCPU over all its domains; used cyclically.
    pins: Vec<u32>,
    pub arrives_ns: u64,
    leaves_ns: Option<u64>,
    /// The value in the file, if it has one.
    background: Option<bool>,
    pub processes: u32,
    pub section: Section,
    pub settings: Section,
}

/// Domains whose processes work together.
#[derive(Debug)]
pub(super) struct Group {
    pub name: String,
    pub workload: Workload,
    /// The sections of its domains.
    pub parts: Vec<Domains>,
}

impl Group {
    /// How many domains it has.
    pub fn domains(&self) -> u32 {
        self.parts.iter().map(|part| part.count).sum()
    }

    /// How many processes all its domains have together.
    pub fn processes(&self) -> u32 {
        self.parts.iter().map(|part| part.count.saturating_mul(part.processes)).sum()
    }

    /// When its first domain comes.
    pub fn arrives_ns(&self) -> u64 {
        self.parts.iter().map(|part| part.arrives_ns).min().unwrap_or(0)
    }

    /// Whether the run ends without waiting for any of it.
    pub fn is_background(&self) -> bool {
        self.parts.iter().all(|part| part.background == Some(true))
    }

    /// Whether the run waits for some of it that never ends.
    pub fn is_endless(&self) -> bool {
        self.workload.is_endless() && !self.is_background()
    }
}

impl Domains {
    fn read(mut section: Section, hosts: &[HostPart]) -> Result<Self, ScenarioError> {
        let name: String = section.required("name")?;
        let count_of = count(&mut section, "count", 1, 1, DOMAINS_MAX)?;
        let host = host_of(&mut section, "host", hosts)?;
        let vcpus = count(&mut section, "vcpus", 1, 1, VCPUS_MAX)?;
        let pins = pins(&mut section, &hosts[host as usize])?;
        let arrives_ns = nanos(&mut section, "arrives", 0)?;
        let leaves_ns =
            section.optional::<paceline_kernel::Time>("leaves")?.map(paceline_kernel::Time::as_nanos);
        if leaves_ns.is_some_and(|leaves_ns| leaves_ns <= arrives_ns) {
            let problem = format!("{name} would leave before it arrives");
            return Err(section.refuse("leaves", problem, "a time after `arrives`"));
        }
        let background = section.optional("background")?;
        let processes = count(&mut section, "processes", 1, 1, PROCESSES_MAX)?;
        let settings = section.table("settings")?;
        Ok(Self {
            name,
            count: count_of,
            host,
            vcpus,
            pins,
            arrives_ns,
            leaves_ns,
            background,
            processes,
            section,
            settings,
        })
    }

    /// What the domain with this number among them is called.
    pub fn name_of(&self, number: u32) -> String {
        if self.count == 1 { self.name.clone() } else { format!("{}-{number}", self.name) }
    }

    /// Its domains under the policy `kind`, with the processes that they have next.
    pub fn specs(
        &self,
        kind: &str,
        programs: &mut impl Iterator<Item = Box<dyn Program>>,
    ) -> Result<Vec<DomainSpec>, ScenarioError> {
        let settings = settings(&self.settings, kind)?;
        let spec = |number: u32| {
            let vcpus = (number * self.vcpus..(number + 1) * self.vcpus).map(|vcpu| vcpu as usize);
            let pins = vcpus.map(|vcpu| self.pins[vcpu % self.pins.len()]);
            DomainSpec {
                vcpus: self.vcpus,
                pins: if self.pins.is_empty() { Vec::new() } else { pins.collect() },
                settings: settings.clone(),
                arrives_ns: self.arrives_ns,
                leaves_ns: self.leaves_ns,
                background: self.background == Some(true),
                ..DomainSpec::new(
                    self.name_of(number),
                    self.host,
                    programs.by_ref().take(self.processes as usize).collect(),
                )
            }
        };
        Ok((0..self.count).map(spec).collect())
    }
}

pub(super) fn groups(
    scenario: &mut Scenario,
    hosts: &[HostPart],
    model: Option<&AnyModel>,
) -> Result<Vec<Group>, ScenarioError> {
    let sections = scenario.sections("domain")?;
    if sections.is_empty() {
        let nothing = scenario.section("domain")?;
        return Err(nothing.refuse("", "a machine without domains", "at least one section [[domain]]"));
    }
    let mut groups: Vec<Group> = Vec::new();
    for mut section in sections {
        let name: String = section.required("name")?;
        let taken = |part: &Domains| part.name == name;
        if groups.iter().flat_map(|group| &group.parts).any(taken) {
            let problem = format!("a second [[domain]] {name:?}");
            return Err(section.refuse("name", problem, "a name of its own for each"));
        }
        let group = section.optional::<String>("group")?.unwrap_or(name);
        let last = groups.len().saturating_sub(1);
        match groups.iter().position(|known| known.name == group) {
            Some(place) if place == last => {
                let earlier = &mut groups[place];
                earlier.workload.same(&mut section)?;
                let part = Domains::read(section, hosts)?;
                part.section.clone().finish()?;
                earlier.parts.push(part);
            }
            Some(_) => {
                let problem = format!("other domains stand between those of group {group:?}");
                return Err(section.refuse("group", problem, "the domains of a group one after the other"));
            }
            None => {
                let workload = Workload::read(&mut section, model)?;
                let part = Domains::read(section, hosts)?;
                part.section.clone().finish()?;
                groups.push(Group { name: group, workload, parts: vec![part] });
            }
        }
    }
    // An endless workload is background load, unless there is no other workload.
    let others = groups.iter().any(|group| !group.workload.is_endless());
    for group in &mut groups {
        let background = others && group.workload.is_endless();
        group.parts.iter_mut().for_each(|part| part.background = part.background.or(Some(background)));
    }
    Ok(groups)
}
