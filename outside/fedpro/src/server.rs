//! The host on TCP: one thread reads all that has come, lets the host decide, and writes.
//!
//! Many calls are handled in one wake-up, and what they cause is written once for each connection.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::{Buf, BytesMut};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};

use crate::host::{Connection, Host, Outside};

const WAKER: Token = Token(0);
/// The first token of a listener or a connection.
const FIRST: usize = 1;
/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;
/// How many of them from one connection before others have their turn.
const CHUNKS: usize = 16;
/// How often sessions without a connection are looked at.
const EXPIRY: Duration = Duration::from_secs(1);
/// How long clients may take to read what a server says at its end.
const FAREWELL: Duration = Duration::from_secs(2);

#[derive(Debug)]
struct Stream {
    stream: TcpStream,
    /// What the system has not taken yet.
    unwritten: BytesMut,
    is_ending: bool,
    /// When all was written to one that is ending. Until the client has closed it, too, it is read and
    /// nothing is done with what comes: closed at once, it could take with it what the client has not read.
    shut_at: Option<Instant>,
}

/// Ends a server from another thread.
#[derive(Clone, Debug)]
pub struct Stopper {
    waker: Arc<Waker>,
    is_stopped: Arc<AtomicBool>,
}

impl Stopper {
    /// The server's `run` returns soon.
    pub fn stop(&self) -> io::Result<()> {
        self.is_stopped.store(true, Ordering::Release);
        self.waker.wake()
    }
}

/// A host with its connections.
#[derive(Debug)]
pub struct Server<O> {
    host: Host<O>,
    listeners: BTreeMap<usize, TcpListener>,
    poll: Poll,
    streams: BTreeMap<usize, Stream>,
    next: usize,
    /// Connections that may have more to read than was read in one turn.
    unread: Vec<usize>,
    /// Listeners at which somebody may wait who could not be accepted.
    unaccepted: BTreeSet<usize>,
    stopper: Stopper,
    started: Instant,
}

