//! Flows that wait for flows: the keys `name`, `after` and `delay` of a table.
//!
//! Invariant: a flow waits for flows that end at the host that sends it, and for nothing that happens
//! elsewhere.

use std::ops::Range;

use paceline_packets::application::Transfer;
use paceline_packets::{Flow, Network, Transport};
use paceline_scenario::{Picoseconds, ScenarioError, Section};

/// The flows of a table, and what they wait for.
#[derive(Default)]
pub struct Waits {
    name: Option<String>,
    after: Option<String>,
    pause_ps: u64,
    flows: Range<usize>,
}

impl Waits {
    /// Reads `name`, `after` and, with that, `delay` ("0s").
    pub fn read(entry: &mut Section) -> Result<Self, ScenarioError> {
        let (name, after) = (entry.optional("name")?, entry.optional::<String>("after")?);
        let delay: Picoseconds = match after {
            Some(_) => entry.or("delay", Picoseconds::default())?,
            None => Picoseconds::default(),
        };
        Ok(Self { name, after, pause_ps: delay.ps, flows: 0..0 })
    }

    /// The same for a table with these flows.
    pub fn of(self, flows: Range<usize>) -> Self {
        Self { flows, ..self }
    }
}

/// The transfers of the tables that wait, or that others wait for; `entries` are the tables.
pub fn transfers(
    tables: &[Waits],
    entries: &[(usize, Section)],
    flows: &[Flow],
    network: &Network,
) -> Result<Vec<Transfer>, ScenarioError> {
    let mut numbers: Vec<Option<u32>> = vec![None; flows.len()];
    let mut transfers: Vec<Transfer> = Vec::new();
    let awaited = |name: &Option<String>| name.is_some() && tables.iter().any(|table| table.after == *name);
    for (table, (_, entry)) in tables.iter().zip(entries) {
        if table.after.is_none() && !awaited(&table.name) {
            continue;
        }
        for number in table.flows.clone() {
            let flow = &flows[number];
            let Transport::Tcp(tcp) = &flow.transport else { continue };
            let Some(bytes) = tcp.bytes else {
                let problem = "a flow without an end that waits, or is waited for";
                return Err(entry.refuse("bytes", problem, "a number of `bytes`"));
            };
            numbers[number] = Some(transfers.len() as u32);
            let (flow, start_ps, pause_ps) = (number as u32, flow.start_ps, table.pause_ps);
            transfers.push(Transfer { flow, bytes, start_ps, after: Box::default(), pause_ps, group: None });
        }
    }
    for (table, (_, entry)) in tables.iter().zip(entries) {
        let Some(after) = &table.after else { continue };
        let named = |other: &&Waits| other.name.as_ref() == Some(after);
        let before: Vec<usize> = tables.iter().filter(named).flat_map(|other| other.flows.clone()).collect();
        if before.is_empty() {
            let allowed = "the `name` of TCP flows of this scenario";
            return Err(entry.refuse("after", format!("no flows are called {after:?}"), allowed));
        }
        for number in table.flows.clone() {
            let host = flows[number].from;
            let ends_here = |other: &&usize| flows[**other].to == host;
            let after_these: Box<[u32]> =
                before.iter().filter(ends_here).filter_map(|other| numbers[*other]).collect();
            if after_these.is_empty() {
                let name = |node: u32| network.name(node);
                let (flow, other) = (&flows[number], &flows[before[0]]);
                let problem = format!(
                    "the flow from {:?} to {:?} waits for flows of which none ends at {:?}, such as that from {:?} to {:?}",
                    name(flow.from),
                    name(flow.to),
                    name(host),
                    name(other.from),
                    name(other.to)
                );
                return Err(entry.refuse("after", problem, "flows that end where it begins"));
            }
            let waiting = numbers[number].expect("all flows of a table that waits are transfers");
            transfers[waiting as usize].after = after_these;
        }
    }
    Ok(transfers)
}
