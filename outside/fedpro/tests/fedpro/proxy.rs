//! A proxy that breaks each connection after some bytes or some time, in the middle of a frame if it comes to
//! that, and loses what it has read and not passed on.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// When a connection is broken; the numbers are drawn anew for each.
#[derive(Clone, Copy, Debug)]
pub enum Cut {
    /// After this many bytes in one direction.
    Bytes { from: u64, to: u64 },
    /// After this many milliseconds.
    Milliseconds { from: u64, to: u64 },
}

#[derive(Debug)]
pub struct Proxy {
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
    is_stopped: Arc<AtomicBool>,
}

/// Numbers that are the same in each run (xorshift, Marsaglia 2003).
fn draw(state: &mut u64, from: u64, to: u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    from + *state % (to - from)
}

/// Passes bytes on until the connection ends, or is to be broken.
fn pass(mut from: TcpStream, mut to: TcpStream, bytes: u64, until: Instant) {
    let (mut chunk, mut left) = ([0; 4096], bytes);
    // Both directions look at the time, whether something comes or not.
    let _ = from.set_read_timeout(Some(Duration::from_millis(10)));
    while left > 0 && Instant::now() < until {
        match from.read(&mut chunk) {
            Ok(0) => break,
            Ok(size) => {
                let size = (size as u64).min(left);
                left -= size;
                if to.write_all(&chunk[..size as usize]).is_err() {
                    break;
                }
            }
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock) => {}
            Err(_) => break,
        }
    }
    // Whichever side is gone already needs no end.
    [from, to].iter().for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
}

impl Proxy {
    /// A proxy in front of a server.
    pub fn start(server: SocketAddr, cut: Cut, seed: u64) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let address = listener.local_addr().expect("it listens");
        let (connections, is_stopped) = (Arc::default(), Arc::default());
        let proxy = Self { address, connections, is_stopped };
        let (connections, is_stopped) = (proxy.connections.clone(), proxy.is_stopped.clone());
        let mut state = seed;
        thread::spawn(move || {
            for client in listener.incoming() {
                if is_stopped.load(Ordering::Acquire) {
                    return;
                }
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(server)) else { continue };
                connections.fetch_add(1, Ordering::Relaxed);
                let far = Instant::now() + Duration::from_secs(3600);
                let (bytes, until) = match cut {
                    Cut::Bytes { from, to } => (draw(&mut state, from, to), far),
                    Cut::Milliseconds { from, to } => {
                        let after = Duration::from_millis(draw(&mut state, from, to));
                        (u64::MAX, Instant::now() + after)
                    }
                };
                let ends = [&client, &server].map(|stream| {
                    let _ = stream.set_nodelay(true);
                    stream.try_clone().expect("a descriptor is free")
                });
                let [client_end, server_end] = ends;
                thread::spawn(move || pass(client, server_end, bytes, until));
                thread::spawn(move || pass(server, client_end, bytes, until));
            }
        });
        proxy
    }

    /// How many connections there were.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::Release);
        // It looks only when somebody connects.
        let _ = TcpStream::connect(self.address);
    }
}
