//! Everything that a process stores about one peer: the connection, what waits to be sent, what has arrived,
//! and whether it is lost.
//!
//! Frames of the transport itself, *notices*, have their own numbers from 2^63 on and one byte: a sign of
//! life, or the announcement of the end.
//!
//! A loss has three states: none, found, reported. Between found and reported, frames that have arrived are
//! still received. A failed write only means that there is something to read: what the peer sent last,
//! perhaps its announcement, or the end, which says more.
//!
//! Invariants: frames leave and arrive in order, complete, once. Both buffers are bounded. Locks: no thread
//! holds outgoing and incoming at the same time; the reason of the loss and the TLS session are locked last.

use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

use super::buffer::{ALIVE, Incoming, Outgoing};
use super::stream::Stream;
use crate::frame::FrameError;
use crate::silence::{Limits, Verdict};
use crate::sync::{Apart, AtomicBool, AtomicU32, AtomicU64, Mutex, Ordering, lock, try_lock};
use crate::{Handed, Path, PeerErrorKind};

/// Frames received from one sender before the next one's turn.
const TURN: usize = 64;

/// When to look again at a link that another thread is reading from.
const BUSY: Duration = Duration::from_millis(10);

/// States of a loss.
const NONE: u32 = 0;
const FOUND: u32 = 1;
const REPORTED: u32 = 2;

/// The connection to one peer.
#[derive(Debug)]
pub(crate) struct Link {
    stream: Stream,
    outgoing: Apart<Mutex<Outgoing>>,
    /// There are bytes to be sent that the system did not accept.
    unsent: AtomicBool,
    /// A frame has been refused, and no room has been found since.
    refused: AtomicBool,
    /// Writing has failed.
    broken: AtomicBool,
    incoming: Apart<Mutex<Incoming>>,
    /// There may be something to receive.
    ready: AtomicBool,
    /// The system has reported the end of the stream: reading continues until the end is found.
    ending: AtomicBool,
    /// The peer has announced its end.
    left: AtomicBool,
    /// The stream has ended after the announcement.
    ended: AtomicBool,
    /// A frame has come from the peer.
    spoken: AtomicBool,
    /// Milliseconds from `start` to the last sign of life.
    heard_ms: AtomicU64,
    start: Instant,
    loss: AtomicU32,
    kind: Mutex<Option<PeerErrorKind>>,
}

