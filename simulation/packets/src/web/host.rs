//! What a host does for its web clients and servers at an event.
//!
//! Invariants: a client has one request at a time. A connection is in the list of the host from its SYN until
//! it is closed on both sides; with it goes the only event that would wake it.

use std::sync::Arc;

use paceline_kernel::{Rng, Time};

use super::connection::{MOST_HEAD, Side, WebConnection};
use super::response::Response;
use super::state::WebState;
use super::table::{Group, PORTS, WebTable};
use crate::application::length_ps;
use crate::clock::PS_PER_SECOND;
use crate::frame::tcp::{Numbers, Place, Unreadable, WireSegment, write};
use crate::packet::NetEvent;
use crate::tcp::{Flags, Segment, State, Step};

/// The first port of clients, as Linux has it.
const FIRST_PORT: u16 = 32_768;
/// How long a client waits at least after a request that failed: a server that refuses it is not asked
/// without end at one moment.
const PAUSE_PS: u64 = PS_PER_SECOND;

/// A host at an event, and what is to be done because of it.
pub(crate) struct Turn<'a> {
    table: &'a WebTable,
    state: &'a mut WebState,
    rng: &'a mut Rng,
    node: u32,
    now: Time,
    now_ps: u64,
    /// Frames to send, each to a host.
    pub frames: Vec<(u32, Vec<u8>)>,
    /// Events of connections, each at its time.
    pub wakes: Vec<(Time, NetEvent)>,
    /// Clients that come or ask later: when, in picoseconds, which entry, and who asks.
    pub later: Vec<(u64, u32, Option<u32>)>,
}

/// A connection's place in the list: the port here, that of the peer, and the peer's address.
fn key(ports: [u16; 2], peer: u32) -> u64 {
    u64::from(ports[0]) << 48 | u64::from(ports[1]) << 32 | u64::from(peer)
}

/// The same back: the ports, and the peer's address.
fn parts(key: u64) -> ([u16; 2], u32) {
    ([(key >> 48) as u16, (key >> 32) as u16], key as u32)
}

impl<'a> Turn<'a> {
    pub fn new(
        table: &'a WebTable,
        state: &'a mut WebState,
        rng: &'a mut Rng,
        node: u32,
        now: Time,
        now_ps: u64,
    ) -> Self {
        let (frames, wakes, later) = (Vec::new(), Vec::new(), Vec::new());
        Self { table, state, rng, node, now, now_ps, frames, wakes, later }
    }

    /// The next client of an entry comes, and those that come at the same moment.
    pub fn arrive(&mut self, number: u32) {
        let table = self.table;
        let (place, clients) = (self.group_place(number), &table.groups[number as usize].of);
        loop {
            let client = self.state.groups[place].arrived;
            if clients.clients.is_some_and(|count| client >= count) || client == u32::MAX {
                return;
            }
            self.state.groups[place].arrived += 1;
            self.ask(place, client);
            let interval_ps = length_ps(clients.interval, self.rng);
            if interval_ps > 0 {
                self.later.push((self.now_ps.saturating_add(interval_ps), number, None));
                return;
            }
        }
    }

    /// A client sends its next request.
    pub fn ask_of(&mut self, number: u32, client: u32) {
        self.ask(self.group_place(number), client);
    }

    fn group_place(&self, number: u32) -> usize {
        let here = self.table.groups_at(self.node);
        here.binary_search(&number).expect("an event of an entry is at the host of its clients")
    }

