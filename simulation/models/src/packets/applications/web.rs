//! Web clients that ask programs of real machines, by frames.

use paceline_packets::{Network, Web, WebClients};
use paceline_scenario::{Picoseconds, ScenarioError, Section};

use super::Common;
use super::sizes::Spans;
use crate::packets::hosts::select_at;
use crate::packets::refusal::refuse;

/// Keys of flows that frames have no use for, and why.
const USELESS: [(&str, &str); 2] = [
    ("class", "frames of machines have no class"),
    ("below_bytes", "frames have the headers of Ethernet and IPv4"),
];

/// Reads `from` (hosts), `server` (a guest's host), `port` (80), `path` ("/"), `clients` (1, at each host),
/// `arrival` ("0s", from one client to the next), `count` (requests of each), `think` ("0s") and `spans`,
/// `persistent` (true).
pub fn read(
    entry: &mut Section,
    network: &Network,
    common: &Common,
    web: &mut Web,
) -> Result<(), ScenarioError> {
    for (key, reason) in USELESS {
        if entry.has(key) {
            return Err(entry.refuse(key, reason, format!("no `{key}` for clients of guests")));
        }
    }
    let hosts = select_at(entry, network, "from")?;
    let server: String = entry.required("server")?;
    let server = network.node(&server).map_err(|error| refuse(entry, "server", &error))?;
    let port: u32 = entry.or_where("port", 80, |port| (1..=0xffff).contains(&port), "from 1 to 65535")?;
    let path = entry.or("path", "/".to_owned())?;
    let clients: u32 = entry.or_where("clients", 1, |count| count > 0, "at least 1 at each host")?;
    let spans = Spans::read(entry)?;
    let interval = spans.time(entry, "arrival", Picoseconds::default())?;
    let think = spans.time(entry, "think", Picoseconds::default())?;
    let requests = super::clients::count(entry)?;
    let is_kept = entry.or("persistent", true)?;
    for host in hosts {
        web.clients.push(WebClients {
            name: common.name.clone(),
            host,
            server,
            port: port as u16,
            path: path.clone(),
            clients: Some(clients),
            interval,
            requests,
            think,
            is_kept,
            start_ps: common.start_ps,
            tcp: (*common.tcp.sender).clone(),
        });
    }
    Ok(())
}