impl Link {
    /// Starts with a connection on which no frame was sent, and accepts frames of up to `limit` bytes.
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
            spoken: AtomicBool::new(false),
            heard_ms: AtomicU64::new(0),
            start: Instant::now(),
            loss: AtomicU32::new(NONE),
            kind: Mutex::new(None),
        }
    }

    pub(super) fn set_limit(&self, limit: usize) {
        lock(&self.incoming).set_limit(limit);
    }

    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }

    fn lost(&self) -> Option<PeerErrorKind> {
        if self.loss.load(Ordering::Acquire) == NONE { None } else { lock(&self.kind).clone() }
    }

    /// Records the loss of the peer; the first reason counts, and will be reported.
    fn lose(&self, kind: PeerErrorKind) {
        let mut known = lock(&self.kind);
        if known.is_none() {
            *known = Some(kind);
            self.loss.store(FOUND, Ordering::Release);
        }
    }

    /// Whether nothing more will be received.
    pub(super) fn is_over(&self) -> bool {
        self.ended.load(Ordering::Acquire) || self.loss.load(Ordering::Acquire) == REPORTED
    }

    /// Whether nothing more will come: the peer has announced its end, or is lost.
    pub(super) fn is_done(&self) -> bool {
        self.left.load(Ordering::Acquire) || self.loss.load(Ordering::Acquire) != NONE
    }

    /// Whether there may be something to receive or to report.
    #[inline]
    pub(super) fn is_pending(&self) -> bool {
        self.ready.load(Ordering::Acquire) && !self.is_over() || self.loss.load(Ordering::Acquire) == FOUND
    }

    /// The system reports that something can be read, perhaps the end.
    pub(super) fn note(&self, is_ending: bool) {
        if is_ending {
            self.ending.store(true, Ordering::Release);
        }
        self.set_ready();
    }

    pub(super) fn set_ready(&self) {
        self.ready.store(true, Ordering::Release);
    }

    /// Whether a frame that was refused has room now. Returns `true` once.
    pub(super) fn has_room(&self) -> bool {
        self.refused.swap(false, Ordering::AcqRel)
    }

    /// Appends a frame to the bytes to be sent, and sends as much as possible.
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

    /// Appends a notice. If there is no room, the waiting bytes have the same effect.
    pub(super) fn notify(&self, notice: u8) {
        let mut outgoing = lock(&self.outgoing);
        outgoing.notify(notice);
        self.send_some(&mut outgoing);
    }

    /// Sends as much as possible. Returns whether nothing is left.
    pub(super) fn flush(&self) -> bool {
        self.send_some(&mut lock(&self.outgoing))
    }

    /// Sends as much as possible of what could not be sent before.
    pub(super) fn go_on(&self) {
        if self.unsent.load(Ordering::Acquire) {
            self.flush();
        }
    }

    fn send_some(&self, outgoing: &mut Outgoing) -> bool {
        // Set first: if the socket becomes writable during the write, `go_on` will then act on it.
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

    /// Receives up to a turn's frames. Returns whether there were any. Reports a loss when no frame is left.
    #[inline]
    pub(super) fn pull(&self, take: &mut dyn FnMut(&[u8])) -> Result<bool, PeerErrorKind> {
        let mut incoming = lock(&self.incoming);
        // Load the loss first: everything that came before it has been read already, or is read now.
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
        if frames > 0 {
            self.spoken.store(true, Ordering::Relaxed);
        }
        if frames > 0 || loss == NONE && self.loss.load(Ordering::Acquire) == NONE {
            return Ok(frames > 0);
        }
        if self.loss.swap(REPORTED, Ordering::AcqRel) == REPORTED {
            return Ok(false);
        }
        self.stream.cut();
        Err(lock(&self.kind).clone().expect("a loss has a reason"))
    }

    /// Reads into the free part of the buffer. Returns whether there was something. Detects the end.
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

    /// Periodic work: sends what waits and a sign of life.
    pub(super) fn give_sign(&self) {
        if !self.is_over() && self.loss.load(Ordering::Acquire) == NONE {
            self.notify(ALIVE);
        }
    }

    /// Checks the peer's signs of life. Returns whether there may be something to receive or report now, and
    /// after which time to check again.
    pub(super) fn look_for_signs(&self, limits: Limits) -> (bool, Duration) {
        if self.is_over() || self.is_done() {
            return (false, Duration::MAX);
        }
        let (lost, left) = match self.verdict(limits) {
            Verdict::Alive(left) => return (false, left),
            Verdict::Late(left) => (None, left),
            Verdict::Lost(limit) => (Some(limit), Duration::MAX),
        };
        // If the receiving thread holds the lock, it does the rest: whatever it reads is a sign of life.
        let Some(mut incoming) = try_lock(&self.incoming) else {
            return (false, left.min(BUSY));
        };
        if incoming.free().is_empty() {
            // The buffer is full: data has arrived that has not been received yet.
            self.heard();
            return (false, Duration::MAX);
        }
        self.set_ready();
        if !self.read_some(&mut incoming)
            && let Some(limit) = lost
        {
            self.lose(PeerErrorKind::Silent(limit));
        }
        (true, left)
    }

    /// Whether a sign of life of the peer is missing.
    pub(super) fn is_late(&self, limits: Limits) -> bool {
        !matches!(self.verdict(limits), Verdict::Alive(_))
    }

    fn verdict(&self, limits: Limits) -> Verdict {
        let heard = Duration::from_millis(self.heard_ms.load(Ordering::Relaxed));
        limits.judge(self.start.elapsed().saturating_sub(heard), self.spoken.load(Ordering::Relaxed))
    }

    /// Records a sign of life, or restarts the time of silence if it could not be heard for other reasons.
    pub(super) fn heard(&self) {
        self.heard_ms.store(self.start.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    /// Sends a message of the handshake, and waits until it has left.
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

    /// Waits for a message of the handshake. If a frame is invalid, the error is of kind `InvalidData`.
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

    /// The path to the peer and its traffic since [`Link::count_anew`].
    pub(super) fn path(&self, peer: u32) -> Path {
        let kind = if self.stream.is_encrypted() { "TLS" } else { "TCP" };
        let (frames_sent, bytes_sent) = lock(&self.outgoing).counted();
        let (frames_received, bytes_received) = lock(&self.incoming).counted();
        Path { peer, kind, frames_sent, bytes_sent, frames_received, bytes_received }
    }

    /// Excludes the frames and bytes of the handshake from the counts.
    pub(super) fn count_anew(&self) {
        lock(&self.outgoing).count_anew();
        lock(&self.incoming).count_anew();
        self.spoken.store(false, Ordering::Relaxed);
    }
}

fn damaged(error: FrameError) -> PeerErrorKind {
    PeerErrorKind::Damaged(error.to_string())
}

/// The loss that a failed read indicates.
fn reason(error: &io::Error) -> PeerErrorKind {
    match error.kind() {
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => {
            PeerErrorKind::Gone
        }
        ErrorKind::InvalidData => PeerErrorKind::Damaged(error.to_string()),
        _ => PeerErrorKind::System(error.to_string()),
    }
}
