//! The host on TCP: one thread reads all that has come, lets the host decide, and writes.
//!
//! Many calls are handled in one wake-up, and what they cause is written once for each connection.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::{Buf, BytesMut};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};

use crate::host::{Connection, Host, Outside};

const LISTENER: Token = Token(0);
const WAKER: Token = Token(1);
/// The first token of a connection.
const FIRST: usize = 2;
/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;
/// How many of them from one connection before others have their turn.
const CHUNKS: usize = 16;
/// How often sessions without a connection are looked at.
const EXPIRY: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct Stream {
    stream: TcpStream,
    /// What the system has not taken yet.
    unwritten: BytesMut,
    is_ending: bool,
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
    listener: TcpListener,
    poll: Poll,
    streams: BTreeMap<usize, Stream>,
    next: usize,
    /// Connections that may have more to read than was read in one turn.
    unread: Vec<usize>,
    stopper: Stopper,
    started: Instant,
}

impl<O: Outside> Server<O> {
    /// Listens on `address`; port 0 is any that is free.
    pub fn bind(address: SocketAddr, host: Host<O>) -> io::Result<Self> {
        let (poll, mut listener) = (Poll::new()?, TcpListener::bind(address)?);
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER)?);
        let stopper = Stopper { waker, is_stopped: Arc::new(AtomicBool::new(false)) };
        let (streams, started) = (BTreeMap::new(), Instant::now());
        Ok(Self { host, listener, poll, streams, next: FIRST, unread: Vec::new(), stopper, started })
    }

    /// Where it listens.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// What ends it.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Serves until it is stopped.
    pub fn run(&mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        while !self.stopper.is_stopped.load(Ordering::Acquire) {
            let unread = std::mem::take(&mut self.unread);
            let patience = if unread.is_empty() { EXPIRY } else { Duration::ZERO };
            match self.poll.poll(&mut events, Some(patience)) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => result?,
            }
            unread.into_iter().for_each(|connection| self.read(connection));
            for event in &events {
                match event.token() {
                    LISTENER => self.accept()?,
                    WAKER => {}
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
            for Connection(connection) in self.host.take_ready() {
                self.collect(connection);
            }
            self.host.expire(self.started.elapsed());
        }
        Ok(())
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            let mut stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                // Whoever wanted to connect is gone already.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                Err(error) => return Err(error),
            };
            let connection = self.next;
            self.next += 1;
            // A callback should not wait for the acknowledgement of the one before.
            if stream.set_nodelay(true).is_err() {
                continue;
            }
            self.poll.registry().register(&mut stream, Token(connection), Interest::READABLE)?;
            self.streams.insert(connection, Stream { stream, unwritten: BytesMut::new(), is_ending: false });
            self.host.connect(Connection(connection));
        }
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
        if stream.is_ending {
            self.drop_stream(connection);
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
