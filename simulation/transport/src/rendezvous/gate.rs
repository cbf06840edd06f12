//! The gate of a process: its listener, and the handshakes of incoming connections.
//!
//! The coordinator has one (`coordinator.rs`), and so has each process that joins (`joining.rs`). Who
//! belongs to the run is decided in the handshake (`tcp/handshake.rs`).
//!
//! Each handshake has a thread and a time limit, so that a silent or slow connection does not delay the
//! others. If there are more than there is room for, the oldest is closed: it has had the most time. Room is
//! also limited by the files that the process may open (`ulimit -n`), of which each handshake needs two.
//!
//! Invariants: whatever others send, and however many connections they open, the gate stays open until its
//! time is over: neither a failed handshake nor a lack of files or threads is an error. What was refused is
//! counted, and never forgotten.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::time::Timespec;

use super::RendezvousError;
use super::message::{self, Message};
use super::refusal::Refusals;
use crate::tcp::handshake::{Credentials, HandshakeError, accept, io_error};
use crate::tcp::link::Link;

/// The most handshakes at a time, and the fewest, however few files the process may open.
const AT_ONCE: [usize; 2] = [64, 4];

/// Files that the rest of the process needs when all are there, besides one for each of the others.
const SPARE_FILES: usize = 20;

/// The time that a handshake may take.
const TIME: Duration = Duration::from_secs(5);

/// How long the gate waits for a handshake to end, after the system had no room for another connection.
const PAUSE: Duration = Duration::from_millis(50);

/// A connection whose handshake has succeeded, with its first message.
pub(super) type Guest = (SocketAddr, Link, Message);

type Outcome = (u64, SocketAddr, Result<(Link, Message), HandshakeError>);

/// Accepts connections, and hands on those whose handshake has succeeded.
#[derive(Debug)]
pub(super) struct Gate {
    listener: TcpListener,
    credentials: Credentials,
    at_work: VecDeque<(u64, TcpStream)>,
    at_once: usize,
    count: u64,
    sender: Sender<Outcome>,
    /// An eventfd, signalled when there are outcomes.
    bell: Arc<OwnedFd>,
    outcomes: Receiver<Outcome>,
    refusals: Refusals,
    /// What ends the wait when it becomes readable, and what that is.
    watched: Vec<(OwnedFd, String)>,
}

impl Gate {
    /// Listens at `address`, where up to `expected` connections belong to the run.
    pub(super) fn new(address: SocketAddr, credentials: Credentials, expected: u32) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let (sender, outcomes) = channel();
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        Ok(Self {
            listener,
            credentials,
            at_work: VecDeque::new(),
            at_once: at_once(expected as usize),
            count: 0,
            sender,
            bell,
            outcomes,
            refusals: Refusals::default(),
            watched: Vec::new(),
        })
    }

    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The connections that were refused, and why.
    pub(super) fn take_refusals(&mut self) -> Refusals {
        std::mem::take(&mut self.refusals)
    }

    pub(super) fn refuse(&mut self, address: SocketAddr, error: HandshakeError) {
        self.refusals.add(address, error);
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
                Ok((socket, address)) => self.begin(socket, address, by),
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.sleep(left, true)?,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // The other side has given up meanwhile; or there are no more files, and a handshake has to
                // end first. In both cases accept(2) can be called again.
                Err(_) => {
                    self.close_oldest();
                    self.sleep(left.min(PAUSE), false)?;
                }
            }
        }
    }

    /// Sleeps until there is an outcome or, if it `listens`, a connection. The error is the end of what is
    /// watched.
    fn sleep(&self, most: Duration, listens: bool) -> Result<(), RendezvousError> {
        let most = Timespec::try_from(most).map_err(io::Error::other)?;
        let connections = if listens { PollFlags::IN } else { PollFlags::empty() };
        let mut sources =
            vec![PollFd::new(&self.listener, connections), PollFd::new(&*self.bell, PollFlags::IN)];
        sources.extend(self.watched.iter().map(|(end, _)| PollFd::new(end, PollFlags::IN)));
        // A signal may end the sleep early without an outcome: then there is nothing yet.
        let _ = poll(&mut sources, Some(&most));
        let ended = sources[2..].iter().position(|end| !end.revents().is_empty());
        if let Some(ended) = ended {
            return Err(RendezvousError::Ended(self.watched[ended].1.clone()));
        }
        let _ = rustix::io::read(&*self.bell, &mut [0_u8; 8]);
        Ok(())
    }

    /// Closes the oldest connection without a handshake: its thread finds the end of the stream.
    fn close_oldest(&mut self) {
        if let Some((_, oldest)) = self.at_work.pop_front() {
            let _ = oldest.shutdown(Shutdown::Both);
        }
    }

    /// Begins a handshake; a connection for which the system has no room is refused.
    fn begin(&mut self, socket: TcpStream, address: SocketAddr, by: Instant) {
        if self.at_work.len() >= self.at_once {
            self.close_oldest();
        }
        if let Err(error) = self.start(socket, address, by) {
            self.close_oldest();
            self.refuse(address, io_error(error));
        }
    }

    fn start(&mut self, socket: TcpStream, address: SocketAddr, by: Instant) -> io::Result<()> {
        let (number, sender, bell) = (self.count, self.sender.clone(), self.bell.clone());
        let second = socket.try_clone()?;
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
        self.count += 1;
        self.at_work.push_back((number, second));
        Ok(())
    }

    /// Closes all connections without a handshake, so that their files are free for the run, and waits a
    /// little for that.
    pub(super) fn close(&mut self) {
        let by = Instant::now() + PAUSE;
        while !self.at_work.is_empty() {
            self.close_oldest();
        }
        while Arc::strong_count(&self.bell) > 1 && Instant::now() < by {
            let _ = self.outcomes.recv_timeout(PAUSE / 10);
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        for (_, socket) in &self.at_work {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

/// How many handshakes may go on at the same time in this process, of which each takes two files.
fn at_once(expected: usize) -> usize {
    let [most, least] = AT_ONCE;
    let may_open = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let may_open = may_open.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    // Where the system gives no number, most are taken to be free.
    let open = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    (may_open.saturating_sub(open + expected + SPARE_FILES) / 2).clamp(least, most)
}
