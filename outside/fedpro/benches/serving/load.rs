//! Federates on one thread: each has a socket, and all are polled together.

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use paceline_hla::{Bytes, Call, Callback, LogicalTime, LogicalTimeInterval, Response, request};

use crate::client::Client;

/// How long the server may be silent.
const PATIENCE: Duration = Duration::from_secs(60);
pub const FEDERATION: &str = "F";

struct Federate {
    client: Client,
    stream: TcpStream,
    /// The time that it has asked for last.
    time: i64,
    /// Times that it was granted.
    granted: u64,
}

pub struct Load {
    poll: Poll,
    events: Events,
    federates: Vec<Federate>,
}

impl Federate {
    fn send(&mut self, bytes: &[u8]) {
        // Frames are short, and the server reads all the time: a socket has room for them.
        self.stream.write_all(bytes).expect("the server reads");
    }

    fn call(&mut self, call: impl Into<Call>) -> u32 {
        let (number, bytes) = self.client.call(call);
        self.send(&bytes);
        number
    }

    /// Takes in what has come, and answers callbacks. Returns how many grants were among it.
    fn take_in(&mut self) -> u64 {
        let mut chunk = [0; 16 << 10];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => panic!("the server has closed the connection"),
                Ok(size) => self.client.read(&chunk[..size]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => panic!("{error}"),
            }
        }
        let is_grant = |callback: &Callback| matches!(callback, Callback::TimeAdvanceGrant(_));
        let granted = self.client.callbacks.drain(..).filter(is_grant).count() as u64;
        self.granted += granted;
        // What is answered is not looked at again.
        self.client.responses.clear();
        let answers = self.client.answer();
        self.send(&answers);
        granted
    }

    fn ask_for_next_step(&mut self) {
        self.time += 1;
        let time = Some(LogicalTime { data: Bytes::copy_from_slice(&self.time.to_be_bytes()) });
        self.call(request::TimeAdvanceRequest { time });
    }
}

impl Load {
    /// Connects so many clients, each with a session of its own; nobody has joined yet.
    pub fn open(address: SocketAddr, sessions: usize) -> Self {
        let poll = Poll::new().expect("the system can wait");
        let events = Events::with_capacity(1024);
        let mut load = Self { poll, events, federates: Vec::new() };
        for number in 0..sessions {
            let stream = std::net::TcpStream::connect(address).expect("it listens");
            stream.set_nodelay(true).expect("it is a socket of TCP");
            stream.set_nonblocking(true).expect("it is a socket");
            let mut stream = TcpStream::from_std(stream);
            load.poll
                .registry()
                .register(&mut stream, Token(number), Interest::READABLE)
                .expect("there is room");
            let (client, opening) = Client::open();
            let mut federate = Federate { client, stream, time: 0, granted: 0 };
            federate.send(&opening);
            load.federates.push(federate);
            load.wait(number, |client| client.session != 0);
        }
        load
    }

    /// Waits for something, and takes in what has come for all. Those that were granted are `next`.
    fn turn(&mut self, mut next: impl FnMut(&mut Federate)) {
        let Self { poll, events, federates } = self;
        match poll.poll(events, Some(PATIENCE)) {
            Err(error) if error.kind() == ErrorKind::Interrupted => return,
            result => result.expect("it can wait"),
        }
        assert!(!events.is_empty(), "the server is silent");
        for event in &*events {
            let federate = &mut federates[event.token().0];
            if federate.take_in() > 0 {
                next(federate);
            }
        }
    }

    fn wait(&mut self, number: usize, is_there: impl Fn(&Client) -> bool) {
        while !is_there(&self.federates[number].client) {
            self.turn(|_| {});
        }
    }

    /// Makes a call, and waits for its answer.
    fn ask(&mut self, number: usize, call: impl Into<Call>) {
        let federate = &mut self.federates[number];
        let call_number = federate.call(call);
        // Answers are forgotten as they are taken in, so this one is looked for in what has come.
        let mut chunk = [0; 16 << 10];
        loop {
            match federate.stream.read(&mut chunk) {
                Ok(0) => panic!("the server has closed the connection"),
                Ok(size) => federate.client.read(&chunk[..size]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    drop(self.poll.poll(&mut self.events, Some(Duration::from_millis(1))));
                }
                Err(error) => panic!("{error}"),
            }
            if let Some(response) = federate.client.responses.remove(&call_number) {
                assert!(!matches!(response, Response::Exception(_)), "{response:?}");
                return;
            }
        }
    }

    /// Lets all join one federation. They do nothing there.
    pub fn join(&mut self) {
        for number in 0..self.federates.len() {
            self.ask(number, request::Connect {});
            if number == 0 {
                self.ask(
                    0,
                    request::CreateFederationExecutionWithModulesAndTime {
                        federation_name: FEDERATION.to_owned(),
                        logical_time_implementation_name: "HLAinteger64Time".to_owned(),
                        ..Default::default()
                    },
                );
            }
            let (federate_type, federation_name) = ("load".to_owned(), FEDERATION.to_owned());
            self.ask(number, request::JoinFederationExecution { federate_type, federation_name });
        }
    }

    /// Lets all regulate, with a lookahead of 1, and be constrained.
    pub fn manage_time(&mut self) {
        for number in 0..self.federates.len() {
            let lookahead = Some(LogicalTimeInterval { data: Bytes::copy_from_slice(&1_i64.to_be_bytes()) });
            self.ask(number, request::EnableTimeRegulation { lookahead });
            self.ask(number, request::EnableTimeConstrained {});
        }
        // What was called back meanwhile is answered.
        for federate in &mut self.federates {
            federate.take_in();
        }
    }

    /// Lets each federate go so many steps on.
    pub fn advance(&mut self, steps: u64) {
        let end = self.federates[0].granted + steps;
        self.federates.iter_mut().for_each(Federate::ask_for_next_step);
        while self.federates.iter().any(|federate| federate.granted < end) {
            self.turn(|federate| {
                if federate.granted < end {
                    federate.ask_for_next_step();
                }
            });
        }
    }
}
