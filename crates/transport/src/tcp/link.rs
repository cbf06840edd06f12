//! What a process keeps of one peer: the connection, what waits to be sent, what has arrived, and whether the peer is lost.
//!
//! Frames of the transport itself, *notices*, have numbers of their own from 2^63 on and one byte: a sign of life, or the leave.
//!
//! A loss goes through three states: none, found, reported. Between the last two, what has arrived is still taken in. A write that fails
//! says only that something is to be read: what the peer sent last, its leave perhaps, or the end, which tells more.
//!
//! Invariants: frames leave and arrive in order, whole, once. Both buffers are bounded. Locks: outgoing and incoming are never held at
//! the same time by one thread; the reason of the loss and the TLS session are taken last.

use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

use super::buffer::{Incoming, Outgoing};
use super::stream::Stream;
use crate::frame::FrameError;
use crate::sync::{Apart, AtomicBool, AtomicU32, AtomicU64, Mutex, Ordering, lock, try_lock};
use crate::{Handed, Path, PeerErrorKind};

/// Frames that are taken in from one sender before it is the next one's turn.
const TURN: usize = 64;

/// States of a loss.
const NONE: u32 = 0;
const FOUND: u32 = 1;
const REPORTED: u32 = 2;

/// What a notice says.
pub(super) const ALIVE: u8 = 0;
pub(super) const LEAVE: u8 = 1;

/// The connection to one peer.
#[derive(Debug)]
pub(crate) struct Link {
    stream: Stream,
    outgoing: Apart<Mutex<Outgoing>>,
    /// Something waits to be sent that the system did not take.
    unsent: AtomicBool,
    /// A frame has been refused, and no room found since.
    refused: AtomicBool,
    /// Writing has failed.
    broken: AtomicBool,
    incoming: Apart<Mutex<Incoming>>,
    /// There could be something to be taken in.
    ready: AtomicBool,
    /// The system says that the stream ends: reading goes on until the end is found.
    ending: AtomicBool,
    /// The peer has taken leave.
    left: AtomicBool,
    /// The stream has ended after that.
    ended: AtomicBool,
    /// Milliseconds from `start` to the last sign of life.
    heard_ms: AtomicU64,
    start: Instant,
    loss: AtomicU32,
    kind: Mutex<Option<PeerErrorKind>>,
}

impl Link {
    /// Begins with a connection that nothing was sent on, and takes frames of up to `limit` bytes.
    pub(super) fn new(stream: Stream, limit: usize) -> Self {
        Self {
            stream,
            outgoing: Apart::default(),
            unsent: AtomicBool::new(false),
            refused: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            incoming: Apart(Mutex::new(Incoming::new(limit))),
            ready: AtomicBool::new(true),
            ending: AtomicBool::new(false),
            left: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            heard_ms: AtomicU64::new(0),
            start: Instant::now(),
            loss: AtomicU32::new(NONE),
            kind: Mutex::new(None),
        }
    }

    /// The most bytes of a frame that is taken in from here on.
    pub(super) fn set_limit(&self, limit: usize) {
        lock(&self.incoming).set_limit(limit);
    }

    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Why the peer is lost, if it is.
    fn lost(&self) -> Option<PeerErrorKind> {
        if self.loss.load(Ordering::Acquire) == NONE { None } else { lock(&self.kind).clone() }
    }

    /// The peer is lost, for the first reason found, and it will be reported.
    fn lose(&self, kind: PeerErrorKind) {
        let mut known = lock(&self.kind);
        if known.is_none() {
            *known = Some(kind);
            self.loss.store(FOUND, Ordering::Release);
        }
    }

    /// Whether nothing more will be taken in.
    pub(super) fn is_over(&self) -> bool {
        self.ended.load(Ordering::Acquire) || self.loss.load(Ordering::Acquire) == REPORTED
    }

    /// Whether nothing more will come: the peer has said so, or is lost.
    pub(super) fn is_done(&self) -> bool {
        self.left.load(Ordering::Acquire) || self.loss.load(Ordering::Acquire) != NONE
    }

    /// Whether something could be taken in or is to be reported.
    #[inline]
    pub(super) fn is_pending(&self) -> bool {
        self.ready.load(Ordering::Acquire) && !self.is_over() || self.loss.load(Ordering::Acquire) == FOUND
    }

