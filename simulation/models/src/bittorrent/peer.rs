//! The life of a peer: it asks the tracker for others, connects to them, downloads what they have, and serves
//! them.
//!
//! Invariants: at most one piece is downloaded over a connection, and `pieces` counts that download; the
//! other side of a connection gets a message about every change of interest, choking and pieces.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use paceline_kernel::Time;
use paceline_processes::Process;

use super::choke::{Candidate, Choker};
use super::connection::Connection;
use super::message::{Blocks, Content, Message};
use super::pieces::Pieces;
use super::{Action, BLOCKS_SENT, Bittorrent, DUPLICATES, MESSAGES, ROUND, Shared, UNCHOKED};
use crate::inbox::Inbox;

/// The number of messages that a peer receives at a time.
const OPEN_RECEIVES: usize = 16;

struct Peer {
    cx: Process<Message>,
    shared: Arc<Shared>,
    number: u32,
    pieces: Pieces,
    connections: BTreeMap<u32, Connection>,
    choker: Choker,
    next_round: Time,
    leaves: Time,
}

/// The process of peer `number`, which starts at `start`.
pub(super) async fn run(cx: Process<Message>, number: u32, start: Time, shared: Arc<Shared>) {
    cx.sleep_until(start).await;
    let Bittorrent { seeds, pieces, blocks, slots, seeds_leave, .. } = shared.swarm;
    let is_seed = number < seeds;
    let mut peer = Peer {
        cx: cx.clone(),
        number,
        pieces: Pieces::new(pieces, blocks, is_seed),
        connections: BTreeMap::new(),
        choker: Choker::new(slots),
        next_round: start.saturating_add(ROUND),
        leaves: seeds_leave.filter(|_| is_seed).unwrap_or(Time::MAX),
        shared,
    };
    peer.send(peer.shared.swarm.tracker(), Content::Query);
    let mut inbox = Inbox::open(&cx, u64::from(number), OPEN_RECEIVES);
    loop {
        if cx.now() >= peer.leaves {
            return peer.leave();
        }
        if cx.now() >= peer.next_round {
            peer.round();
        }
        if let Some(Message { sender, content }) = inbox.next(&cx, peer.next_round.min(peer.leaves)).await {
            peer.handle(sender, content);
        }
    }
}

impl Peer {
    fn message(&self, content: Content) -> (Message, f64) {
        self.cx.count(MESSAGES, 1);
        let bytes = content.bytes(self.shared.swarm.block_bytes);
        (Message { sender: self.number, content }, bytes)
    }

    fn send(&self, to: u32, content: Content) {
        let (message, bytes) = self.message(content);
        self.cx.send_detached(u64::from(to), message, bytes);
    }

    /// Sends `content` to every peer that has received our bitfield.
    fn send_to_all(&self, content: &Content) {
        let informed = self.connections.iter().filter(|(_, connection)| connection.bitfield_sent);
        informed.for_each(|(other, _)| self.send(*other, content.clone()));
    }

    fn handle(&mut self, from: u32, content: Content) {
        match content {
            Content::Peers(peers) => return peers.iter().for_each(|other| self.connect(*other)),
            Content::Handshake => return self.accept_handshake(from),
            _ => {}
        }
        // Ignore messages from a peer that has closed the connection.
        let Some(connection) = self.connections.get_mut(&from) else { return };
        match content {
            Content::Bitfield(remote) if !connection.is_open() => {
                self.pieces.connected(&remote);
                connection.wanted = self.pieces.wanted(&remote);
                connection.remote = remote;
                self.send_interest(from);
            }
            Content::Have { piece } if connection.is_open() && !connection.has(piece) => {
                connection.remote[piece as usize] = true;
                connection.wanted += u32::from(!self.pieces.has(piece));
                self.pieces.copied(piece);
                self.send_interest(from);
                self.download(from);
            }
            Content::Interested => connection.peer_interested = true,
            Content::NotInterested => connection.peer_interested = false,
            Content::Choke => {
                connection.peer_choking = true;
                if let Some(piece) = connection.download.take() {
                    self.pieces.end(piece);
                    self.download_from_all();
                }
            }
            Content::Unchoke => {
                connection.peer_choking = false;
                self.download(from);
            }
            Content::Request(blocks) => self.upload(from, blocks),
            Content::Piece(blocks) => self.receive(from, blocks),
            // Blocks that have already arrived are not affected.
            Content::Cancel { piece } => {
                connection.upload = connection.upload.take().filter(|(other, _)| *other != piece);
            }
            Content::Close => self.disconnect(from),
            _ => {}
        }
    }

    /// Opens a connection to another peer unless there is one.
    fn connect(&mut self, other: u32) {
        if let Entry::Vacant(place) = self.connections.entry(other) {
            place.insert(Connection::new());
            self.send(other, Content::Handshake);
        }
    }

    /// Another peer opens a connection, or accepts one.
    fn accept_handshake(&mut self, from: u32) {
        self.connect(from);
        let connection = self.connections.get_mut(&from).expect("it is there now");
        if !std::mem::replace(&mut connection.bitfield_sent, true) {
            self.send(from, Content::Bitfield(self.pieces.bitfield()));
        }
    }

    fn disconnect(&mut self, from: u32) {
        let Some(connection) = self.connections.remove(&from) else { return };
        self.pieces.disconnected(&connection.remote);
        if let Some(piece) = connection.download {
            self.pieces.end(piece);
            self.download_from_all();
        }
    }

