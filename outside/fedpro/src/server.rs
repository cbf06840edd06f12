//! The host on sockets: one thread reads all that has come, lets the host decide, and writes.
//!
//! Whatever has come along all connections is read before the first call is served, so that the host can
//! serve those first that are furthest behind; what the calls cause is written once for each connection.
//!
//! Invariant: a connection that has ended is dropped once the calls that came along it are served.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};
use paceline_rti::Digests;
use rustls::ServerConfig;

use crate::host::{Connection, Host, Outside, Peer};
use crate::transport::{Carrier, Transport};

#[cfg(unix)]
mod status;
mod stream;

use stream::{Progress, Stream};

const WAKER: Token = Token(0);
const STATUS: Token = Token(1);
/// The first token of a listener or a connection.
const FIRST: usize = 2;
/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;
/// How many of them from one connection before others have their turn.
const CHUNKS: usize = 16;
/// How many bytes are read from all of them before calls are served.
const TURN: usize = 16 << 20;
/// How often sessions without a connection are looked at.
const EXPIRY: Duration = Duration::from_secs(1);
/// How long clients may take to read what a server says at its end.
const FAREWELL: Duration = Duration::from_secs(2);

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

/// Where a server listens, and what comes there.
#[derive(Debug)]
struct Listener {
    socket: TcpListener,
    carrier: Carrier,
    tls: Option<Arc<ServerConfig>>,
}

