//! Web clients and servers as hosts look for them, and which of them cannot be.
//!
//! Invariant: clients and servers are at hosts without machines, and clients ask somebody who is there.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::connection::Side;
use super::{Web, WebClients, WebServer};
use crate::PacketError;
use crate::link::MOST_LATENCY_PS;
use crate::network::{Network, NodeKind};
use crate::stations::Stations;
use crate::tcp::Settings;
use crate::udp::Span;

/// How many ports there are for clients of a host: those of Linux, from 32768 on.
pub(super) const PORTS: u16 = 28_232;
/// The longest path.
const MOST_PATH: usize = 2_000;
/// The largest segment that fits the frames of machines.
const MOST_MSS: u16 = 1_460;

/// Clients with what they send.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub of: WebClients,
    /// The addresses of the clients' host and of the server.
    pub addresses: [u32; 2],
    pub request: Arc<[u8]>,
}

/// A server with what it answers.
#[derive(Clone, Debug)]
pub(super) struct Server {
    pub of: WebServer,
    pub response: Arc<[u8]>,
}

/// All of a model.
#[derive(Clone, Debug)]
pub(crate) struct WebTable {
    pub(super) groups: Vec<Group>,
    pub(super) servers: Vec<Server>,
    /// By host: its address, and the numbers of entries of clients.
    at: BTreeMap<u32, (u32, Vec<u32>)>,
    /// By host and port.
    ports: BTreeMap<(u32, u16), u32>,
    /// By address.
    hosts: BTreeMap<u32, u32>,
}

fn error(application: &str, problem: impl Into<String>, allowed: &'static str) -> PacketError {
    PacketError::Application { application: application.into(), problem: problem.into(), allowed }
}

impl WebTable {
    pub fn new(network: &Network, stations: Option<&Stations>, web: &Web) -> Result<Self, PacketError> {
        let Some(stations) = stations else {
            let name = web.clients.first().map_or("a web server", |clients| &*clients.name);
            return Err(error(name, "no machine in the network", "networks with machines"));
        };
        let mut table = Self {
            groups: Vec::new(),
            servers: Vec::new(),
            at: BTreeMap::new(),
            ports: BTreeMap::new(),
            hosts: stations.hosts().collect(),
        };
        // First, since clients look for them.
        for (number, server) in (0..).zip(&web.servers) {
            table.add_server(network, stations, number, server)?;
        }
        for (number, clients) in (0..).zip(&web.clients) {
            table.add_clients(network, stations, number, clients)?;
        }
        Ok(table)
    }

    fn add_server(
        &mut self,
        network: &Network,
        stations: &Stations,
        number: u32,
        server: &WebServer,
    ) -> Result<(), PacketError> {
        let name = "a web server";
        let address = place(network, stations, name, server.host)?;
        settings(name, &server.tcp)?;
        if self.ports.insert((server.host, server.port), number).is_some() || server.port == 0 {
            let problem = format!("port {} of {:?}", server.port, network.name(server.host));
            return Err(error(name, problem, "a port from 1 to 65535 of its own"));
        }
        let mut response = format!(
            "HTTP/1.1 200 OK\r\nServer: paceline\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n",
            server.body_bytes
        )
        .into_bytes();
        response.extend(b"paceline ".iter().cycle().take(server.body_bytes as usize));
        self.servers.push(Server { of: server.clone(), response: response.into() });
        self.at.entry(server.host).or_insert((address, Vec::new()));
        Ok(())
    }

    fn add_clients(
        &mut self,
        network: &Network,
        stations: &Stations,
        number: u32,
        clients: &WebClients,
    ) -> Result<(), PacketError> {
        let (name, host, server) = (&clients.name, clients.host, clients.server);
        let address = place(network, stations, name, host)?;
        settings(name, &clients.tcp)?;
        let is_there = stations.is_machine(server) || self.ports.contains_key(&(server, clients.port));
        let Some(to) = stations.address(server).map(u32::from).filter(|_| is_there && server != host) else {
            let problem = format!("{:?} as its server, where nobody answers", network.name(server));
            return Err(error(name, problem, "the host of a machine"));
        };
        // Both ways: answers come back.
        if !network.has_route(host, server) || !network.has_route(server, host) {
            let (from, to) = (network.name(host).to_owned(), network.name(server).to_owned());
            return Err(PacketError::NoRoute { from, to });
        }
        if let Some((problem, allowed)) = mistake(clients) {
            return Err(error(name, problem, allowed));
        }
        let host_field = match clients.port {
            // As browsers write it: the port of HTTP is left out.
            80 => std::net::Ipv4Addr::from(to).to_string(),
            port => format!("{}:{port}", std::net::Ipv4Addr::from(to)),
        };
        let connection = if clients.is_kept { "" } else { "Connection: close\r\n" };
        let request = format!(
            "GET {} HTTP/1.1\r\nHost: {host_field}\r\nUser-Agent: paceline\r\nAccept: */*\r\n{connection}\r\n",
            clients.path
        );
        let request = request.into_bytes().into();
        self.groups.push(Group { of: clients.clone(), addresses: [address, to], request });
        self.at.entry(host).or_insert((address, Vec::new())).1.push(number);
        Ok(())
    }

