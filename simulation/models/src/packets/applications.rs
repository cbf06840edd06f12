//! Applications of hosts: the tables `applications`, each of one kind.
//!
//! Invariant: the connections of applications are flows after those of the tables `flows`.

mod clients;
mod collectives;
mod sizes;
mod video;
mod web;

use std::sync::Arc;

use paceline_packets::application::{Applications, Transfer};
use paceline_packets::tcp::Settings;
use paceline_packets::{Network, PacketError, Packets, Tcp, Web};
use paceline_scenario::{Picoseconds, ScenarioError, Section};

use super::flows::Entries;
use super::hosts::ends;
use super::{flows, refusal, tcp};

/// What a table is about.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    RequestResponse,
    Http,
    Video,
    Incast,
    HttpClients,
    AllReduce,
    AllToAll,
}

const KINDS: [(&str, Kind); 7] = [
    ("request-response", Kind::RequestResponse),
    ("http", Kind::Http),
    ("video", Kind::Video),
    ("incast", Kind::Incast),
    ("http-clients", Kind::HttpClients),
    ("all-reduce", Kind::AllReduce),
    ("all-to-all", Kind::AllToAll),
];

/// What all kinds have.
struct Common {
    name: Arc<str>,
    start_ps: u64,
    tcp: Tcp,
}

/// The applications, and the tables that they come from by name.
pub struct Read {
    all: Applications,
    /// Clients of real machines.
    web: Web,
    entries: Vec<(Arc<str>, Section)>,
}

impl Read {
    /// The model with these applications, if there are any; `tables` are those of its flows.
    pub fn complete(
        self,
        model: Packets,
        section: &Section,
        tables: &[(usize, Section)],
    ) -> Result<Packets, ScenarioError> {
        let model = match self.has_web() {
            true => model.web(&self.web).map_err(|error| self.refuse(section, &error))?,
            false => model,
        };
        let Applications { clients, transfers, .. } = &self.all;
        if clients.is_empty() && transfers.is_empty() {
            return Ok(model);
        }
        model.applications(self.all.clone()).map_err(|error| match error {
            // Only what tables of flows say can wait in a circle.
            PacketError::WaitInCircle { flow, .. } => {
                let place = tables.partition_point(|(first, _)| *first <= flow as usize) - 1;
                refusal::refuse(&tables[place].1, "after", &error)
            }
            _ => self.refuse(section, &error),
        })
    }

    /// Whether there are clients of real machines.
    pub fn has_web(&self) -> bool {
        !self.web.clients.is_empty()
    }

    /// What the library refuses, told at its table.
    fn refuse(&self, section: &Section, error: &PacketError) -> ScenarioError {
        let name = match error {
            PacketError::Application { application, .. } => application.as_str(),
            _ => "",
        };
        let entry = self.entries.iter().find(|(of, _)| **of == *name).map_or(section, |(_, entry)| entry);
        refusal::refuse(entry, "kind", error)
    }
}

/// Reads the tables `applications`, and the key `class` (0) of each, and adds their connections to the flows;
/// `transfers` are of those that wait for each other.
pub fn read(
    section: &mut Section,
    network: &Network,
    transfers: Vec<Transfer>,
    flows: &mut Entries,
) -> Result<Read, ScenarioError> {
    let all = Applications { transfers, ..Applications::default() };
    let mut read = Read { all, web: Web::default(), entries: Vec::new() };
    for (number, mut entry) in (0u32..).zip(section.tables("applications")?) {
        let first = flows.flows.len();
        let name = read_entry(&mut entry, network, number, &mut read, flows)?;
        let class = flows::read_class(&mut entry)?;
        flows.flows[first..].iter_mut().for_each(|flow| flow.class = class);
        flows.entries.push((first, entry.clone()));
        read.entries.push((name, entry.clone()));
        entry.finish()?;
    }
    Ok(read)
}

/// Reads the keys `kind`, `name`, `start` ("0s"), those of TCP connections, and those of the kind.
fn read_entry(
    entry: &mut Section,
    network: &Network,
    number: u32,
    Read { all, web, .. }: &mut Read,
    flows: &mut Entries,
) -> Result<Arc<str>, ScenarioError> {
    let kind = entry.choice("kind", &KINDS, None)?;
    let label = KINDS.iter().find(|(_, of)| *of == kind).map_or("", |(label, _)| *label);
    let name = entry.optional::<String>("name")?.unwrap_or_else(|| format!("{label}-{number}"));
    let start: Picoseconds = entry.or("start", Picoseconds::default())?;
    // Applications that wait for answers turn Nagle's algorithm off (TCP_NODELAY), which holds back what they
    // wait for.
    let tcp = tcp::read_settings(entry, Settings { nagle: false, ..Settings::default() })?;
    let common = Common { name: name.into(), start_ps: start.ps, tcp };
    match kind {
        Kind::RequestResponse => clients::request_response(entry, network, &common, all, flows)?,
        Kind::Http => clients::http(entry, network, &common, all, flows)?,
        Kind::Incast => clients::incast(entry, network, &common, all, flows)?,
        Kind::Video => video::read(entry, network, &common, all, flows)?,
        Kind::HttpClients => web::read(entry, network, &common, web)?,
        Kind::AllReduce => collectives::all_reduce(entry, network, &common, all, flows)?,
        Kind::AllToAll => collectives::all_to_all(entry, network, &common, all, flows)?,
    }
    Ok(common.name)
}

/// The pairs of a client and its server that `from` and `to` name.
fn clients_and_servers(entry: &mut Section, network: &Network) -> Result<Vec<(u32, u32)>, ScenarioError> {
    let (from, to): (String, String) = (entry.required("from")?, entry.required("to")?);
    let pairs = ends(entry, network, &from, &to)?;
    for (from, to) in &pairs {
        flows::check_ends(entry, network, 0, *from, *to)?;
    }
    Ok(pairs)
}