    fn ask(&mut self, place: usize, client: u32) {
        let table = self.table;
        let group = table.group_at(self.node, place);
        let (settings, bytes) = (&group.of.tcp, group.request.len() as u64);
        let state = self.state.groups[place].clients.entry(client).or_default();
        let (mut out, now_ps) = (Vec::new(), self.now_ps);
        let kept = state.key.and_then(|key| Some((key, self.state.connections.remove(&key)?)));
        let (key, mut connection) = match kept {
            Some(kept) => kept,
            None => {
                let Some(key) = self.free_key(group.addresses[1], group.of.port) else {
                    return self.give_up(place, client);
                };
                self.state.groups[place].clients.entry(client).or_default().key = Some(key);
                self.state.groups[place].result.connections += 1;
                let side = Side::Client {
                    group: place as u32,
                    client: Some(client),
                    asked_ps: None,
                    response: Response::default(),
                };
                let step = &mut Step::new(settings, self.now, &mut out);
                let of = Place { addresses: group.addresses, ports: parts(key).0 };
                (key, Arc::new(WebConnection::connect(step, of, now_ps, side)))
            }
        };
        let at_work = Arc::make_mut(&mut connection);
        if let Side::Client { asked_ps, response, .. } = &mut at_work.side
            && asked_ps.is_none()
        {
            (*asked_ps, *response) = (Some(now_ps), Response::default());
            at_work.tcp.write(&mut Step::new(settings, self.now, &mut out), bytes);
        }
        self.put_back(key, connection, &out);
    }

    /// A connection's place whose port is free here.
    fn free_key(&mut self, peer: u32, port: u16) -> Option<u64> {
        (0..PORTS).find_map(|_| {
            let key = key([FIRST_PORT + self.state.next_port % PORTS, port], peer);
            self.state.next_port = (self.state.next_port + 1) % PORTS;
            (!self.state.connections.contains_key(&key)).then_some(key)
        })
    }

    /// A request of a client has failed without a connection.
    fn give_up(&mut self, place: usize, client: u32) {
        self.state.groups[place].result.failed += 1;
        self.go_on(place, client, false);
    }

    /// A frame has come to this host, with a congestion mark or not.
    pub fn take(&mut self, bytes: &[u8], has_mark: bool) {
        let counts = &mut self.state.counts;
        let wire = match WireSegment::read(bytes) {
            Ok(wire) => wire,
            Err(reason) => {
                *match reason {
                    Unreadable::OtherProtocol => &mut counts.other_protocol,
                    Unreadable::Fragment => &mut counts.fragments,
                    Unreadable::Malformed => &mut counts.malformed,
                    Unreadable::Checksum => &mut counts.checksum,
                } += 1;
                return;
            }
        };
        let [peer_port, port] = wire.ports;
        let (peer, us) = wire.addresses.into();
        let (key, place) =
            (key([port, peer_port], peer), Place { addresses: [us, peer], ports: [port, peer_port] });
        let known = self.state.connections.remove(&key);
        let Some(mut connection) = known.or_else(|| self.listen(&wire, place)) else {
            self.state.counts.without_connection += 1;
            return self.refuse(&wire, place);
        };
        let (settings, _) = self.table.terms(self.node, &connection.side);
        let (mut out, mut requests) = (Vec::new(), Vec::new());
        let step = &mut Step::new(settings, self.now, &mut out);
        let at_work = Arc::make_mut(&mut connection);
        at_work.take(step, &wire, has_mark, |side, bytes| match side {
            // What nobody has asked for is left out.
            Side::Client { asked_ps, response, .. } => {
                if asked_ps.is_some() {
                    response.read(bytes);
                }
            }
            Side::Server { head, .. } => read_requests(head, bytes, &mut requests),
        });
        self.serve(at_work, &requests, &mut out);
        self.settle(key, connection, out);
    }

    /// A deadline of a connection has come, unless it has moved.
    pub fn wake(&mut self, key: u64, generation: u32) {
        let is_asked = |connection: &Arc<WebConnection>| connection.generation == generation;
        if !self.state.connections.get(&key).is_some_and(is_asked) {
            return;
        }
        let mut connection = self.state.connections.remove(&key).expect("it was just found");
        let (settings, _) = self.table.terms(self.node, &connection.side);
        let (mut out, at_work) = (Vec::new(), Arc::make_mut(&mut connection));
        at_work.wake = None;
        at_work.tcp.on_timer(&mut Step::new(settings, self.now, &mut out));
        self.settle(key, connection, out);
    }

