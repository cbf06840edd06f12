//! The processes that join, all ranks but 0: each reaches the coordinator, with pauses while that does not
//! listen yet, gets its rank, and connects to the other processes.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use super::gate::Gate;
use super::host::Host;
use super::message::{self, Message, Run};
use super::sharing::{location, share};
use super::{CHARGE_LIMIT, Mesh, Prefer, RANKS_LIMIT, RendezvousError, Settings};
use crate::SharedMemory;
use crate::tcp::handshake::{Credentials, HandshakeError, connect, io_error};
use crate::tcp::link::Link;

/// The shortest and the longest pause between attempts to reach a coordinator that does not listen yet.
const PAUSES: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(250)];

/// Joins the run whose coordinator listens at `address`. Returns the mesh and the charge when all processes
/// are connected to each other.
pub fn join(address: impl ToSocketAddrs, settings: &Settings) -> Result<(Mesh, Vec<u8>), RendezvousError> {
    let by = Instant::now() + settings.time_limit;
    let addresses: Vec<_> = address.to_socket_addrs()?.collect();
    let credentials = settings.credentials()?;
    let (at, coordinator) = reach(&addresses, &credentials, by)?;
    let process = Joining { settings, credentials, coordinator, at, by };
    process.join()
}

struct Joining<'a> {
    settings: &'a Settings,
    credentials: Credentials,
    coordinator: Link,
    at: SocketAddr,
    by: Instant,
}

struct Place {
    run: Run,
    rank: u32,
    addresses: Vec<SocketAddr>,
    group: Vec<u32>,
}

