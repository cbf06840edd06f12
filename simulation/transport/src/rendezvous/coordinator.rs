//! Rank 0, the process that the others join: it admits them until all are there, gives each its rank and the
//! charge of the run, and waits until all are connected.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::time::Instant;

use super::gate::Gate;
use super::host::{Host, Location};
use super::message::{self, Message, Run};
use super::sharing::{groups, location, share};
use super::{CHARGE_LIMIT, Mesh, Prefer, RANKS_LIMIT, RendezvousError, Settings};
use crate::SharedMemory;
use crate::secret::random;
use crate::tcp::FRAME_LIMIT;
use crate::tcp::handshake::{HandshakeError, Security, is_loopback};
use crate::tcp::link::Link;

/// Listens for the processes of a run, and becomes rank 0 of it.
#[derive(Debug)]
pub struct Coordinator {
    gate: Gate,
    address: SocketAddr,
    ranks: u32,
    settings: Settings,
}

#[derive(Debug)]
struct Joined {
    address: SocketAddr,
    host: Option<Host>,
    link: Link,
}

impl Coordinator {
    /// Listens at `address` for the other processes of a run with `ranks` in all. Port 0 means any free port.
    pub fn listen(
        address: impl ToSocketAddrs,
        ranks: u32,
        settings: &Settings,
    ) -> Result<Self, RendezvousError> {
        if !(1..=RANKS_LIMIT).contains(&ranks) {
            return Err(RendezvousError::Ranks(ranks));
        }
        let address = address
            .to_socket_addrs()?
            .next()
            .ok_or_else(|| io::Error::from(io::ErrorKind::AddrNotAvailable))?;
        if settings.security == Security::Plain && !is_loopback(address) {
            let error = HandshakeError::NotLoopback(address);
            return Err(RendezvousError::Connect { address: address.to_string(), error });
        }
        let listen = |source| RendezvousError::Listen { address: address.to_string(), source };
        let gate = Gate::new(address, settings.credentials()?, ranks).map_err(listen)?;
        let address = gate.address()?;
        Ok(Self { gate, address, ranks, settings: settings.clone() })
    }

    /// The address at which it listens, for the others to join.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends [`Coordinator::gather`] with [`RendezvousError::Ended`] if `end` becomes readable while it waits
    /// for others to join: a pidfd of a process that was started to join, as a rule. `what` names that
    /// process.
    pub fn watch(&mut self, end: OwnedFd, what: impl Into<String>) {
        self.gate.watch(end, what.into());
    }

    /// Waits for the other processes, gives each a rank and `charge`, and returns when all are connected to
    /// each other.
    pub fn gather(mut self, charge: &[u8]) -> Result<Mesh, RendezvousError> {
        if charge.len() > CHARGE_LIMIT {
            return Err(RendezvousError::Charge(charge.len()));
        }
        let by = Instant::now() + self.settings.time_limit;
        let joined = self.admit(by)?;
        let begun = self.begin(&joined, charge, by);
        if let Err(error) = &begun {
            for other in &joined {
                // A lost process gets nothing.
                let _ = message::send(&other.link, &Message::Refused(error.to_string()), by);
            }
        }
        let shared = begun?;
        let peer_links = joined.into_iter().zip(1..).filter(|(_, rank)| !shared.1.contains(rank));
        let links = peer_links.map(|(joined, rank)| (rank, joined.link)).collect();
        self.gate.close();
        let refusals = self.gate.take_refusals();
        Ok(Mesh::new(0, self.ranks, shared.0, links, &self.settings, by, refusals)?)
    }

    /// Waits until all have joined.
    fn admit(&mut self, by: Instant) -> Result<Vec<Joined>, RendezvousError> {
        let mut joined: Vec<Joined> = Vec::new();
        loop {
            if joined.len() as u32 + 1 == self.ranks {
                // A process that has ended meanwhile makes room for another one.
                joined.retain(|other| !other.link.has_ended());
                if joined.len() as u32 + 1 == self.ranks {
                    return Ok(joined);
                }
            }
            match self.gate.next(by)? {
                Some((_, link, Message::Join { address, host })) => {
                    joined.push(Joined { address, host, link })
                }
                Some((from, ..)) => self.gate.refuse(from, HandshakeError::Unexpected("it does not join")),
                None => {
                    return Err(RendezvousError::Missing {
                        present: joined.len() as u32 + 1,
                        ranks: self.ranks,
                        limit: self.settings.time_limit,
                        refusals: self.gate.take_refusals(),
                    });
                }
            }
        }
    }

