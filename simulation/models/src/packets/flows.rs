//! Flows: who sends to whom, and how.

use std::sync::Arc;

use paceline_packets::{Drive, Flow, Network, NodeKind, PacketError, Rdma, Span, Tcp, Trace, Udp, files};
use paceline_scenario::{Picoseconds, Rate, ScenarioError, Section};

use super::arrivals::{self, Arrival};
use super::files::Text;
use super::hosts::ends;
use super::refusal::refuse;
use super::waits::Waits;
use super::{rdma, tcp};

/// The longest packet, in bytes on the wire.
const MOST_BYTES: u32 = 1_000_000;

/// All flows, and the tables that they come from, each with the number of its first flow.
pub struct Entries {
    pub flows: Vec<Flow>,
    pub entries: Vec<(usize, Section)>,
    /// By table of flows.
    pub waits: Vec<Waits>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Tcp,
    Udp,
    Rdma,
}

const TRANSPORTS: [(&str, Kind); 3] = [("tcp", Kind::Tcp), ("udp", Kind::Udp), ("rdma", Kind::Rdma)];

/// How the flows of a table send.
enum Sender {
    Tcp(Tcp),
    Udp(UdpSource),
    Trace(Arc<Trace>),
    Rdma(Arc<Rdma>),
}

impl Sender {
    /// How much each flow sends; nothing for packets that do not make up a stream.
    fn bytes(&self) -> Option<Option<u64>> {
        match self {
            Self::Tcp(tcp) => Some(tcp.bytes),
            Self::Rdma(rdma) => Some(rdma.bytes),
            Self::Udp(_) | Self::Trace(_) => None,
        }
    }

    fn flow(&self, network: &Network, from: u32, to: u32, start_ps: u64) -> Flow {
        match self {
            Self::Tcp(tcp) => Flow::tcp(from, to, tcp.clone()).starting(start_ps),
            Self::Rdma(rdma) => Flow::rdma(from, to, rdma.clone()).starting(start_ps),
            Self::Trace(trace) => Flow::trace(from, to, trace.clone()).starting(start_ps),
            Self::Udp(source) => source.flow(network, from, to, start_ps),
        }
    }

    /// The same that sends so many bytes.
    fn sized(&self, bytes: u64) -> Self {
        match self {
            Self::Tcp(tcp) => Self::Tcp(tcp.clone().bytes(bytes)),
            Self::Rdma(rdma) => Self::Rdma(Arc::new(Rdma { bytes: Some(bytes), ..Rdma::clone(rdma) })),
            Self::Udp(_) | Self::Trace(_) => unreachable!("only streams come from lists and by loads"),
        }
    }
}

/// Reads the tables `flows`, and the key `class` (0) of each. Flows that come by chance are drawn from
/// `seed`.
pub fn read(section: &mut Section, network: &Network, seed: u64) -> Result<Entries, ScenarioError> {
    let mut all = Entries { flows: Vec::new(), entries: Vec::new(), waits: Vec::new() };
    for (number, mut entry) in (0u64..).zip(section.tables("flows")?) {
        let first = all.flows.len();
        let waits = read_entry(&mut entry, network, (seed, number), &mut all.flows)?;
        all.waits.push(waits.of(first..all.flows.len()));
        let class = read_class(&mut entry)?;
        all.flows[first..].iter_mut().for_each(|flow| flow.class = class);
        all.entries.push((first, entry.clone()));
        entry.finish()?;
    }
    Ok(all)
}

/// Reads the key `class` (0).
pub fn read_class(entry: &mut Section) -> Result<u8, ScenarioError> {
    Ok(entry.or_where("class", 0u32, |class| class < 8, "a whole number from 0 to 7")? as u8)
}

/// Reads the keys `transport`, `start` ("0s"), those of the transport, and who sends: `from` and `to` with
/// `apart` ("0s"); of TCP and RDMA also with a `load`, or a `list` instead; and what flows of TCP wait for.
fn read_entry(
    entry: &mut Section,
    network: &Network,
    draws: (u64, u64),
    flows: &mut Vec<Flow>,
) -> Result<Waits, ScenarioError> {
    let kind = entry.choice("transport", &TRANSPORTS, None)?;
    let start: Picoseconds = entry.or("start", Picoseconds::default())?;
    let sender = match kind {
        Kind::Tcp => Sender::Tcp(tcp::read(entry)?),
        Kind::Udp => read_udp(entry)?,
        Kind::Rdma => Sender::Rdma(Arc::new(rdma::read(entry)?)),
    };
    let is_tcp = matches!(sender, Sender::Tcp(_));
    let waits = if is_tcp { Waits::read(entry)? } else { Waits::default() };
    if let Some(bytes) = sender.bytes() {
        let arrivals = match arrivals::by_list(entry, network, start.ps)? {
            None => arrivals::by_load(entry, network, bytes, start.ps, draws)?,
            listed => listed,
        };
        for arrival in arrivals.iter().flatten() {
            let &Arrival { from, to, start_ps, bytes } = arrival;
            check_ends(entry, network, flows.len(), from, to)?;
            flows.push(sender.sized(bytes).flow(network, from, to, start_ps));
        }
        if arrivals.is_some() {
            return Ok(waits);
        }
    }
    let (from, to): (String, String) = (entry.required("from")?, entry.required("to")?);
    let apart: Picoseconds = entry.or("apart", Picoseconds::default())?;
    for (nth, (from, to)) in (0u64..).zip(ends(entry, network, &from, &to)?) {
        check_ends(entry, network, flows.len(), from, to)?;
        let start_ps = start.ps.saturating_add(apart.ps.saturating_mul(nth));
        flows.push(sender.flow(network, from, to, start_ps));
    }
    Ok(waits)
}

