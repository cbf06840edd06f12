//! Any bytes as what a client of the run-time infrastructure sends, in any pieces: its session goes on or is
//! ended with a reason, and another client is served as before.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use paceline_fedpro::{Connection, Frame, Host, Kind, Outside};
use paceline_hla::{Bytes, CallRequest, Message, request};

/// A system that gives the sessions known numbers.
#[derive(Debug, Default)]
struct Known(u64);

impl Outside for Known {
    fn random(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }

    fn module(&mut self, _name: &str) -> Option<Bytes> {
        None
    }

    fn log(&mut self, line: &str) {
        assert!(!line.is_empty(), "a reason says something");
    }
}

fn frame(number: u32, session: u64, kind: Kind, body: Bytes) -> Vec<u8> {
    let mut bytes = Vec::new();
    Frame { number: Some(number), session, last_received: None, kind, body }.write(&mut bytes);
    bytes
}

/// Sends a call of the good client, and tells how many bytes came back.
fn call(host: &mut Host<Known>, number: u32, call: CallRequest) -> usize {
    host.receive(Connection(1), &frame(number, 1, Kind::CallRequest, call.encode_to_vec().into()));
    host.serve();
    host.take_output(Connection(1)).map_or(0, |(out, _)| out.len())
}

fuzz_target!(|input: (bool, Vec<Vec<u8>>)| {
    let (opens, pieces) = input;
    let mut host = Host::new(Known::default(), Duration::from_secs(60));
    let opening = || frame(0, 0, Kind::NewSession, Bytes::from_static(&[0, 0, 0, 1]));
    for connection in [1, 2] {
        host.connect(Connection(connection));
        if opens || connection == 1 {
            host.receive(Connection(connection), &opening());
        }
    }
    assert!(call(&mut host, 1, CallRequest { call: Some(request::Connect {}.into()) }) > 0);
    pieces.iter().for_each(|piece| host.receive(Connection(2), piece));
    host.serve();
    host.take_output(Connection(2));
    host.lose(Connection(2), Duration::ZERO);
    host.expire(Duration::from_secs(60));
    let list = CallRequest { call: Some(request::ListFederationExecutions {}.into()) };
    assert!(call(&mut host, 2, list) > 0, "it is still served");
});