    /// Leads the other processes to the start of the run. Returns the shared memory of rank 0, and the ranks
    /// it shares it with.
    fn begin(
        &self,
        joined: &[Joined],
        charge: &[u8],
        by: Instant,
    ) -> Result<(Option<SharedMemory>, Vec<u32>), RendezvousError> {
        let others = Others { joined, by };
        let groups = self.groups(joined)?;
        self.place(&others, &groups, charge)?;
        let shared = self.share_memory(&others, &groups)?;
        // Each connects to all others before it says that it is ready: nobody may begin before, as what it
        // sends could find no link.
        for rank in 1..self.ranks {
            match others.receive(rank)? {
                Message::Ready => {}
                _ => return Err(unexpected(rank)),
            }
        }
        for rank in 1..self.ranks {
            others.send(rank, &Message::Go)?;
        }
        let with = if shared.is_some() { groups[0].clone() } else { Vec::new() };
        Ok((shared, with))
    }

    /// By rank, the ranks on the same host, with which it may share memory.
    fn groups(&self, joined: &[Joined]) -> Result<Vec<Vec<u32>>, RendezvousError> {
        let may_share = |host: Option<Host>| host.filter(|_| self.settings.prefer != Prefer::Tcp);
        let here = if self.settings.prefer == Prefer::Tcp { None } else { Host::here() };
        let others = joined.iter().map(|other| may_share(other.host.clone()));
        let hosts: Vec<_> = std::iter::once(here).chain(others).collect();
        let groups = groups(&hosts);
        if self.must_share() && groups.iter().any(|group| group.len() as u32 != self.ranks) {
            return Err(RendezvousError::NoSharedMemory("not all processes are on one host".to_owned()));
        }
        Ok(groups)
    }

    /// Whether a run without shared memory is refused.
    fn must_share(&self) -> bool {
        self.settings.prefer == Prefer::SharedMemory && self.ranks > 1
    }

    /// Tells each process its place, and the charge.
    fn place(&self, others: &Others<'_>, groups: &[Vec<u32>], charge: &[u8]) -> Result<(), RendezvousError> {
        let run: Run = random().map_err(|error| io::Error::other(error.to_string()))?;
        let addresses: Vec<_> =
            std::iter::once(self.address).chain(others.joined.iter().map(|other| other.address)).collect();
        for rank in 1..self.ranks {
            let group = groups[rank as usize].clone();
            let (addresses, charge_bytes) = (addresses.clone(), charge.len() as u64);
            others.send(rank, &Message::Place { run, rank, addresses, group, charge_bytes })?;
            for part in charge.chunks(FRAME_LIMIT) {
                let sent = others.link(rank).send_by(part, others.by);
                let sent = sent.map_err(crate::tcp::handshake::io_error);
                sent.map_err(|error| RendezvousError::Peer { rank, error })?;
            }
        }
        Ok(())
    }

    /// Lets the least rank of each group make shared memory and the others open it. A group uses it only if
    /// all of its ranks could; returns that of rank 0.
    fn share_memory(
        &self,
        others: &Others<'_>,
        groups: &[Vec<u32>],
    ) -> Result<Option<SharedMemory>, RendezvousError> {
        let mut shared = None;
        let leads = |rank: &u32| groups[*rank as usize].first() == Some(rank);
        for leader in (0..self.ranks).filter(leads) {
            let group = &groups[leader as usize];
            let made = match leader {
                0 => share(0, self.ranks, group, None).map(|made| {
                    let at = location(&made);
                    shared = Some(made);
                    Some(at)
                }),
                _ => shared_by(others.receive(leader)?, leader)?,
            };
            let mut trouble = made.as_ref().err().cloned();
            if let Ok(made) = made {
                let made = made.ok_or_else(|| unexpected(leader))?;
                for member in &group[1..] {
                    others.send(*member, &Message::Open(made))?;
                }
                for member in &group[1..] {
                    trouble = shared_by(others.receive(*member)?, *member)?.err().or(trouble);
                }
            }
            if let Some(trouble) = &trouble {
                if self.must_share() {
                    return Err(RendezvousError::NoSharedMemory(trouble.clone()));
                }
                if leader == 0 {
                    shared = None;
                }
            }
            for member in group.iter().filter(|member| **member != 0) {
                others.send(*member, &Message::Agreed(trouble.is_none()))?;
            }
        }
        Ok(shared)
    }
}

/// The processes that have joined, by rank from 1 on.
struct Others<'j> {
    joined: &'j [Joined],
    /// When all must have begun.
    by: Instant,
}

impl Others<'_> {
    fn link(&self, rank: u32) -> &Link {
        &self.joined[rank as usize - 1].link
    }

    fn send(&self, rank: u32, message: &Message) -> Result<(), RendezvousError> {
        message::send(self.link(rank), message, self.by)
            .map_err(|error| RendezvousError::Peer { rank, error })
    }

    fn receive(&self, rank: u32) -> Result<Message, RendezvousError> {
        message::receive(self.link(rank), self.by).map_err(|error| RendezvousError::Peer { rank, error })
    }
}

fn shared_by(message: Message, rank: u32) -> Result<Result<Option<Location>, String>, RendezvousError> {
    match message {
        Message::Shared(shared) => Ok(shared),
        _ => Err(unexpected(rank)),
    }
}

fn unexpected(rank: u32) -> RendezvousError {
    RendezvousError::Peer { rank, error: HandshakeError::Unexpected("a message out of turn") }
}