    /// Sends another peer whether this one is interested in its pieces, if that has changed.
    fn send_interest(&mut self, to: u32) {
        let Some(connection) = self.connections.get_mut(&to) else { return };
        let is_interested = connection.wanted > 0;
        if std::mem::replace(&mut connection.am_interested, is_interested) != is_interested {
            self.send(to, if is_interested { Content::Interested } else { Content::NotInterested });
        }
    }

    /// Begins to download a piece from another peer, if it has unchoked us and no download from it is under
    /// way.
    fn download(&mut self, from: u32) {
        let Some(connection) = self.connections.get_mut(&from).filter(|connection| connection.is_idle())
        else {
            return;
        };
        let pieces = &mut self.pieces;
        if let Some(piece) = self.cx.draw(|rng| pieces.pick(&connection.remote, rng)) {
            connection.download = Some(piece);
            pieces.begin(piece);
            self.request(from, piece);
        }
    }

    /// Called when a piece may be downloaded from another connection, or is complete: starts a download on
    /// every idle connection.
    fn download_from_all(&mut self) {
        let idle = self.connections.iter().filter(|(_, connection)| connection.is_idle());
        let idle: Vec<u32> = idle.map(|(other, _)| *other).collect();
        idle.into_iter().for_each(|other| self.download(other));
    }

    fn request(&self, from: u32, piece: u32) {
        if let Some(blocks) = self.pieces.next_blocks(piece) {
            self.send(from, Content::Request(blocks));
        }
    }

    /// Sends blocks to another peer, if we serve it and have the piece.
    fn upload(&mut self, to: u32, blocks: Blocks) {
        let is_served = self.connections.get(&to).is_some_and(|connection| !connection.am_choking);
        if !is_served || !self.pieces.has(blocks.piece) {
            return;
        }
        self.cx.count(BLOCKS_SENT, blocks.count.into());
        self.shared.outcome.observe(
            &self.shared.swarm,
            self.cx.now(),
            self.number,
            Action::Sent { piece: blocks.piece, to },
        );
        let (message, bytes) = self.message(Content::Piece(blocks));
        let upload = self.cx.start_send(u64::from(to), message, bytes);
        let before = self
            .connections
            .get_mut(&to)
            .and_then(|connection| connection.upload.replace((blocks.piece, upload)));
        if let Some((_, before)) = before {
            before.detach();
        }
    }

    fn receive(&mut self, from: u32, blocks: Blocks) {
        let Some(connection) = self.connections.get_mut(&from) else { return };
        let Blocks { piece, count, .. } = blocks;
        connection.receive(u64::from(count) * self.shared.swarm.block_bytes as u64);
        let new = self.pieces.add(blocks);
        self.cx.count(DUPLICATES, u64::from(count - new));
        if new > 0 && self.pieces.has(piece) {
            self.complete(from, piece);
        } else if connection.download == Some(piece) {
            self.request(from, piece);
        }
    }

    /// A piece is complete; its last blocks came from `from`.
    fn complete(&mut self, from: u32, piece: u32) {
        self.cx.record(u64::from(piece));
        let now = self.cx.now();
        self.shared.outcome.observe(&self.shared.swarm, now, self.number, Action::Completed { piece });
        self.send_to_all(&Content::Have { piece });
        let others: Vec<u32> = self.connections.keys().copied().collect();
        for other in others {
            let connection = self.connections.get_mut(&other).expect("none is closed meanwhile");
            connection.wanted -= u32::from(connection.has(piece));
            if connection.download == Some(piece) {
                connection.download = None;
                self.pieces.end(piece);
                if other != from && self.shared.swarm.takes_back {
                    self.send(other, Content::Cancel { piece });
                }
            }
            self.send_interest(other);
        }
        debug_assert!(
            !self.pieces.is_downloaded(piece),
            "piece {piece} is complete and still being downloaded"
        );
        if self.pieces.is_complete() {
            self.shared.outcome.completed(self.number, now);
            self.leaves = self.shared.swarm.linger.map_or(Time::MAX, |linger| now.saturating_add(linger));
        } else {
            self.download_from_all();
        }
    }

    /// Decides again which peers to serve. A peer without the whole file and without open connections asks
    /// the tracker again.
    fn round(&mut self) {
        let now = self.cx.now();
        self.next_round = now.saturating_add(ROUND);
        let mut candidates = Vec::new();
        for (peer, connection) in &mut self.connections {
            connection.end_round();
            if connection.peer_interested {
                candidates.push(Candidate { peer: *peer, rate: connection.rate, served: connection.served });
            }
        }
        let is_complete = self.pieces.is_complete();
        let unchoked = self.cx.draw(|rng| self.choker.round(is_complete, candidates, rng));
        self.cx.tally(UNCHOKED, unchoked.len() as f64);
        let mut changed = Vec::new();
        for (peer, connection) in &mut self.connections {
            let is_unchoked = unchoked.binary_search(peer).is_ok();
            if is_unchoked {
                connection.served = now;
            }
            if std::mem::replace(&mut connection.am_choking, !is_unchoked) == is_unchoked {
                changed.push((*peer, if is_unchoked { Content::Unchoke } else { Content::Choke }));
            }
        }
        changed.into_iter().for_each(|(peer, content)| self.send(peer, content));
        if !is_complete && !self.connections.values().any(Connection::is_open) {
            self.send(self.shared.swarm.tracker(), Content::Query);
        }
    }

    /// Leaves the swarm, with a message to the connected peers and the tracker.
    fn leave(&mut self) {
        self.connections.keys().for_each(|other| self.send(*other, Content::Close));
        self.send(self.shared.swarm.tracker(), Content::Stopped);
    }
}
