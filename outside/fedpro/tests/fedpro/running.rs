//! A server in a thread of its own.

use std::net::SocketAddr;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use paceline_fedpro::{Host, Outside, Server, Stopper};

pub struct Running {
    pub address: SocketAddr,
    stopper: Stopper,
    thread: Option<JoinHandle<std::io::Result<usize>>>,
}

impl Running {
    pub fn start(outside: impl Outside + Send + 'static) -> Self {
        let host = Host::new(outside, Duration::from_secs(60));
        let mut server = Server::bind(SocketAddr::from(([127, 0, 0, 1], 0)), host).expect("a port is free");
        let (address, stopper) = (server.local_addr().expect("it listens"), server.stopper());
        Self { address, stopper, thread: Some(thread::spawn(move || server.run())) }
    }

    pub fn end(mut self) {
        self.stopper.stop().expect("it runs");
        let thread = self.thread.take().expect("it is ended once");
        thread.join().expect("it does not panic").expect("it ends well");
    }
}
