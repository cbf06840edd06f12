//! The most bytes in a segment of a connection: a socket option that the standard library does not provide.

#![allow(unsafe_code)] // `getsockopt` with TCP_MAXSEG, which no crate in use wraps

use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

/// The most bytes in a segment of this connection (TCP_MAXSEG, tcp(7)): the path's MTU minus headers.
pub(super) fn segment_bytes(socket: &TcpStream) -> io::Result<usize> {
    let mut bytes: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the descriptor is open while `socket` is borrowed; the kernel writes at most `length` bytes to
    // `bytes`, which has so many, and both outlive the call.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_MAXSEG,
            (&raw mut bytes).cast(),
            &raw mut length,
        )
    };
    if result == 0 { Ok(bytes.max(0) as usize) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod test {
    use std::net::{TcpListener, TcpStream};

    use super::segment_bytes;

    #[test]
    fn a_connection_tells_its_segments() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let socket = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
        assert!(segment_bytes(&socket).expect("a TCP socket") >= 536, "the least that TCP allows");
    }
}