/// Refuses ends between which nothing can be sent.
pub fn check_ends(
    entry: &Section,
    network: &Network,
    flow: usize,
    from: u32,
    to: u32,
) -> Result<(), ScenarioError> {
    let name = |node: u32| network.name(node).to_owned();
    for (key, node) in [("from", from), ("to", to)] {
        if network.kind(node) != NodeKind::Host {
            let kind = network.kind(node).name();
            return Err(refuse(entry, key, &PacketError::NotAHost { flow, node: name(node), kind }));
        }
    }
    if from == to {
        return Err(refuse(entry, "to", &PacketError::FlowToItself { flow, host: name(from) }));
    }
    if !network.has_route(from, to) {
        return Err(refuse(entry, "to", &PacketError::NoRoute { from: name(from), to: name(to) }));
    }
    Ok(())
}

/// A source of UDP packets, and whether hosts are kept from sending at the same moments.
struct UdpSource {
    udp: Udp,
    stagger: bool,
}

impl UdpSource {
    fn flow(&self, network: &Network, from: u32, to: u32, start_ps: u64) -> Flow {
        let hosts = network.hosts();
        let place = hosts.binary_search(&from).expect("flows begin at hosts");
        let offset_ps = if self.stagger { self.udp.stagger_ps(place as u32, hosts.len() as u32) } else { 0 };
        Flow::udp(from, to, self.udp).starting(start_ps.saturating_add(offset_ps))
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Sending {
    Constant,
    Poisson,
    OnOff,
}

/// By its word; none for packets that a file gives.
const SENDINGS: [(&str, Option<Sending>); 4] = [
    ("constant", Some(Sending::Constant)),
    ("poisson", Some(Sending::Poisson)),
    ("on-off", Some(Sending::OnOff)),
    ("trace", None),
];

/// Reads the keys `rate`, `wire_bytes`, `packets`, `drive` ("constant"), `stagger` (true) with a constant
/// rate; `on`, `off` and `spans` ("exponential") with an on-off source. With "trace" as `drive`, none of
/// these, but `trace` and `repeat`.
fn read_udp(entry: &mut Section) -> Result<Sender, ScenarioError> {
    let Some(sending) = entry.choice("drive", &SENDINGS, Some(Some(Sending::Constant)))? else {
        return Ok(Sender::Trace(Arc::new(read_trace(entry)?)));
    };
    let rate: Rate = entry.required("rate")?;
    let wire_bytes: u32 = entry.required("wire_bytes")?;
    if !(1..=MOST_BYTES).contains(&wire_bytes) {
        let problem = format!("packets of {wire_bytes} bytes");
        let allowed = format!("a whole number from 1 to {MOST_BYTES}");
        return Err(entry.refuse("wire_bytes", problem, allowed));
    }
    let packets: Option<u32> = entry.optional("packets")?;
    let mut stagger = false;
    let drive = match sending {
        Sending::Constant => {
            stagger = entry.or("stagger", true)?;
            Drive::Constant
        }
        Sending::Poisson => Drive::Poisson,
        Sending::OnOff => {
            let (on, off): (Picoseconds, Picoseconds) = (entry.required("on")?, entry.required("off")?);
            let is_fixed = entry.choice("spans", &[("exponential", false), ("fixed", true)], Some(false))?;
            let span = if is_fixed { Span::Fixed } else { Span::Exponential };
            Drive::OnOff { on: span(on.ps), off: span(off.ps) }
        }
    };
    Ok(Sender::Udp(UdpSource { udp: Udp { rate: rate.bps, wire_bytes, drive, packets }, stagger }))
}

/// Reads the keys `trace`, a file with packets, and `repeat`: after how long it begins again.
fn read_trace(entry: &mut Section) -> Result<Trace, ScenarioError> {
    let Some(path) = entry.file("trace")? else {
        let allowed = "`trace`, a file with a line for each packet: time,bytes";
        return Err(entry.refuse("drive", "a trace without a file", allowed));
    };
    let text = Text::load(&path)?;
    let trace = files::trace(&text.name, &text.text).map_err(|error| text.mistake(error))?;
    match entry.optional::<Picoseconds>("repeat")? {
        None => Ok(trace),
        Some(period) => trace.repeated(period.ps).map_err(|error| refuse(entry, "repeat", &error)),
    }
}
