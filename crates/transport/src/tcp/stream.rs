//! A connection as a stream of bytes that never blocks, plain or by TLS.
//!
//! Invariants: the socket is non-blocking from the beginning; whoever wants to wait says until when ([`Stream::wait`]). The TLS
//! session has a lock of its own, taken last and held while bytes are coded, since both directions use it.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use rustls::Connection;

use super::{socket, tls};
use crate::sync::{Mutex, lock};

/// Bytes that are read from the socket at a time for TLS to decode, and that TLS keeps to be sent.
const TLS_BYTES: usize = 64 << 10;

/// A connection to one peer.
#[derive(Debug)]
pub(crate) struct Stream {
    socket: TcpStream,
    peer: SocketAddr,
    local: SocketAddr,
    tls: Option<Box<Mutex<Tls>>>,
}

#[derive(Debug)]
struct Tls {
    session: Connection,
    /// Read from the socket, not decoded yet: the bytes from `start` to `end`.
    raw: Box<[u8]>,
    start: usize,
    end: usize,
}

/// What a read has brought.
#[derive(Debug)]
pub(super) struct Read1 {
    /// Bytes; 0 is the end of the stream.
    pub(super) bytes: usize,
    /// Whether the next read could bring some without anything happening in between.
    pub(super) is_more: bool,
}

impl Stream {
    /// Takes over a connected socket.
    pub(crate) fn new(socket: TcpStream) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        socket.set_nonblocking(true)?;
        Ok(Self { peer: socket.peer_addr()?, local: socket.local_addr()?, socket, tls: None })
    }

    pub(crate) fn peer(&self) -> SocketAddr {
        self.peer
    }

    pub(crate) fn local(&self) -> SocketAddr {
        self.local
    }

    /// From here on TLS codes everything.
    pub(super) fn encrypt(&mut self, mut session: Connection) {
        session.set_buffer_limit(Some(TLS_BYTES));
        let raw = vec![0; TLS_BYTES].into();
        self.tls = Some(Box::new(Mutex::new(Tls { session, raw, start: 0, end: 0 })));
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// Bytes that the path carries at a time, less what TLS adds.
    pub(super) fn segment_bytes(&self) -> usize {
        let overhead = if self.is_encrypted() { tls::RECORD_BYTES } else { 0 };
        socket::segment_bytes(&self.socket).unwrap_or(1_448) - overhead
    }

    /// Takes what it can of the bytes to be sent. An error of kind `WouldBlock` says that it can take none.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let Some(tls) = &self.tls else {
            return retried(|| (&self.socket).write(bytes));
        };
        let mut tls = lock(tls);
        if !tls.flush(&self.socket)? {
            return Err(ErrorKind::WouldBlock.into());
        }
        let taken = tls.session.writer().write(bytes)?;
        tls.flush(&self.socket)?;
        Ok(taken)
    }

    /// Sends what TLS still keeps; whether nothing of it is left.
    pub(super) fn flush(&self) -> io::Result<bool> {
        self.tls.as_ref().map_or(Ok(true), |tls| lock(tls).flush(&self.socket))
    }

    /// Reads what has come. An error of kind `WouldBlock` says that nothing has.
    pub(super) fn read(&self, into: &mut [u8]) -> io::Result<Read1> {
        match &self.tls {
            None => {
                let bytes = retried(|| (&self.socket).read(into))?;
                Ok(Read1 { bytes, is_more: bytes == into.len() })
            }
            Some(tls) => lock(tls).read(&self.socket, into).map(|bytes| Read1 { bytes, is_more: bytes > 0 }),
        }
    }

    /// Goes on with the TLS handshake as far as it goes; whether it is done.
    pub(super) fn shake(&self) -> io::Result<bool> {
        let Some(tls) = &self.tls else {
            return Ok(true);
        };
        let mut tls = lock(tls);
        while tls.session.is_handshaking() {
            tls.flush(&self.socket)?;
            match tls.decode(&self.socket) {
                Ok(false) => return Err(ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                other => other?,
            };
        }
        tls.flush(&self.socket)
    }

    /// Key material that only the two ends of this TLS session have.
    pub(super) fn export(&self, label: &[u8], context: &[u8]) -> io::Result<[u8; 32]> {
        let tls = self.tls.as_ref().ok_or(ErrorKind::Unsupported)?;
        let exported = lock(tls).session.export_keying_material([0; 32], label, Some(context));
        exported.map_err(io::Error::other)
    }

    /// Sleeps until something can be read (or, if asked, written), at most until `by`.
    pub(super) fn wait(&self, to_write: bool, by: Instant) -> io::Result<()> {
        let flags = if to_write { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        let left = by.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        let left = rustix::time::Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&self.socket, flags)], Some(&left)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Says that nothing more will be written.
    pub(super) fn finish(&self) {
        // A socket that is gone has nothing to say.
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    /// Ends the connection both ways.
    pub(super) fn cut(&self) {
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Tls {
    /// Sends what has been coded; whether all of it went.
    fn flush(&mut self, socket: &TcpStream) -> io::Result<bool> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut &*socket) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Reads decoded bytes. 0 is the end.
    fn read(&mut self, socket: &TcpStream, into: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < into.len() {
            match self.session.reader().read(&mut into[filled..]) {
                Ok(0) => break,
                Ok(bytes) => filled += bytes,
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
                Err(error) if error.kind() == ErrorKind::WouldBlock => match self.decode(socket) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(_) if filled > 0 => break,
                    Err(error) => return Err(error),
                },
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    /// Decodes some more, after reading from the socket if there is nothing left to decode. Whether the stream goes on.
    fn decode(&mut self, socket: &TcpStream) -> io::Result<bool> {
        if self.start == self.end {
            let bytes = retried(|| (&*socket).read(&mut self.raw))?;
            (self.start, self.end) = (0, bytes);
            if bytes == 0 {
                return Ok(false);
            }
        }
        let mut raw = &self.raw[self.start..self.end];
        self.session.read_tls(&mut raw)?;
        self.start = self.end - raw.len();
        if let Err(error) = self.session.process_new_packets() {
            // The alert tells the other side; whether it gets there changes nothing here.
            let _ = self.flush(socket);
            return Err(io::Error::new(ErrorKind::InvalidData, error));
        }
        Ok(true)
    }
}

/// Calls again what a signal interrupts.
fn retried(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