    /// The system says that something can be read, perhaps the end.
    pub(super) fn note(&self, is_ending: bool) {
        if is_ending {
            self.ending.store(true, Ordering::Release);
        }
        self.set_ready();
    }

    pub(super) fn set_ready(&self) {
        self.ready.store(true, Ordering::Release);
    }

    /// Whether a frame that was refused now has room. Says so once.
    pub(super) fn has_room(&self) -> bool {
        self.refused.swap(false, Ordering::AcqRel)
    }

    /// Appends a frame to what is to be sent, and sends what goes.
    #[inline]
    pub(super) fn push(&self, frame: &[u8]) -> Result<Handed, PeerErrorKind> {
        if let Some(kind) = self.lost() {
            return Err(kind);
        }
        let mut outgoing = lock(&self.outgoing);
        if !outgoing.has_room(frame.len()) {
            self.send_some(&mut outgoing);
            if !outgoing.has_room(frame.len()) {
                self.refused.store(true, Ordering::Release);
                return Ok(Handed::Full);
            }
        }
        outgoing.push(frame).map_err(damaged)?;
        self.send_some(&mut outgoing);
        Ok(Handed::Over)
    }

    /// Appends a notice; if there is no room, what waits there tells as much.
    pub(super) fn notify(&self, notice: u8) {
        let mut outgoing = lock(&self.outgoing);
        outgoing.notify(notice);
        self.send_some(&mut outgoing);
    }

    /// Sends what goes; whether nothing is left.
    pub(super) fn flush(&self) -> bool {
        self.send_some(&mut lock(&self.outgoing))
    }

    /// Sends what goes of what did not go before.
    pub(super) fn go_on(&self) {
        if self.unsent.load(Ordering::Acquire) {
            self.flush();
        }
    }

    fn send_some(&self, outgoing: &mut Outgoing) -> bool {
        // Said first: what becomes writable while this writes is then noticed by `go_on`.
        self.unsent.store(true, Ordering::Release);
        let gone = self.write_some(outgoing);
        if gone {
            self.unsent.store(false, Ordering::Release);
        }
        gone
    }

    fn write_some(&self, outgoing: &mut Outgoing) -> bool {
        let result = outgoing.send(|bytes| self.stream.write(bytes));
        match result.and_then(|gone| Ok(gone && self.stream.flush()?)) {
            Ok(gone) => gone,
            Err(error) if error.kind() == ErrorKind::WouldBlock => false,
            Err(_) => {
                outgoing.clear();
                self.broken.store(true, Ordering::Release);
                self.set_ready();
                true
            }
        }
    }

    /// Takes in up to a turn's frames; whether there were any. A loss is reported when nothing is left.
    #[inline]
    pub(super) fn pull(&self, take: &mut dyn FnMut(&[u8])) -> Result<bool, PeerErrorKind> {
        let mut incoming = lock(&self.incoming);
        // What came before the loss was found has been read then, or is read now.
        let loss = self.loss.load(Ordering::Acquire);
        let mut frames = 0;
        loop {
            let part = incoming.take(TURN - frames, take);
            if incoming.has_left() {
                self.left.store(true, Ordering::Release);
            }
            match part {
                Ok(some) => frames += some,
                Err(error) => {
                    self.lose(damaged(error));
                    break;
                }
            }
            if frames == TURN {
                self.set_ready();
                break;
            }
            if !self.ready.swap(false, Ordering::AcqRel) || !self.read_some(&mut incoming) {
                break;
            }
        }
        drop(incoming);
        if frames > 0 || loss == NONE && self.loss.load(Ordering::Acquire) == NONE {
            return Ok(frames > 0);
        }
        if self.loss.swap(REPORTED, Ordering::AcqRel) == REPORTED {
            return Ok(false);
        }
        self.stream.cut();
        Err(lock(&self.kind).clone().expect("a loss has a reason"))
    }

