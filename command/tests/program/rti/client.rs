//! A client of the Federate Protocol that makes one call after the other.

use std::io::{Read, Write};
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
}

impl Client {
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
        let mut reader = FrameReader::default();
        reader.set_limit(FRAME_MAX);
        let callbacks = Vec::new();
        let mut client =
            Self { stream, reader, session: 0, number: 0, response: None, callbacks, is_terminated: false };
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
        let size = self.stream.read(&mut chunk).expect("it answers in time");
        self.reader.push(&chunk[..size]);
        while let Some(frame) = self.reader.next_frame().expect("frames") {
            self.session = frame.session;
            match frame.kind {
                Kind::CallResponse => {
                    self.response = CallResponse::decode(frame.body.slice(4..)).expect("a response").response;
                }
                Kind::CallbackRequest => {
                    self.callbacks.extend(CallbackRequest::decode(frame.body).expect("one").callback);
                }
                kind => self.is_terminated |= kind == Kind::SessionTerminated,
            }
        }
        size > 0
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
