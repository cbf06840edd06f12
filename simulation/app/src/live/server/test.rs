//! Clients that take more than their share, with limits that a test can wait for.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use paceline_engine::Monitor;
use paceline_kernel::Time;

use super::*;
use crate::live::sample::Sampler;
use crate::sampling::{self, Facts, Sampling};
use crate::steer::{Steering, Watched};

/// A server of a run that never begins; it ends when the sender is dropped.
fn start(limits: Limits) -> (SocketAddr, String, oneshot::Sender<()>, std::thread::JoinHandle<()>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let local = listener.local_addr().expect("it has an address");
    let access = Access::new(local).expect("random numbers");
    let path = access.url().split_once("/?").expect("a token").1.to_owned();
    let watched = Watched::Lps { steering: Steering::new(&Monitor::new(), false), is_elastic: true };
    let facts = Facts {
        scenario: "test".into(),
        model: "test",
        until: None,
        protocol: Some("window"),
        lookahead: Time::ZERO,
        processes: 1,
        #[cfg(feature = "processes")]
        ring: None,
    };
    let run = sampling::Sampler::new(facts, watched, &mut Sampling::default(), Duration::ZERO);
    let sampler = Sampler::new(run);
    let answers: Answers = Box::new(|request| Ok(request.into()));
    let (end, ended) = oneshot::channel();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        listener.set_nonblocking(true).expect("it can be");
        runtime.block_on(async {
            let listener = TcpListener::from_std(listener).expect("it is one");
            serve(listener, access, answers, sampler, ended, limits).await;
        });
    });
    (local, path, end, thread)
}

fn ask(to: SocketAddr, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(to).expect("it listens");
    // Where the connection is refused, that shows when an answer is read.
    let _ = stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {to}\r\n\r\n").as_bytes());
    stream
}

/// Whether the server answers, and does not refuse the connection.
fn is_served(to: SocketAddr) -> bool {
    let mut stream = ask(to, "/live.js");
    let mut start = [0; 12];
    stream.read_exact(&mut start).is_ok() && &start == b"HTTP/1.1 200"
}

#[test]
fn a_client_that_never_reads_is_dropped_and_its_place_is_free_again() {
    let (frame, silence) = (Duration::from_millis(1), Duration::from_millis(300));
    let (to, token, end, thread) = start(Limits { connections: 1, silence, frame });
    let mut stream = ask(to, &format!("/events?{token}"));
    let mut start = [0; 12];
    stream.read_exact(&mut start).expect("frames begin");
    // The place is taken while the client reads; then its buffers fill, and it is dropped.
    assert!(!is_served(to), "there is one place");
    let since = Instant::now();
    while !is_served(to) {
        assert!(since.elapsed() < Duration::from_secs(60), "the place is free again");
        std::thread::yield_now();
    }
    drop((end, stream));
    thread.join().expect("it ends");
}

#[test]
fn an_idle_connection_and_half_a_request_are_dropped() {
    let (frame, silence) = (Duration::from_millis(10), Duration::from_millis(200));
    let (to, _, end, thread) = start(Limits { connections: 4, silence, frame });
    for sent in ["", "GET / HT", "POST /do HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nst"] {
        let mut stream = TcpStream::connect(to).expect("it listens");
        stream.write_all(sent.as_bytes()).expect("it takes a part");
        // The end comes by itself: without it, this waits for ever.
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
    }
    drop(end);
    thread.join().expect("it ends");
}
