//! A connection as a non-blocking stream of bytes, plain or with TLS.
//!
//! Invariants: the socket is non-blocking from the beginning; a caller that wants to wait gives a deadline
//! ([`Stream::wait`]). The TLS session has its own lock, taken last and held during encryption and
//! decryption, since both directions use the session.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use rustls::Connection;

use super::{socket, tls};
use crate::sync::{Mutex, lock};

/// Bytes read from the socket at a time for TLS to decrypt, and the most bytes that TLS buffers for sending.
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
    /// Read from the socket, not decrypted yet: the bytes from `start` to `end`.
    raw: Box<[u8]>,
    start: usize,
    end: usize,
}

/// The result of a read.
#[derive(Debug)]
pub(super) struct Read1 {
    /// The number of bytes; 0 is the end of the stream.
    pub(super) bytes: usize,
    /// Whether the next read could return data without any new arrival.
    pub(super) is_more: bool,
}

impl Stream {
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

    /// From now on TLS encrypts everything.
    pub(super) fn encrypt(&mut self, mut session: Connection) {
        session.set_buffer_limit(Some(TLS_BYTES));
        let raw = vec![0; TLS_BYTES].into();
        self.tls = Some(Box::new(Mutex::new(Tls { session, raw, start: 0, end: 0 })));
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// The bytes that a segment on the path carries, minus what TLS adds.
    pub(super) fn segment_bytes(&self) -> usize {
        let overhead = if self.is_encrypted() { tls::RECORD_BYTES } else { 0 };
        socket::segment_bytes(&self.socket).unwrap_or(1_448) - overhead
    }

    /// Writes as many of the bytes as possible. An error of kind `WouldBlock` means that none could be
    /// written.
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

    /// Sends what TLS has buffered. Returns whether nothing of it is left.
    pub(super) fn flush(&self) -> io::Result<bool> {
        self.tls.as_ref().map_or(Ok(true), |tls| lock(tls).flush(&self.socket))
    }

    /// Reads what has arrived. An error of kind `WouldBlock` means that nothing has.
    pub(super) fn read(&self, into: &mut [u8]) -> io::Result<Read1> {
        match &self.tls {
            None => {
                let bytes = retried(|| (&self.socket).read(into))?;
                Ok(Read1 { bytes, is_more: bytes == into.len() })
            }
            Some(tls) => lock(tls).read(&self.socket, into).map(|bytes| Read1 { bytes, is_more: bytes > 0 }),
        }
    }

    /// Continues the TLS handshake as far as possible. Returns whether it is complete.
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

    /// Key material that only the two ends of this TLS session know.
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

    /// Announces that nothing more will be written.
    pub(super) fn finish(&self) {
        // The call may fail if the socket is closed already.
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    /// Ends the connection in both directions.
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
    /// Sends encrypted bytes. Returns whether all were sent.
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

    /// Reads decrypted bytes. 0 is the end.
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

    /// Decrypts more bytes, after reading from the socket if none are left to decrypt. Returns whether the
    /// stream continues.
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
            // The alert informs the other side; whether it arrives does not matter here.
            let _ = self.flush(socket);
            return Err(io::Error::new(ErrorKind::InvalidData, error));
        }
        Ok(true)
    }
}

/// Repeats a call that a signal interrupts.
fn retried(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