    /// Reads what has come into the free part of the buffer; whether there was something. Finds the end.
    fn read_some(&self, incoming: &mut Incoming) -> bool {
        match self.stream.read(incoming.free()) {
            Ok(read) if read.bytes > 0 => {
                incoming.add(read.bytes);
                self.heard();
                if read.is_more || self.ending.load(Ordering::Acquire) {
                    self.set_ready();
                }
                return true;
            }
            Ok(_) if self.left.load(Ordering::Acquire) => self.ended.store(true, Ordering::Release),
            Ok(_) => self.lose(PeerErrorKind::Gone),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if self.broken.load(Ordering::Acquire) && !self.left.load(Ordering::Acquire) {
                    self.lose(PeerErrorKind::Gone);
                }
            }
            Err(_) if self.left.load(Ordering::Acquire) => self.ended.store(true, Ordering::Release),
            Err(error) => self.lose(reason(&error)),
        }
        false
    }

    /// Looks after the connection, from time to time: sends what waits and a sign of life, and looks whether the peer gives some. Whether
    /// there is something to be taken in or reported now.
    pub(super) fn tend(&self, limit: Duration) -> bool {
        if self.is_over() || self.loss.load(Ordering::Acquire) != NONE {
            return false;
        }
        self.notify(ALIVE);
        let silent = self.silent();
        if silent < limit / 2 {
            return false;
        }
        // If the thread that takes in is at it right now, it does what follows.
        let Some(mut incoming) = try_lock(&self.incoming) else {
            return false;
        };
        if incoming.free().is_empty() {
            // What has come has not even been looked at.
            self.heard();
            return false;
        }
        self.set_ready();
        if !self.read_some(&mut incoming) && silent > limit && !self.left.load(Ordering::Acquire) {
            self.lose(PeerErrorKind::Silent(limit));
        }
        true
    }

    /// The peer has given a sign of life, or could not be heard by no fault of its own.
    pub(super) fn heard(&self) {
        self.heard_ms.store(self.start.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    fn silent(&self) -> Duration {
        self.start.elapsed().saturating_sub(Duration::from_millis(self.heard_ms.load(Ordering::Relaxed)))
    }

    /// Hands over a message of the handshake, and waits until it is gone.
    pub(crate) fn send_by(&self, message: &[u8], by: Instant) -> io::Result<()> {
        loop {
            let handed = self.push(message).map_err(io::Error::other)?;
            while !self.flush() {
                self.stream.wait(true, by)?;
            }
            if self.broken.load(Ordering::Acquire) {
                return Err(ErrorKind::BrokenPipe.into());
            }
            if handed == Handed::Over {
                return Ok(());
            }
        }
    }

    /// Waits for a message of the handshake. A frame that is none is an error of kind `InvalidData`.
    pub(crate) fn receive_by(&self, by: Instant) -> io::Result<Vec<u8>> {
        let mut incoming = lock(&self.incoming);
        let mut message = None;
        loop {
            let taken = incoming.take(1, &mut |bytes| message = Some(bytes.to_vec()));
            taken.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
            if let Some(message) = message {
                return Ok(message);
            }
            match self.stream.read(incoming.free()) {
                Ok(read) if read.bytes > 0 => incoming.add(read.bytes),
                Ok(_) => return Err(ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.stream.wait(false, by)?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether the other end has closed the connection, without waiting.
    pub(crate) fn has_ended(&self) -> bool {
        let mut incoming = lock(&self.incoming);
        match self.stream.read(incoming.free()) {
            Ok(read) => {
                incoming.add(read.bytes);
                read.bytes == 0
            }
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        }
    }

    /// What has gone this way since [`Link::count_anew`].
    pub(super) fn path(&self, peer: u32) -> Path {
        let kind = if self.stream.is_encrypted() { "TLS" } else { "TCP" };
        let (frames_sent, bytes_sent) = lock(&self.outgoing).counted();
        let (frames_received, bytes_received) = lock(&self.incoming).counted();
        Path { peer, kind, frames_sent, bytes_sent, frames_received, bytes_received }
    }

    /// Forgets the frames and bytes of the handshake.
    pub(super) fn count_anew(&self) {
        lock(&self.outgoing).count_anew();
        lock(&self.incoming).count_anew();
    }
}

fn damaged(error: FrameError) -> PeerErrorKind {
    PeerErrorKind::Damaged(error.to_string())
}

/// What a failed read says of the peer.
fn reason(error: &io::Error) -> PeerErrorKind {
    match error.kind() {
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => {
            PeerErrorKind::Gone
        }
        ErrorKind::InvalidData => PeerErrorKind::Damaged(error.to_string()),
        _ => PeerErrorKind::System(error.to_string()),
    }
}
