//! A connection of a server: a socket, what carries frames along it, and what the system has not taken yet.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};

use bytes::{Buf, BytesMut};
use mio::net::TcpStream;

use crate::transport::{Transport, TransportError};

/// What has become of an attempt to read.
#[derive(Debug)]
pub(super) enum Progress<'a> {
    /// Bytes of frames, perhaps none.
    Frames(&'a [u8]),
    /// There is no more for now.
    Later,
    /// The client has closed it, or it is broken.
    Gone,
    /// The client does not keep to what carries frames.
    Wrong(TransportError),
}

#[derive(Debug)]
pub(super) struct Stream {
    pub(super) socket: TcpStream,
    transport: Transport,
    /// What the system has not taken yet.
    unwritten: BytesMut,
    pub(super) opened_at: Instant,
    /// Whether a session has come along it.
    pub(super) has_session: bool,
    /// The last attempt to read has taken all that there was.
    pub(super) is_drained: bool,
    is_ending: bool,
    /// When all was written to one that is ending. Until the client has closed it, too, it is read and
    /// nothing is done with what comes: closed at once, it could take with it what the client has not read.
    shut_at: Option<Instant>,
}

impl Stream {
    pub(super) fn new(socket: TcpStream, transport: Transport) -> Self {
        Self {
            socket,
            transport,
            unwritten: BytesMut::new(),
            opened_at: Instant::now(),
            has_session: false,
            is_drained: false,
            is_ending: false,
            shut_at: None,
        }
    }

    /// Reads once, with `chunk` as room for it.
    pub(super) fn read<'a>(&'a mut self, chunk: &'a mut [u8]) -> Progress<'a> {
        let size = loop {
            match self.socket.read(chunk) {
                Ok(0) => return Progress::Gone,
                Ok(size) => break size,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Progress::Later,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Progress::Gone,
            }
        };
        self.is_drained = size < chunk.len();
        // Some clients wait for the acknowledgement before they send the rest of what they have written.
        acknowledge(&self.socket);
        if self.is_ending {
            return Progress::Frames(&[]);
        }
        match self.transport.receive(&chunk[..size], &mut self.unwritten) {
            Ok(frames) => Progress::Frames(frames),
            Err(error) => Progress::Wrong(error),
        }
    }

    /// Its session has come, so that frames may be longer.
    pub(super) fn note_session(&mut self, limit: usize) {
        if !self.has_session {
            self.has_session = true;
            self.transport.set_limit(limit);
        }
    }

    /// Adds frames to what is written.
    pub(super) fn add(&mut self, frames: BytesMut) -> Result<(), TransportError> {
        if self.is_ending {
            return Ok(());
        }
        self.transport.send(frames, &mut self.unwritten)
    }

    /// Nothing more comes from here.
    pub(super) fn end(&mut self) {
        if !self.is_ending {
            self.is_ending = true;
            self.transport.close(&mut self.unwritten);
        }
    }

    /// Writes what the system takes; false if it takes no more for now.
    pub(super) fn write(&mut self) -> io::Result<bool> {
        while !self.unwritten.is_empty() {
            match self.socket.write(&self.unwritten) {
                Ok(size) => self.unwritten.advance(size),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        if self.is_ending && self.shut_at.is_none() {
            self.shut_at = Some(Instant::now());
            self.socket.shutdown(Shutdown::Write)?;
        }
        Ok(true)
    }

    /// Whether its client has had this long to close it.
    pub(super) fn lingers(&self, patience: Duration) -> bool {
        self.shut_at.is_some_and(|since| since.elapsed() >= patience)
    }
}

#[cfg(target_os = "linux")]
fn acknowledge(stream: &TcpStream) {
    // A socket that does not take it is only slower.
    let _ = rustix::net::sockopt::set_tcp_quickack(stream, true);
}

#[cfg(not(target_os = "linux"))]
fn acknowledge(_stream: &TcpStream) {}