impl Joining<'_> {
    fn join(self) -> Result<(Mesh, Vec<u8>), RendezvousError> {
        let here = SocketAddr::new(self.coordinator.stream().local().ip(), 0);
        let listen = |source| RendezvousError::Listen { address: here.to_string(), source };
        let mut gate = Gate::new(here, self.credentials.clone(), 0).map_err(listen)?;
        let host = if self.settings.prefer == Prefer::Tcp { None } else { Host::here() };
        self.send(&Message::Join { address: gate.address()?, host })?;

        let (place, charge) = self.place()?;
        let ranks = place.addresses.len() as u32;
        let shared = self.shared(&place)?;
        let shares = |rank: &u32| shared.is_some() && place.group.contains(rank);
        if self.settings.prefer == Prefer::SharedMemory && !(0..ranks).all(|rank| shares(&rank)) {
            return Err(RendezvousError::NoSharedMemory("not all processes share it".to_owned()));
        }

        let mut links = BTreeMap::new();
        for rank in (1..place.rank).filter(|rank| !shares(rank)) {
            links.insert(rank, self.connect_to(&place, rank)?);
        }
        let mut awaited: Vec<u32> = (place.rank + 1..ranks).filter(|rank| !shares(rank)).collect();
        while !awaited.is_empty() {
            let Some((from, link, message)) = gate.next(self.by)? else {
                return Err(RendezvousError::Peer { rank: awaited[0], error: HandshakeError::TimedOut });
            };
            match message {
                Message::Peer { run, rank } if run == place.run && awaited.contains(&rank) => {
                    let ours = Message::Peer { run, rank: place.rank };
                    message::send(&link, &ours, self.by)
                        .map_err(|error| RendezvousError::Peer { rank, error })?;
                    awaited.retain(|other| *other != rank);
                    links.insert(rank, link);
                }
                _ => gate.refuse(from, HandshakeError::Unexpected("it is of another run")),
            }
        }
        self.send(&Message::Ready)?;
        self.expect(|message| (message == Message::Go).then_some(()))?;
        if !shares(&0) {
            links.insert(0, self.coordinator);
        }
        let links = links.into_iter().collect();
        gate.close();
        let refusals = gate.take_refusals();
        let mesh = Mesh::new(place.rank, ranks, shared, links, self.settings, self.by, refusals)?;
        Ok((mesh, charge))
    }

    /// Waits for the place of this process, and the charge.
    fn place(&self) -> Result<(Place, Vec<u8>), RendezvousError> {
        let place = self.expect(|message| match message {
            Message::Place { run, rank, addresses, group, charge_bytes } => {
                Some((Place { run, rank, addresses, group }, charge_bytes))
            }
            _ => None,
        });
        let (place, charge_bytes) = place?;
        let ranks = place.addresses.len();
        let is_valid = ranks <= RANKS_LIMIT as usize && (1..ranks).contains(&(place.rank as usize));
        if !is_valid || charge_bytes > CHARGE_LIMIT as u64 {
            return Err(self.lost(HandshakeError::Unexpected("a place that cannot be")));
        }
        let mut charge = Vec::new();
        while (charge.len() as u64) < charge_bytes {
            let part = self.coordinator.receive_by(self.by);
            charge.extend(part.map_err(|error| self.lost(io_error(error)))?);
        }
        Ok((place, charge))
    }

    /// Creates or opens the shared memory, if there is to be any, and finds out whether all processes could.
    fn shared(&self, place: &Place) -> Result<Option<SharedMemory>, RendezvousError> {
        if place.group.is_empty() {
            return Ok(None);
        }
        let leads = place.group.first() == Some(&place.rank);
        let mut made = None;
        if !leads {
            made = self.expect(|message| match message {
                Message::Open(made) => Some(Some(made)),
                Message::Agreed(false) => Some(None),
                _ => None,
            })?;
            if made.is_none() {
                return Ok(None);
            }
        }
        let shared = share(place.rank, place.addresses.len() as u32, &place.group, made);
        let ours = shared.as_ref().map(|shared| leads.then(|| location(shared)));
        self.send(&Message::Shared(ours.map_err(Clone::clone)))?;
        let agreed = self.expect(|message| match message {
            Message::Agreed(agreed) => Some(agreed),
            _ => None,
        })?;
        Ok(shared.ok().filter(|_| agreed))
    }

    fn connect_to(&self, place: &Place, rank: u32) -> Result<Link, RendezvousError> {
        let lost = |error| RendezvousError::Peer { rank, error };
        let left = self.by.saturating_duration_since(Instant::now()).max(PAUSES[0]);
        let socket = TcpStream::connect_timeout(&place.addresses[rank as usize], left);
        let socket = socket.map_err(|error| lost(io_error(error)))?;
        let link = connect(socket, &self.credentials, self.by).map_err(lost)?;
        let ours = Message::Peer { run: place.run, rank: place.rank };
        message::send(&link, &ours, self.by).map_err(lost)?;
        let theirs = message::receive(&link, self.by).map_err(lost)?;
        if theirs == (Message::Peer { run: place.run, rank }) {
            Ok(link)
        } else {
            Err(lost(HandshakeError::Unexpected("it is of another run")))
        }
    }

    fn send(&self, message: &Message) -> Result<(), RendezvousError> {
        message::send(&self.coordinator, message, self.by).map_err(|error| self.lost(error))
    }

    /// Waits for a message of the coordinator that `pick` accepts.
    fn expect<T>(&self, pick: impl FnOnce(Message) -> Option<T>) -> Result<T, RendezvousError> {
        match message::receive(&self.coordinator, self.by).map_err(|error| self.lost(error))? {
            Message::Refused(why) => Err(RendezvousError::Refused(why)),
            message => {
                pick(message).ok_or_else(|| self.lost(HandshakeError::Unexpected("a message out of turn")))
            }
        }
    }

    fn lost(&self, error: HandshakeError) -> RendezvousError {
        RendezvousError::Connect { address: self.at.to_string(), error }
    }
}

/// Connects to the coordinator; retries with growing pauses as long as it does not listen.
fn reach(
    addresses: &[SocketAddr],
    credentials: &Credentials,
    by: Instant,
) -> Result<(SocketAddr, Link), RendezvousError> {
    let mut pause = PAUSES[0];
    loop {
        let mut last = (String::new(), io::Error::from(io::ErrorKind::AddrNotAvailable));
        for address in addresses {
            let left = by.saturating_duration_since(Instant::now()).max(PAUSES[0]);
            match TcpStream::connect_timeout(address, left) {
                Ok(socket) => {
                    let link = connect(socket, credentials, by);
                    return link
                        .map(|link| (*address, link))
                        .map_err(|error| RendezvousError::Connect { address: address.to_string(), error });
                }
                Err(error) => last = (address.to_string(), error),
            }
        }
        let (address, error) = last;
        if error.kind() != io::ErrorKind::ConnectionRefused || Instant::now() + pause > by {
            return Err(RendezvousError::Connect { address, error: io_error(error) });
        }
        std::thread::sleep(pause);
        pause = (2 * pause).min(PAUSES[1]);
    }
}