    /// A server's end for a SYN that nobody has heard before.
    fn listen(&self, wire: &WireSegment<'_>, place: Place) -> Option<Arc<WebConnection>> {
        let server = self.table.server_at(self.node, place.ports[0])?;
        if !wire.has(Flags::SYN) || wire.has(Flags::ACK) || wire.has(Flags::RST) {
            return None;
        }
        let side = Side::Server { server, head: Vec::new() };
        let (settings, _) = self.table.terms(self.node, &side);
        Some(Arc::new(WebConnection::listen(settings, place, self.now_ps, side)))
    }

    /// Answers a segment of no connection (RFC 9293, section 3.10.7.1).
    fn refuse(&mut self, wire: &WireSegment<'_>, place: Place) {
        if wire.has(Flags::RST) {
            return;
        }
        let end = wire.sequence.wrapping_add(wire.sequence_length());
        let (sequence, ack, flags) = match wire.has(Flags::ACK) {
            true => (wire.ack, 0, Flags::RST),
            false => (0, end, Flags::RST | Flags::ACK),
        };
        let (sequence, ack) = (sequence.into(), ack.into());
        let segment = Segment { sequence, ack, flags, ..Segment::default() };
        let frame = write(place, &Numbers::default(), &segment, &[], self.state.identification);
        self.send(place.addresses[1], frame);
    }

    /// Sends a frame to who has an address. A machine may have made it up: then nobody gets it.
    fn send(&mut self, address: u32, frame: Vec<u8>) {
        if let Some(to) = self.table.host(address).filter(|to| *to != self.node) {
            self.state.identification = self.state.identification.wrapping_add(1);
            self.frames.push((to, frame));
        }
    }

    /// Answers requests that have come whole; each says whether it is the last.
    fn serve(&self, connection: &mut WebConnection, requests: &[bool], out: &mut Vec<Segment>) {
        let (settings, message) = self.table.terms(self.node, &connection.side);
        for is_last in requests {
            let step = &mut Step::new(settings, self.now, out);
            connection.tcp.write(step, message.len() as u64);
            if *is_last {
                connection.tcp.close(step);
            }
        }
    }

    /// What follows from what has come: requests that are over, and ends that close. Then the connection goes
    /// back into the list.
    fn settle(&mut self, key: u64, mut connection: Arc<WebConnection>, mut out: Vec<Segment>) {
        let (settings, _) = self.table.terms(self.node, &connection.side);
        let at_work = Arc::make_mut(&mut connection);
        let is_aborted = at_work.tcp.state() == State::Aborted;
        let has_ended = at_work.tcp.is_received_whole();
        let mut over = None;
        let closes = match &mut at_work.side {
            Side::Server { .. } => has_ended,
            Side::Client { group, client, asked_ps, response } => {
                let place = *group as usize;
                if has_ended {
                    response.end();
                }
                let is_answered = response.is_whole();
                if let (Some(who), Some(since_ps)) = (*client, *asked_ps)
                    && (is_answered || response.is_wrong() || has_ended || is_aborted)
                {
                    *asked_ps = None;
                    self.record(place, is_answered.then_some((since_ps, &*response)));
                    over = Some((place, who, is_answered));
                }
                let leaves = over.is_some_and(|(.., is_answered)| {
                    !is_answered || response.is_last || self.is_last(place, client.unwrap_or(0))
                });
                let leaver = client.take_if(|_| leaves || has_ended || is_aborted);
                if let Some(state) = leaver.and_then(|who| self.state.groups[place].clients.get_mut(&who)) {
                    state.key = None;
                }
                leaver.is_some()
            }
        };
        // A server's end that has closed does so once: then its state is another.
        if closes && !is_aborted {
            at_work.tcp.close(&mut Step::new(settings, self.now, &mut out));
        }
        self.put_back(key, connection, &out);
        if let Some((place, who, is_answered)) = over {
            self.go_on(place, who, is_answered);
        }
    }

