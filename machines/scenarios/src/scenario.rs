//! Scenarios of simulated machines, read from files: hosts, links, domains with their workloads, and the
//! policy.
//!
//! - `hosts`: `[host]`, `[dom0]`, `[[link]]`, `[costs]`;
//! - `domains`, `workload`, `federates`: `[[domain]]`, `[model]`;
//! - `policies`: `[policy]`, and the settings of domains under a policy;
//! - `outcome`: the outcome of a run.
//!
//! A scenario is read once and can be run under many policies, one after the other or side by side.
//!
//! Invariants: every mistake in a file is reported at its place before anything runs; the result depends on
//! the file and its overrides alone.
//!
//! ```
//! use paceline_machine_scenarios::MachineScenario;
//! use paceline_scenario::Scenario;
//!
//! let text = r#"
//! [machine]
//! until = "100ms"
//! [policy]
//! kind = "round-robin"
//! [host]
//! pcpus = 1
//! [[domain]]
//! name = "load"
//! count = 2
//! workload = "hog"
//! "#;
//! let scenario = MachineScenario::read("demo", Scenario::parse("demo.toml", text, ".".as_ref(), &[])?)?;
//! struct Nobody;
//! impl paceline_machine::Observer for Nobody {}
//! for kind in ["round-robin", "credit"] {
//!     let outcome = scenario.run(kind, scenario.spec(kind)?, &mut Nobody)?;
//!     assert_eq!(outcome.report.at_ns, 100_000_000);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod domains;
mod federates;
mod hosts;
mod outcome;
mod policies;
mod workload;

use paceline_kernel::Time;
use paceline_machine::{
    Costs, HostSpec, LinkSpec, MachineSpec, Observer, PolicySpec, ProcessId, Ran, run_observed,
};
use paceline_scenario::{Scenario, ScenarioError, Section};

use domains::{Domains, Group};
use hosts::{Dom0Part, HostPart};
pub use outcome::{Outcome, OutcomeError, WorkloadOutcome};
pub use workload::WORKLOADS;

const SECTIONS: [&str; 8] = ["machine", "policy", "host", "dom0", "link", "costs", "domain", "model"];

/// A machine's scenario.
#[derive(Debug)]
pub struct MachineScenario {
    name: String,
    until_ns: Option<u64>,
    seed: u64,
    kind: &'static str,
    policy: Section,
    hosts: Vec<HostPart>,
    dom0: Dom0Part,
    links: Vec<LinkSpec>,
    costs: Costs,
    groups: Vec<Group>,
}

impl MachineScenario {
    /// Reads a scenario called `name`. [`Self::spec`] checks what depends on the policy.
    pub fn read(name: &str, mut scenario: Scenario) -> Result<Self, ScenarioError> {
        let mut machine = scenario.section("machine")?;
        let until_ns = machine.optional::<Time>("until")?.map(paceline_kernel::Time::as_nanos);
        let seed = machine.or("seed", 1)?;
        let mut policy = scenario.section("policy")?;
        let kind = policies::kind(&mut policy, "kind")?;
        let hosts = hosts::hosts(&mut scenario)?;
        let dom0 = hosts::dom0(&mut scenario, &hosts)?;
        let links = hosts::links(&mut scenario, &hosts)?;
        let costs = hosts::costs(&mut scenario)?;
        let model = federates::AnyModel::read(&mut scenario, seed)?;
        let groups = domains::groups(&mut scenario, &hosts, model.as_ref())?;
        scenario.finish(&SECTIONS)?;
        if groups.iter().all(Group::is_background) {
            let section = &groups[0].parts[0].section;
            let problem = "a machine with nothing but background load";
            return Err(section.refuse("background", problem, "at least one domain that the run waits for"));
        }
        if until_ns.is_none() && groups.iter().any(Group::is_endless) {
            let problem = "a run without an end that waits for load without an end";
            return Err(machine.refuse("until", problem, "a duration, such as `until = \"10s\"`"));
        }
        machine.finish()?;
        let name = name.to_owned();
        Ok(Self { name, until_ns, seed, kind, policy, hosts, dom0, links, costs, groups })
    }

    /// The name of the scenario: that of its file without the ending.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The policy that it names.
    pub fn policy(&self) -> &'static str {
        self.kind
    }

    /// The time of the machine at which a run ends at the latest, in nanoseconds.
    pub fn until_ns(&self) -> Option<u64> {
        self.until_ns
    }

    /// The seed of everything random.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The hosts, by name, each with the number of its PCPUs.
    pub fn hosts(&self) -> impl Iterator<Item = (&str, u32)> {
        self.hosts.iter().map(|host| (host.name.as_str(), host.pcpus))
    }

    /// The machine under the policy `kind`, one of [`paceline_policy::POLICIES`], which accepts its settings
    /// and domains.
    pub fn spec(&self, kind: &str) -> Result<MachineSpec, ScenarioError> {
        let (policy, dom0) =
            (policies::settings(&self.policy, kind)?, policies::settings(&self.dom0.settings, kind)?);
        let host = |part: &HostPart| HostSpec {
            smt: part.smt,
            siblings: part.siblings,
            policy: PolicySpec { kind: kind.to_owned(), settings: policy.clone() },
            dom0_vcpus: self.dom0.vcpus,
            dom0_pins: self.dom0.pins.clone(),
            dom0_settings: dom0.clone(),
            ..HostSpec::new(part.name.clone(), part.pcpus, kind)
        };
        let mut spec = MachineSpec {
            hosts: self.hosts.iter().map(host).collect(),
            links: self.links.clone(),
            costs: self.costs.clone(),
            until_ns: self.until_ns,
            ..MachineSpec::default()
        };
        let mut first = 0;
        for group in &self.groups {
            let (section, processes) = (&group.parts[0].section, group.processes());
            let programs = group.workload.programs(section, processes, ProcessId(first), self.seed)?;
            let mut programs = programs.into_iter();
            for part in &group.parts {
                spec.domains.extend(part.specs(kind, &mut programs)?);
            }
            first += processes;
        }
        policies::admit(self, kind, &spec)?;
        Ok(spec)
    }

    /// Runs `spec`, which is this machine under the policy `kind`, and reports to `observer`.
    pub fn run(
        &self,
        kind: &'static str,
        spec: MachineSpec,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, OutcomeError> {
        let Ran { report, programs } = run_observed(spec, observer)?;
        let mut programs = programs.into_iter();
        let mut workloads = Vec::new();
        let mut start = 0;
        for group in &self.groups {
            let domains = start..start + group.domains() as usize;
            start = domains.end;
            let group_programs = programs.by_ref().take(group.processes() as usize).collect();
            workloads.push(outcome::of_group(group, domains, &report, group_programs)?);
        }
        let parts = self.groups.iter().flat_map(|group| &group.parts);
        let arrives_ns =
            parts.flat_map(|part| std::iter::repeat_n(part.arrives_ns, part.count as usize)).collect();
        Ok(Outcome { policy: kind, report, arrives_ns, workloads })
    }

    /// The sections of the domain with this number among all: its own, and that of its settings.
    fn sections_of(&self, domain: usize) -> (&Section, &Section) {
        let mut parts = self.groups.iter().flat_map(|group| &group.parts);
        let mut end = 0;
        let holds = |part: &&Domains| {
            end += part.count as usize;
            domain < end
        };
        let part = parts.find(holds).expect("every domain is of a section");
        (&part.section, &part.settings)
    }
}