    /// The numbers of entries of clients at a host.
    pub fn groups_at(&self, host: u32) -> &[u32] {
        self.at.get(&host).map_or(&[], |(_, groups)| groups)
    }

    /// When the first client of an entry comes, in picoseconds.
    pub fn start_ps(&self, number: u32) -> u64 {
        self.groups[number as usize].of.start_ps
    }

    /// The entry in a place at a host.
    pub(super) fn group_at(&self, host: u32, place: usize) -> &Group {
        &self.groups[self.groups_at(host)[place] as usize]
    }

    pub(super) fn address(&self, host: u32) -> u32 {
        self.at[&host].0
    }

    /// The settings of an end at a host, and what it writes over and over.
    pub(super) fn terms(&self, host: u32, side: &Side) -> (&Settings, &[u8]) {
        match side {
            Side::Client { group, .. } => {
                let group = self.group_at(host, *group as usize);
                (&group.of.tcp, &group.request)
            }
            Side::Server { server, .. } => {
                let server = &self.servers[*server as usize];
                (&server.of.tcp, &server.response)
            }
        }
    }

    /// Whether anybody here speaks for a host.
    pub fn is_at(&self, host: u32) -> bool {
        self.at.contains_key(&host)
    }

    pub fn is_server_at(&self, host: u32, server: u32) -> bool {
        self.servers.get(server as usize).is_some_and(|server| server.of.host == host)
    }

    pub(super) fn server_at(&self, host: u32, port: u16) -> Option<u32> {
        self.ports.get(&(host, port)).copied()
    }

    /// The host that has an address.
    pub(super) fn host(&self, address: u32) -> Option<u32> {
        self.hosts.get(&address).copied()
    }

    /// What is asked and answered, for people.
    pub fn clients(&self) -> impl Iterator<Item = &WebClients> {
        self.groups.iter().map(|group| &group.of)
    }

    /// What tells this from another model, for checkpoints.
    pub fn parameters(&self) -> String {
        let servers: Vec<&WebServer> = self.servers.iter().map(|server| &server.of).collect();
        format!(", web {:?} {servers:?}", self.clients().collect::<Vec<_>>())
    }
}

/// The address of a host at which somebody is to speak HTTP.
fn place(network: &Network, stations: &Stations, name: &str, node: u32) -> Result<u32, PacketError> {
    let at = network.name(node);
    if network.kind(node) != NodeKind::Host {
        let problem = format!("its place at {at:?}, a {}", network.kind(node).name());
        return Err(error(name, problem, "hosts"));
    }
    if stations.is_machine(node) {
        return Err(error(
            name,
            format!("its place at {at:?}, where a machine is"),
            "hosts without machines",
        ));
    }
    let address = stations.address(node).expect("all hosts have addresses");
    Ok(address.into())
}

fn settings(name: &str, tcp: &Settings) -> Result<(), PacketError> {
    if tcp.mss > MOST_MSS {
        return Err(error(
            name,
            format!("segments of {} bytes", tcp.mss),
            "up to 1460 bytes, as frames hold",
        ));
    }
    // What is not read at once would never be.
    if !tcp.reads_at_once {
        return Err(error(name, "connections that are not read", "connections that are read at once"));
    }
    tcp.check()
        .map_err(|mistake| error(name, format!("{} of {}", mistake.key, mistake.value), mistake.allowed))
}

fn mistake(clients: &WebClients) -> Option<(String, &'static str)> {
    let path = &clients.path;
    let is_path =
        path.starts_with('/') && path.len() <= MOST_PATH && path.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_path {
        let allowed = "visible ASCII characters from a slash on, up to 2000";
        return Some((format!("a path of {path:?}"), allowed));
    }
    let longest = [clients.interval, clients.think].into_iter().map(|span| match span {
        Span::Fixed(ps) | Span::Exponential(ps) => ps,
    });
    if clients.start_ps.max(longest.max().unwrap_or(0)) > MOST_LATENCY_PS {
        return Some(("a time of more than 10^18 ps".into(), "at most 10^18 ps, 11 days"));
    }
    if clients.port == 0 {
        return Some(("port 0".into(), "a port from 1 to 65535"));
    }
    if clients.requests == Some(0) || clients.clients == Some(0) {
        return Some(("no clients or requests".into(), "at least one"));
    }
    let is_at_once = matches!(clients.interval, Span::Fixed(0) | Span::Exponential(0));
    // A client that is there holds a port of its host, and none has left when the last one comes.
    if is_at_once && clients.clients.is_none_or(|count| count > u32::from(PORTS)) {
        return Some(("clients that come at once without end".into(), "up to 28232 that come at once"));
    }
    None
}