    /// Whether the request that a client has sent is its last on the connection.
    fn is_last(&self, place: usize, client: u32) -> bool {
        let of = &self.group(place).of;
        let done = self.state.groups[place].clients.get(&client).map_or(0, |client| client.done);
        !of.is_kept || of.requests.is_some_and(|count| done + 1 >= count)
    }

    fn group(&self, place: usize) -> &Group {
        self.table.group_at(self.node, place)
    }

    /// Counts a request that is over: when it was sent, and what it brought.
    fn record(&mut self, place: usize, answer: Option<(u64, &Response)>) {
        let result = &mut self.state.groups[place].result;
        match answer {
            Some((since_ps, response)) => {
                result.responses.push(self.now_ps.saturating_sub(since_ps));
                result.body_bytes += response.body_bytes;
                *result.statuses.entry(response.status).or_default() += 1;
            }
            None => result.failed += 1,
        }
    }

    /// A request of a client is over: it thinks, and asks again if it has requests left.
    fn go_on(&mut self, place: usize, client: u32, is_answered: bool) {
        let (number, think) = (self.table.groups_at(self.node)[place], self.group(place).of.think);
        let requests = self.group(place).of.requests;
        let clients = &mut self.state.groups[place].clients;
        let Some(state) = clients.get_mut(&client) else { return };
        state.done += 1;
        if requests.is_some_and(|count| state.done >= count) {
            clients.remove(&client);
            return;
        }
        let wait_ps = length_ps(think, self.rng).max(if is_answered { 0 } else { PAUSE_PS });
        if wait_ps == 0 {
            // An answer takes time, so that this does not go on at one moment.
            return self.ask(place, client);
        }
        self.later.push((self.now_ps.saturating_add(wait_ps), number, Some(client)));
    }

    /// Sends what a connection has to send, asks for the event of its deadline, and puts it back into the
    /// list unless it is over.
    fn put_back(&mut self, key: u64, mut connection: Arc<WebConnection>, out: &[Segment]) {
        let (settings, message) = self.table.terms(self.node, &connection.side);
        let (ports, peer) = parts(key);
        let place = Place { addresses: [self.table.address(self.node), peer], ports };
        for segment in out {
            let frame = connection.frame(settings, place, segment, message, self.state.identification);
            self.send(peer, frame);
        }
        if matches!(connection.tcp.state(), State::Closed | State::Aborted) {
            return;
        }
        if let Some(deadline) = connection.tcp.deadline()
            && connection.wake.is_none_or(|wake| wake > deadline)
        {
            let deadline = deadline.max(self.now);
            self.state.generation = self.state.generation.wrapping_add(1);
            let at_work = Arc::make_mut(&mut connection);
            (at_work.wake, at_work.generation) = (Some(deadline), self.state.generation);
            self.wakes.push((deadline, NetEvent::WebWake { key, generation: self.state.generation }));
        }
        self.state.connections.insert(key, connection);
    }
}

/// Reads heads of requests, which have no bodies: of each that has come whole, whether it is the last of its
/// connection.
fn read_requests(head: &mut Vec<u8>, bytes: &[u8], requests: &mut Vec<bool>) {
    for byte in bytes {
        head.push(*byte);
        if head.ends_with(b"\r\n\r\n") {
            let text = String::from_utf8_lossy(head).to_ascii_lowercase();
            let is_old = text.lines().next().is_some_and(|line| line.ends_with("http/1.0"));
            requests.push(is_old || text.lines().any(|line| line.trim() == "connection: close"));
            head.clear();
        } else if head.len() >= MOST_HEAD {
            // Nothing is looked for in so long a head but its end.
            head.drain(..MOST_HEAD - 3);
        }
    }
}