/// A host with its connections.
#[derive(Debug)]
pub struct Server<O> {
    host: Host<O>,
    listeners: BTreeMap<usize, Listener>,
    poll: Poll,
    streams: BTreeMap<usize, Stream>,
    next: usize,
    /// Connections that may have more to read than was read in one turn.
    unread: BTreeSet<usize>,
    /// Bytes that were read in this turn.
    read: usize,
    /// Connections that have ended, or are broken.
    gone: Vec<usize>,
    /// Room for what is read at once.
    chunk: Vec<u8>,
    /// Listeners at which somebody may wait who could not be accepted.
    unaccepted: BTreeSet<usize>,
    #[cfg(unix)]
    status: Option<status::StatusListener>,
    stopper: Stopper,
    started: Instant,
    /// When sessions without a connection, and connections without a session, were looked at.
    expired: Instant,
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
            unread: BTreeSet::new(),
            read: 0,
            gone: Vec::new(),
            chunk: Vec::new(),
            unaccepted: BTreeSet::new(),
            #[cfg(unix)]
            status: None,
            stopper,
            started: Instant::now(),
            expired: Instant::now(),
        })
    }

    /// A server that listens on `address` without TLS; port 0 is any that is free.
    pub fn bind(address: SocketAddr, host: Host<O>) -> io::Result<Self> {
        let mut server = Self::new(host)?;
        server.listen(address, Carrier::Stream, None)?;
        Ok(server)
    }

    /// What it serves.
    pub fn host_mut(&mut self) -> &mut Host<O> {
        &mut self.host
    }

    /// Listens on `address`, too; port 0 is any that is free. With a configuration all of it is inside TLS.
    /// Returns where it listens.
    pub fn listen(
        &mut self,
        address: SocketAddr,
        carrier: Carrier,
        tls: Option<Arc<ServerConfig>>,
    ) -> io::Result<SocketAddr> {
        let mut socket = TcpListener::bind(address)?;
        let place = self.take_number();
        self.poll.registry().register(&mut socket, Token(place), Interest::READABLE)?;
        let address = socket.local_addr()?;
        self.listeners.insert(place, Listener { socket, carrier, tls });
        Ok(address)
    }

    /// Ends the record of a server that does not run any more, see [`Host::finish_record`].
    pub fn finish_record(&mut self) -> io::Result<Option<Digests>> {
        self.host.finish_record()
    }

    fn take_number(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    /// Where it listened first.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let first = self.listeners.values().next();
        first.ok_or(ErrorKind::NotConnected).map_err(io::Error::from)?.socket.local_addr()
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
            self.poll.registry().deregister(&mut listener.socket)?;
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
        self.host.set_now(self.started.elapsed());
        self.read = 0;
        unread.into_iter().for_each(|connection| self.read(connection, true));
        self.unaccepted.clone().into_iter().for_each(|listener| self.accept(listener));
        for event in &*events {
            match event.token() {
                WAKER => {}
                #[cfg(unix)]
                STATUS => self.show_status(),
                Token(listener) if self.listeners.contains_key(&listener) => self.accept(listener),
                Token(connection) => {
                    if event.is_readable() || event.is_read_closed() {
                        self.read(connection, event.is_read_closed());
                    }
                    if event.is_writable() {
                        self.write(connection);
                    }
                }
            }
        }
        self.host.serve();
        self.drop_gone();
        self.collect_all();
        Ok(())
    }

    fn expire(&mut self) {
        // A look at all of them after each call would cost more than the call.
        if self.expired.elapsed() < EXPIRY {
            return;
        }
        self.expired = Instant::now();
        self.host.let_observers_look();
        self.host.expire(self.started.elapsed());
        let (limits, patience) = (self.host.limits(), self.host.limits().first_message());
        let is_silent = |stream: &Stream| !stream.has_session && stream.opened_at.elapsed() >= patience;
        let mut late = Vec::new();
        for (place, stream) in &self.streams {
            if stream.lingers(FAREWELL) {
                late.push((*place, None));
            } else if is_silent(stream) {
                let seconds = limits.first_message_seconds;
                late.push((
                    *place,
                    Some(format!(
                        "a connection is closed: no session has come in time, first-message-seconds={seconds}"
                    )),
                ));
            }
        }
        for (place, line) in late {
            line.into_iter().for_each(|line| self.host.log(&line));
            self.drop_stream(place);
        }
    }

    fn accept(&mut self, place: usize) {
        while let Some(listener) = self.listeners.get(&place) {
            match listener.socket.accept() {
                Ok((socket, from)) => self.take_stream(place, socket, from),
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

    fn take_stream(&mut self, place: usize, mut socket: TcpStream, from: SocketAddr) {
        let connection = self.take_number();
        // A callback should not wait for the acknowledgement of the one before.
        let is_fast = socket.set_nodelay(true);
        let interest = Interest::READABLE;
        let registered =
            is_fast.and_then(|()| self.poll.registry().register(&mut socket, Token(connection), interest));
        if let Err(error) = registered {
            return self.host.log(&format!("a connection cannot be used: {error}"));
        }
        let Listener { carrier, tls, .. } = &self.listeners[&place];
        // Whoever has connected is gone already.
        let Ok(server) = socket.local_addr() else { return };
        let peer = Peer { client: from, server };
        match Transport::new(*carrier, tls.as_ref()) {
            Ok(transport) if self.host.connect_from(Connection(connection), peer) => {
                self.streams.insert(connection, Stream::new(socket, transport));
            }
            Ok(_) => {}
            Err(error) => self.host.log(&format!("a connection cannot be used: {error}")),
        }
    }

    /// Reads what has come along a connection; to its end if that `may_end`.
    fn read(&mut self, connection: usize, may_end: bool) {
        let mut chunk = std::mem::take(&mut self.chunk);
        chunk.resize(CHUNK, 0);
        let is_open = self.read_into(connection, &mut chunk, may_end);
        self.chunk = chunk;
        if is_open {
            // What its transport answers by itself goes out at once.
            self.write(connection);
        } else {
            self.gone.push(connection);
        }
    }

    /// Reads what there is, up to a limit; false at the end.
    fn read_into(&mut self, connection: usize, chunk: &mut [u8], may_end: bool) -> bool {
        for _ in 0..CHUNKS {
            if self.read >= TURN {
                break;
            }
            let Some(stream) = self.streams.get_mut(&connection) else { return true };
            match stream.read(chunk) {
                Progress::Frames(frames) => {
                    self.read += frames.len();
                    self.host.receive(Connection(connection), frames);
                }
                Progress::Later => return true,
                Progress::Gone => return false,
                Progress::Wrong(error) => {
                    self.host.log(&format!("a connection is closed: {error}"));
                    // The client hears why, if it listens.
                    let _ = stream.write();
                    return false;
                }
            }
            if !stream.has_session && self.host.has_session(Connection(connection)) {
                stream.note_session(self.host.limits().frame_bytes);
            }
            // The system reports what comes later, so that another attempt would find nothing. It has
            // reported an end already that stands behind what was read.
            if stream.is_drained && !may_end {
                return true;
            }
        }
        // The system tells of what is left only once more comes.
        self.unread.insert(connection);
        true
    }

    fn collect_all(&mut self) {
        self.host.flush_record();
        for Connection(connection) in self.host.take_ready() {
            self.collect(connection);
        }
        self.drop_gone();
    }

    /// Takes what the host wants to write, and writes it.
    fn collect(&mut self, connection: usize) {
        let Some((out, is_ending)) = self.host.take_output(Connection(connection)) else { return };
        let Some(stream) = self.streams.get_mut(&connection) else { return };
        if let Err(error) = stream.add(out) {
            self.host.log(&format!("a connection is closed: {error}"));
            return self.gone.push(connection);
        }
        if is_ending {
            stream.end();
        }
        self.write(connection);
    }

    fn write(&mut self, connection: usize) {
        let Some(stream) = self.streams.get_mut(&connection) else { return };
        let is_full = match stream.write() {
            Ok(true) => return,
            Ok(false) => self.poll.registry().reregister(
                &mut stream.socket,
                Token(connection),
                Interest::READABLE | Interest::WRITABLE,
            ),
            Err(error) => Err(error),
        };
        if is_full.is_err() {
            self.gone.push(connection);
        }
    }

    fn drop_gone(&mut self) {
        for connection in std::mem::take(&mut self.gone) {
            self.drop_stream(connection);
        }
    }

    fn drop_stream(&mut self, connection: usize) {
        if let Some(mut stream) = self.streams.remove(&connection) {
            // The system forgets a socket that is closed by itself.
            let _ = self.poll.registry().deregister(&mut stream.socket);
        }
        self.host.lose(Connection(connection), self.started.elapsed());
    }
}