impl<O: Outside> Server<O> {
    /// A server that listens nowhere yet.
    pub fn new(host: Host<O>) -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER)?);
        let stopper = Stopper { waker, is_stopped: Arc::new(AtomicBool::new(false)) };
        Ok(Self {
            host,
            listeners: BTreeMap::new(),
            poll,
            streams: BTreeMap::new(),
            next: FIRST,
            unread: Vec::new(),
            unaccepted: BTreeSet::new(),
            stopper,
            started: Instant::now(),
        })
    }

    /// A server that listens on `address`; port 0 is any that is free.
    pub fn bind(address: SocketAddr, host: Host<O>) -> io::Result<Self> {
        let mut server = Self::new(host)?;
        server.listen(address)?;
        Ok(server)
    }

    /// Listens on `address`, too; port 0 is any that is free. Returns where it listens.
    pub fn listen(&mut self, address: SocketAddr) -> io::Result<SocketAddr> {
        let mut listener = TcpListener::bind(address)?;
        let place = self.take_number();
        self.poll.registry().register(&mut listener, Token(place), Interest::READABLE)?;
        let address = listener.local_addr()?;
        self.listeners.insert(place, listener);
        Ok(address)
    }

    fn take_number(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    /// Where it listened first.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let first = self.listeners.values().next();
        first.ok_or(ErrorKind::NotConnected).map_err(io::Error::from)?.local_addr()
    }

    /// What ends it.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Serves until it is stopped, then ends all sessions; returns how many that were.
    pub fn run(&mut self) -> io::Result<usize> {
        let mut events = Events::with_capacity(1024);
        while !self.stopper.is_stopped.load(Ordering::Acquire) {
            self.turn(&mut events, EXPIRY)?;
            self.expire();
        }
        // Nobody new may come.
        for mut listener in std::mem::take(&mut self.listeners).into_values() {
            self.poll.registry().deregister(&mut listener)?;
        }
        let ended = self.host.end_all("the run-time infrastructure has ended");
        self.collect_all();
        let end = Instant::now() + FAREWELL;
        while !self.streams.is_empty() && Instant::now() < end {
            self.turn(&mut events, end.saturating_duration_since(Instant::now()))?;
        }
        Ok(ended)
    }

    /// Waits until something happens, and handles all that has.
    fn turn(&mut self, events: &mut Events, patience: Duration) -> io::Result<()> {
        let unread = std::mem::take(&mut self.unread);
        let patience = if unread.is_empty() { patience } else { Duration::ZERO };
        match self.poll.poll(events, Some(patience)) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => result?,
        }
        unread.into_iter().for_each(|connection| self.read(connection));
        self.unaccepted.clone().into_iter().for_each(|listener| self.accept(listener));
        for event in &*events {
            match event.token() {
                WAKER => {}
                Token(listener) if self.listeners.contains_key(&listener) => self.accept(listener),
                Token(connection) => {
                    if event.is_readable() || event.is_read_closed() {
                        self.read(connection);
                    }
                    if event.is_writable() {
                        self.write(connection);
                    }
                }
            }
        }
        self.collect_all();
        Ok(())
    }

    fn expire(&mut self) {
        self.host.expire(self.started.elapsed());
        let is_late = |stream: &Stream| stream.shut_at.is_some_and(|since| since.elapsed() >= FAREWELL);
        let late: Vec<usize> =
            self.streams.iter().filter(|(_, stream)| is_late(stream)).map(|(place, _)| *place).collect();
        late.into_iter().for_each(|connection| self.drop_stream(connection));
    }

    fn accept(&mut self, place: usize) {
        while let Some(listener) = self.listeners.get(&place) {
            match listener.accept() {
                Ok((stream, _)) => self.take_stream(stream),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.unaccepted.remove(&place);
                    return;
                }
                // Whoever wanted to connect is gone already.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    // There are too many files, perhaps: others go on, and this is tried again.
                    if self.unaccepted.insert(place) {
                        self.host.log(&format!("a connection cannot be accepted: {error}"));
                    }
                    return;
                }
            }
        }
    }

    fn take_stream(&mut self, mut stream: TcpStream) {
        let connection = self.take_number();
        // A callback should not wait for the acknowledgement of the one before.
        let is_fast = stream.set_nodelay(true);
        let interest = Interest::READABLE;
        let registered =
            is_fast.and_then(|()| self.poll.registry().register(&mut stream, Token(connection), interest));
        if let Err(error) = registered {
            return self.host.log(&format!("a connection cannot be used: {error}"));
        }
        self.streams.insert(
            connection,
            Stream { stream, unwritten: BytesMut::new(), is_ending: false, shut_at: None },
        );
        self.host.connect(Connection(connection));
    }

    fn read(&mut self, connection: usize) {
        let mut chunk = vec![0; CHUNK];
        for _ in 0..CHUNKS {
            let Some(stream) = self.streams.get_mut(&connection) else { return };
            match stream.stream.read(&mut chunk) {
                Ok(0) => return self.drop_stream(connection),
                Ok(size) => {
                    // Some clients wait for the acknowledgement before they send the rest of what they have
                    // written.
                    acknowledge(&stream.stream);
                    if stream.is_ending {
                        continue;
                    }
                    self.host.receive(Connection(connection), &chunk[..size]);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return self.drop_stream(connection),
            }
        }
        // The system tells of what is left only once more comes.
        self.unread.push(connection);
    }

    fn collect_all(&mut self) {
        for Connection(connection) in self.host.take_ready() {
            self.collect(connection);
        }
    }

    /// Takes what the host wants to write, and writes it.
    fn collect(&mut self, connection: usize) {
        let Some((out, is_ending)) = self.host.take_output(Connection(connection)) else { return };
        let Some(stream) = self.streams.get_mut(&connection) else { return };
        stream.unwritten.extend_from_slice(&out);
        stream.is_ending |= is_ending;
        self.write(connection);
    }

    fn write(&mut self, connection: usize) {
        let Some(stream) = self.streams.get_mut(&connection) else { return };
        while !stream.unwritten.is_empty() {
            match stream.stream.write(&stream.unwritten) {
                Ok(size) => stream.unwritten.advance(size),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let interest = Interest::READABLE | Interest::WRITABLE;
                    let registry = self.poll.registry();
                    if registry.reregister(&mut stream.stream, Token(connection), interest).is_err() {
                        self.drop_stream(connection);
                    }
                    return;
                }
                Err(_) => return self.drop_stream(connection),
            }
        }
        if stream.is_ending && stream.shut_at.is_none() {
            stream.shut_at = Some(Instant::now());
            if stream.stream.shutdown(Shutdown::Write).is_err() {
                self.drop_stream(connection);
            }
        }
    }

    fn drop_stream(&mut self, connection: usize) {
        if let Some(mut stream) = self.streams.remove(&connection) {
            // The system forgets a socket that is closed by itself.
            let _ = self.poll.registry().deregister(&mut stream.stream);
        }
        self.host.lose(Connection(connection), self.started.elapsed());
    }
}

#[cfg(target_os = "linux")]
fn acknowledge(stream: &TcpStream) {
    // A socket that does not take it is only slower.
    let _ = rustix::net::sockopt::set_tcp_quickack(stream, true);
}

#[cfg(not(target_os = "linux"))]
fn acknowledge(_stream: &TcpStream) {}
