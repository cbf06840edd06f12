//! Clients: requests and responses, pages, incast.

use paceline_packets::application::{
    Applications, Client, Counts, Habit, Jobs, Kind, LogNormal, Pareto, Sizes,
};
use paceline_packets::{Flow, Network, Span};
use paceline_scenario::{Picoseconds, ScenarioError, Section};

use super::sizes::{self, Spans};
use super::{Common, clients_and_servers};
use crate::packets::flows::{Entries, check_ends};
use crate::packets::hosts::select_at;

/// The most connections of a table.
const MOST_LINES: u64 = 1_000_000;
/// The most connections of a client to one server.
const MOST_PARALLEL: u32 = 1_000;

/// Pages as 3GPP2 has them, with the numbers of `ThreeGppHttpVariables` of ns-3 3.37: requests of 328 bytes,
/// documents, objects and how many there are of these, times of reading and parsing.
pub const REQUEST_BYTES: u64 = 328;
const DOCUMENT: LogNormal = LogNormal { mean: 10_710.0, deviation: 25_032.0, least: 100, most: 2_000_000 };
const OBJECT: LogNormal = LogNormal { mean: 7_758.0, deviation: 126_168.0, least: 50, most: 2_000_000 };
const OBJECTS: Pareto = Pareto { least: 2, shape: 1.1, most: 55 };
const READING: Picoseconds = Picoseconds { ps: 30_000_000_000_000 };
const PARSING: Picoseconds = Picoseconds { ps: 130_000_000_000 };

/// A client of a table: its connections lead to `servers`.
fn add(common: &Common, from: u32, servers: &[u32], flows: &mut Entries) -> Box<[u32]> {
    let line = |server: &u32| {
        flows.flows.push(Flow::tcp(from, *server, common.tcp.clone()));
        flows.flows.len() as u32 - 1
    };
    servers.iter().map(line).collect()
}

impl Common {
    fn client(
        &self,
        kind: Kind,
        lines: Box<[u32]>,
        request_bytes: u64,
        service: Span,
        jobs: &Jobs,
    ) -> Client {
        let (name, start_ps, habit) = (self.name.clone(), self.start_ps, Habit::Jobs(jobs.clone()));
        Client { name, kind, lines, start_ps, request_bytes, service, habit }
    }
}

/// Reads `count`: how many jobs.
pub fn count(entry: &mut Section) -> Result<Option<u64>, ScenarioError> {
    let count: Option<u64> = entry.optional("count")?;
    if count == Some(0) {
        return Err(entry.refuse(
            "count",
            "a count of 0",
            "at least 1, or no `count`: to the end of the run",
        ));
    }
    Ok(count)
}

/// Reads `from` and `to`, `request`, `response`, `service`, `think` and `spans`, `count`, `persistent`
/// (true).
pub fn request_response(
    entry: &mut Section,
    network: &Network,
    common: &Common,
    all: &mut Applications,
    flows: &mut Entries,
) -> Result<(), ScenarioError> {
    let pairs = clients_and_servers(entry, network)?;
    let request_bytes = sizes::request(entry, None)?;
    let object = sizes::read(entry, "response", None)?;
    let spans = Spans::read(entry)?;
    let service = spans.time(entry, "service", Picoseconds::default())?;
    let think = spans.time(entry, "think", Picoseconds::default())?;
    let count = count(entry)?;
    let is_fresh = !entry.or("persistent", true)?;
    let lines = match count {
        Some(count) if is_fresh => {
            if count.saturating_mul(pairs.len() as u64) > MOST_LINES {
                let problem = format!("{} x {count} connections", pairs.len());
                return Err(entry.refuse("count", problem, format!("at most {MOST_LINES} of all clients")));
            }
            count as usize
        }
        None if is_fresh => {
            let problem = "a connection for each request, without a number of requests";
            return Err(entry.refuse("persistent", problem, "`count` as well, or true"));
        }
        _ => 1,
    };
    let objects = Counts::Between(1, 1);
    let jobs = Jobs { document: None, objects, object, think, count, is_fresh };
    for (from, to) in pairs {
        let lines = add(common, from, &vec![to; lines], flows);
        all.clients.push(common.client(Kind::RequestResponse, lines, request_bytes, service, &jobs));
    }
    Ok(())
}

/// Reads `from` and `to`, `request` (328 bytes), `document`, `object`, `objects`, `connections` (6),
/// `service`, `parse` ("130ms"), `think` ("30s") and `spans`, `count`.
pub fn http(
    entry: &mut Section,
    network: &Network,
    common: &Common,
    all: &mut Applications,
    flows: &mut Entries,
) -> Result<(), ScenarioError> {
    let pairs = clients_and_servers(entry, network)?;
    let request_bytes = sizes::request(entry, Some(REQUEST_BYTES))?;
    let document = sizes::read(entry, "document", Some(Sizes::LogNormal(DOCUMENT)))?;
    let object = sizes::read(entry, "object", Some(Sizes::LogNormal(OBJECT)))?;
    let objects = entry.optional::<u32>("objects")?;
    let objects = objects.map_or(Counts::Beyond(OBJECTS), |count| Counts::Between(count, count));
    let allowed = format!("from 1 to {MOST_PARALLEL}");
    let fits = |count| (1..=MOST_PARALLEL).contains(&count);
    let connections: u32 = entry.or_where("connections", 6, fits, allowed)?;
    let spans = Spans::read(entry)?;
    let service = spans.time(entry, "service", Picoseconds::default())?;
    let parse = spans.time(entry, "parse", PARSING)?;
    let think = spans.time(entry, "think", READING)?;
    let count = count(entry)?;
    let document = Some((document, parse));
    let jobs = Jobs { document, objects, object, think, count, is_fresh: false };
    for (from, to) in pairs {
        let lines = add(common, from, &vec![to; connections as usize], flows);
        all.clients.push(common.client(Kind::Http, lines, request_bytes, service, &jobs));
    }
    Ok(())
}

/// Reads `client` and `servers`, `request`, `response`, `service`, `think` and `spans`, `count`.
pub fn incast(
    entry: &mut Section,
    network: &Network,
    common: &Common,
    all: &mut Applications,
    flows: &mut Entries,
) -> Result<(), ScenarioError> {
    let (clients, servers) = (select_at(entry, network, "client")?, select_at(entry, network, "servers")?);
    let request_bytes = sizes::request(entry, None)?;
    let object = sizes::read(entry, "response", None)?;
    let spans = Spans::read(entry)?;
    let service = spans.time(entry, "service", Picoseconds::default())?;
    let think = spans.time(entry, "think", Picoseconds::default())?;
    let count = count(entry)?;
    if (clients.len() as u64).saturating_mul(servers.len() as u64) > MOST_LINES {
        let problem = format!("{} x {} connections", clients.len(), servers.len());
        return Err(entry.refuse("servers", problem, format!("at most {MOST_LINES}")));
    }
    for client in clients {
        // A pattern such as "hosts" may name the client as well, which does not ask itself.
        let servers: Vec<u32> = servers.iter().copied().filter(|server| *server != client).collect();
        if servers.is_empty() {
            return Err(entry.refuse("servers", "a client without servers", "hosts other than the client"));
        }
        for server in &servers {
            check_ends(entry, network, 0, client, *server)?;
        }
        let objects = Counts::Between(servers.len() as u32, servers.len() as u32);
        let jobs = Jobs { document: None, objects, object: object.clone(), think, count, is_fresh: false };
        let lines = add(common, client, &servers, flows);
        all.clients.push(common.client(Kind::Incast, lines, request_bytes, service, &jobs));
    }
    Ok(())
}
