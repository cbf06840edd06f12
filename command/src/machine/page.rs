//! What is said of a machine that has run: to people, to programs, and to the output folder.
//!
//! Invariant: [`Finished::results`] holds nothing that depends on the machine on which it was simulated.

use std::time::Duration;

use paceline_app::memory;
use paceline_app::provenance::Provenance;
use paceline_app::summary::label;
use paceline_app::text;
use paceline_machine::{DomainReport, HostReport};
use paceline_machine_scenarios::{MachineScenario, Outcome, WorkloadOutcome};
use paceline_report::{Table, number};
use serde_json::{Map, Value, json};

use super::ended;

/// A machine that has run.
#[derive(Debug)]
pub struct Finished<'s> {
    scenario: &'s MachineScenario,
    pub outcome: Outcome,
    wall: Duration,
    provenance: Provenance,
}

/// Nanoseconds as seconds.
pub fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

fn part(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

/// The results of a workload itself, by name.
fn results_of(workload: &WorkloadOutcome) -> Value {
    let lines = workload.summary.lines.iter();
    Value::Object(lines.map(|(name, value)| (name.to_string(), value.clone())).collect::<Map<_, _>>())
}

/// The results of a workload, as JSON.
pub fn everything_of(outcome: &Outcome, workload: &WorkloadOutcome) -> Value {
    json!({
        "name": workload.name,
        "kind": workload.kind,
        "run_time_s": workload.run_ns.map(seconds),
        "unfairness": outcome.unfairness(workload),
        "polling_share": outcome.polling_share(workload),
        "waiting_share": outcome.waiting_share(workload),
        "digest": workload.digest.map(|digest| digest.to_string()),
        "results": results_of(workload),
    })
}

impl<'s> Finished<'s> {
    pub fn new(
        scenario: &'s MachineScenario,
        outcome: Outcome,
        wall: Duration,
        provenance: Provenance,
    ) -> Self {
        Self { scenario, outcome, wall, provenance }
    }

    /// What does not depend on the machine on which it was simulated, for programs.
    pub fn results(&self) -> Value {
        let report = &self.outcome.report;
        let domains = report.domains.iter().enumerate().map(|(number, domain)| {
            json!({
                "name": domain.name,
                "run_time_s": self.outcome.run_ns(number).map(seconds),
                "cpu_s": seconds(domain.ran_ns),
                "polling_share": part(domain.polled_ns, domain.ran_ns),
                "waited_s": seconds(domain.waited_ns),
                "preemptions": domain.preemptions,
            })
        });
        let hosts = report.hosts.iter().zip(self.scenario.hosts()).map(|(host, (_, pcpus))| {
            let time_ns = u64::from(pcpus) * report.at_ns;
            json!({
                "name": host.name,
                "decisions": host.decisions,
                "switches": host.switches,
                "migrations": host.migrations,
                "packets": host.packets,
                "busy_share": part(host.busy_ns, time_ns),
                "overhead_share": part(host.overhead_ns, time_ns),
                "dom0_share": part(host.dom0_ns, time_ns),
            })
        });
        let workloads = self.outcome.workloads.iter();
        let mut results = json!({
            "scenario": self.scenario.name(),
            "policy": self.outcome.policy,
            "seed": self.scenario.seed(),
            "ended_by": ended(&self.outcome),
            "machine_time_s": seconds(report.at_ns),
            "schedule_digest": format!("{:016x}", report.digest),
            "unfairness": report.unfairness(),
            "polling_share": report.waiting_share(),
            "workloads": workloads.map(|workload| everything_of(&self.outcome, workload)).collect::<Vec<_>>(),
            "domains": domains.collect::<Vec<_>>(),
            "hosts": hosts.collect::<Vec<_>>(),
        });
        self.provenance.add_to(&mut results);
        results
    }

    /// Everything, for programs.
    pub fn everything(&self) -> Value {
        let mut everything = self.results();
        everything["wall_seconds"] = self.wall.as_secs_f64().into();
        everything["peak_memory_bytes"] = memory::peak_bytes().into();
        everything
    }

    pub fn line(&self) -> String {
        let report = &self.outcome.report;
        let (name, policy) = (self.scenario.name(), self.outcome.policy);
        let (end, at_s) = (ended(&self.outcome), number(seconds(report.at_ns)));
        format!("{name}: {policy}, {end} after {at_s} s, schedule {:016x}\n", report.digest)
    }

    /// The page for people.
    pub fn page(&self) -> String {
        let outcome = &self.outcome;
        let report = &outcome.report;
        let ended = match ended(outcome) {
            "done" => "when all was done",
            _ => "at the time set, before all was done",
        };
        let mut rows = vec![
            ("policy", outcome.policy.to_owned()),
            ("ended", ended.to_owned()),
            ("machine time", format!("{} s", number(seconds(report.at_ns)))),
            ("unfairness", number(report.unfairness())),
            ("polling share", format!("{} %", percent(report.waiting_share()))),
            ("schedule", format!("{:016x}", report.digest)),
            ("wall time", text::span(self.wall)),
        ];
        rows.extend(memory::peak_bytes().map(|bytes| ("peak memory", text::bytes(bytes))));
        let rows: Vec<_> = rows.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let workload = |workload: &WorkloadOutcome| {
            let title = format!("{} ({})", workload.name, workload.kind);
            let run =
                workload.run_ns.map_or("not done".to_owned(), |ns| format!("{} s", number(seconds(ns))));
            let mut rows = vec![("run time".to_owned(), run)];
            rows.extend(workload.summary.lines.iter().map(|(name, value)| label(name, value)));
            rows.extend(workload.digest.map(|digest| ("digest".to_owned(), digest.to_string())));
            (title, rows)
        };
        let mut groups: Vec<_> =
            outcome.workloads.iter().filter(|workload| !workload.background).map(workload).collect();
        groups.push(("The machine".to_owned(), rows));
        let groups: Vec<_> = groups.iter().map(|(title, rows)| (title.as_str(), rows.clone())).collect();
        [text::table(&self.domains()), text::table(&self.hosts()), text::groups(&groups)].join("\n")
    }

    fn domains(&self) -> Table {
        let columns = ["domain", "run time, s", "CPU, s", "polling, %", "waited, s", "preempted"];
        let mut table = Table::new(format!("Domains of {}", self.scenario.name()), columns);
        for (place, domain) in self.outcome.report.domains.iter().enumerate() {
            let DomainReport { name, ran_ns, polled_ns, waited_ns, preemptions, .. } = domain;
            table.row([
                name.clone(),
                self.outcome.run_ns(place).map_or("-".to_owned(), |ns| number(seconds(ns))),
                number(seconds(*ran_ns)),
                percent(part(*polled_ns, *ran_ns)),
                number(seconds(*waited_ns)),
                text::count(*preemptions),
            ]);
        }
        table
    }

    fn hosts(&self) -> Table {
        let columns =
            ["host", "decisions", "switches", "migrations", "packets", "busy, %", "overhead, %", "DOM0, %"];
        let mut table = Table::new("Hosts", columns);
        let at_ns = self.outcome.report.at_ns;
        for (host, (_, pcpus)) in self.outcome.report.hosts.iter().zip(self.scenario.hosts()) {
            let HostReport { name, decisions, switches, migrations, packets, .. } = host;
            let share = |nanos: u64| percent(part(nanos, u64::from(pcpus) * at_ns));
            table.row([
                name.clone(),
                text::count(*decisions),
                text::count(*switches),
                text::count(*migrations),
                text::count(*packets),
                share(host.busy_ns),
                share(host.overhead_ns),
                share(host.dom0_ns),
            ]);
        }
        table
    }
}
