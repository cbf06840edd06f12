//! A client of the Federate Protocol that makes one call after the other, and answers callbacks.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use paceline_fedpro::{FRAME_MAX, Frame, FrameReader, Kind};
use paceline_hla::{Bytes, Call, CallRequest, CallResponse, Callback, CallbackRequest, Message, Response};

pub struct Client {
    stream: TcpStream,
    reader: FrameReader,
    pub session: u64,
    number: u32,
    response: Option<Response>,
    pub callbacks: Vec<Callback>,
    pub is_terminated: bool,
    polls: bool,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_nodelay(true).expect("it is a socket of TCP");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
        let mut reader = FrameReader::default();
        reader.set_limit(FRAME_MAX);
        let callbacks = Vec::new();
        let mut client = Self {
            stream,
            reader,
            session: 0,
            number: 0,
            response: None,
            callbacks,
            is_terminated: false,
            polls: false,
        };
        client.send(Kind::NewSession, Bytes::from_static(&[0, 0, 0, 1]));
        while client.session == 0 {
            assert!(client.receive(), "a session is opened");
        }
        client
    }

    fn send(&mut self, kind: Kind, body: Bytes) {
        let (number, session) = (Some(self.number), self.session);
        self.number += 1;
        let mut bytes = Vec::new();
        Frame { number, session, last_received: None, kind, body }.write(&mut bytes);
        self.stream.write_all(&bytes).expect("it reads");
    }

    /// Takes in what comes next; false at the end.
    fn receive(&mut self) -> bool {
        let mut chunk = [0; 4096];
        let size = match self.stream.read(&mut chunk) {
            // Only where the socket does not block.
            Err(error) if error.kind() == ErrorKind::WouldBlock && self.polls => return true,
            result => result.expect("it answers in time"),
        };
        self.reader.push(&chunk[..size]);
        let mut unanswered = Vec::new();
        while let Some(frame) = self.reader.next_frame().expect("frames") {
            self.session = frame.session;
            match frame.kind {
                Kind::CallResponse => {
                    self.response = CallResponse::decode(frame.body.slice(4..)).expect("a response").response;
                }
                Kind::CallbackRequest => {
                    unanswered.extend(frame.number);
                    self.callbacks.extend(CallbackRequest::decode(frame.body).expect("one").callback);
                }
                kind => self.is_terminated |= kind == Kind::SessionTerminated,
            }
        }
        // The last callback may be that the connection is lost: then nobody reads an answer.
        if !self.is_terminated {
            for number in unanswered {
                self.send(Kind::CallbackResponse, Bytes::copy_from_slice(&number.to_be_bytes()));
            }
        }
        size > 0
    }

    /// From now on it never blocks: it polls.
    pub fn poll_from_now_on(&mut self) {
        self.stream.set_nonblocking(true).expect("it is a socket");
        self.polls = true;
    }

    /// Takes in callbacks until there is one that `is_wanted`.
    pub fn evoke_until(&mut self, is_wanted: impl Fn(&Callback) -> bool) {
        while !self.callbacks.drain(..).any(|callback| is_wanted(&callback)) {
            assert!(self.receive(), "it is called back");
        }
    }

    pub fn ask(&mut self, call: impl Into<Call>) -> Response {
        self.send(Kind::CallRequest, CallRequest { call: Some(call.into()) }.encode_to_vec().into());
        loop {
            if let Some(response) = self.response.take() {
                return response;
            }
            assert!(self.receive(), "a call is answered");
        }
    }

    pub fn terminate(mut self) {
        self.send(Kind::TerminateSession, Bytes::new());
        self.read_to_end();
        assert!(self.is_terminated);
    }

    pub fn read_to_end(&mut self) {
        while self.receive() {}
    }
}
