//! A server in a thread of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use paceline_fedpro::{Carrier, Host, Outside, Server, Stopper};
use rustls::ServerConfig;

pub struct Running {
    pub address: SocketAddr,
    stopper: Stopper,
    thread: Option<JoinHandle<std::io::Result<usize>>>,
}

impl Running {
    pub fn start(outside: impl Outside + Send + 'static) -> Self {
        Self::listening(Carrier::Stream, None, outside)
    }

    /// One that expects this of its clients; with a configuration all of it is inside TLS.
    pub fn listening(
        carrier: Carrier,
        tls: Option<Arc<ServerConfig>>,
        outside: impl Outside + Send + 'static,
    ) -> Self {
        let mut server = Server::new(Host::new(outside, Duration::from_secs(60))).expect("a server");
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let address = server.listen(address, carrier, tls).expect("a port is free");
        let stopper = server.stopper();
        Self { address, stopper, thread: Some(thread::spawn(move || server.run())) }
    }

    pub fn end(mut self) {
        self.stopper.stop().expect("it runs");
        let thread = self.thread.take().expect("it is ended once");
        thread.join().expect("it does not panic").expect("it ends well");
    }
}
