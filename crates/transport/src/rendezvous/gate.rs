//! The gate of a process: its listener, and the handshakes of incoming connections.
//!
//! Each handshake has a thread and a time limit, so that a silent or slow connection does not delay the others. If there are more
//! than [`AT_ONCE`], the oldest is closed: it has had the most time.
//!
//! Invariants: at most [`AT_ONCE`] handshakes at a time, and the first [`REFUSALS`] refusals are kept.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::time::Timespec;

use super::message::{self, Message};
use super::{Refusal, RendezvousError};
use crate::tcp::handshake::{Credentials, HandshakeError, accept};
use crate::tcp::link::Link;

/// Handshakes at a time.
const AT_ONCE: usize = 64;

/// Refusals that are kept.
pub(super) const REFUSALS: usize = 64;

/// The time that a handshake may take.
const TIME: Duration = Duration::from_secs(5);

/// A connection whose handshake has succeeded, with its first message.
pub(super) type Guest = (SocketAddr, Link, Message);

type Outcome = (u64, SocketAddr, Result<(Link, Message), HandshakeError>);

/// Accepts connections, and hands on those whose handshake has succeeded.
#[derive(Debug)]
pub(super) struct Gate {
    listener: TcpListener,
    credentials: Credentials,
    at_work: VecDeque<(u64, TcpStream)>,
    count: u64,
    sender: Sender<Outcome>,
    /// An eventfd, signalled when there are outcomes.
    bell: Arc<OwnedFd>,
    outcomes: Receiver<Outcome>,
    refusals: Vec<Refusal>,
    /// What ends the wait when it becomes readable, and what that is.
    watched: Vec<(OwnedFd, String)>,
}

impl Gate {
    pub(super) fn new(address: SocketAddr, credentials: Credentials) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let (sender, outcomes) = channel();
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (at_work, refusals, watched) = (VecDeque::new(), Vec::new(), Vec::new());
        Ok(Self { listener, credentials, at_work, count: 0, sender, bell, outcomes, refusals, watched })
    }

    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The connections that were refused, and why.
    pub(super) fn take_refusals(&mut self) -> Vec<Refusal> {
        std::mem::take(&mut self.refusals)
    }

    pub(super) fn refuse(&mut self, address: SocketAddr, error: HandshakeError) {
        if self.refusals.len() < REFUSALS {
            self.refusals.push(Refusal { address, error });
        }
    }

    /// From now on, [`Gate::next`] ends when `end` becomes readable.
    pub(super) fn watch(&mut self, end: OwnedFd, what: String) {
        self.watched.push((end, what));
    }

    /// The next connection that belongs to the run; `None` if there is none until `by`.
    pub(super) fn next(&mut self, by: Instant) -> Result<Option<Guest>, RendezvousError> {
        loop {
            while let Ok((number, address, outcome)) = self.outcomes.try_recv() {
                self.at_work.retain(|(other, _)| *other != number);
                match outcome {
                    Ok((link, message)) => return Ok(Some((address, link, message))),
                    Err(error) => self.refuse(address, error),
                }
            }
            let left = by.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            match self.listener.accept() {
                Ok((socket, address)) => self.begin(socket, address, by)?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let left = Timespec::try_from(left).map_err(io::Error::other)?;
                    let mut sources = vec![
                        PollFd::new(&self.listener, PollFlags::IN),
                        PollFd::new(&*self.bell, PollFlags::IN),
                    ];
                    sources.extend(self.watched.iter().map(|(end, _)| PollFd::new(end, PollFlags::IN)));
                    // A signal may end the sleep early without an outcome: then there is nothing yet.
                    let _ = poll(&mut sources, Some(&left));
                    let ended = sources[2..].iter().position(|end| !end.revents().is_empty());
                    if let Some(ended) = ended {
                        return Err(RendezvousError::Ended(self.watched[ended].1.clone()));
                    }
                    let _ = rustix::io::read(&*self.bell, &mut [0_u8; 8]);
                }
                // The other side has given up meanwhile.
                Err(error)
                    if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn begin(&mut self, socket: TcpStream, address: SocketAddr, by: Instant) -> io::Result<()> {
        if self.at_work.len() >= AT_ONCE
            && let Some((_, oldest)) = self.at_work.pop_front()
        {
            // Its thread finds the end of the stream.
            let _ = oldest.shutdown(Shutdown::Both);
        }
        let (number, sender, bell) = (self.count, self.sender.clone(), self.bell.clone());
        self.count += 1;
        self.at_work.push_back((number, socket.try_clone()?));
        let credentials = self.credentials.clone();
        let by = by.min(Instant::now() + TIME);
        let thread = std::thread::Builder::new().name("handshake".to_owned());
        thread.spawn(move || {
            let outcome = accept(socket, &credentials, by);
            let outcome = outcome.and_then(|link| message::receive(&link, by).map(|message| (link, message)));
            // If no one waits for the outcome any more, the connection is closed here.
            let _ = sender.send((number, address, outcome));
            let _ = rustix::io::write(&*bell, &1_u64.to_ne_bytes());
        })?;
        Ok(())
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        for (_, socket) in &self.at_work {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}
