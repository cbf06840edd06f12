//! A client for tests: it keeps what it has sent, and comes back when its connection breaks.

use std::collections::BTreeMap;

use bytes::{BufMut, Bytes, BytesMut};
use paceline_fedpro::{FRAME_MAX, Frame, FrameReader, Kind, Outside};
use paceline_hla::{Call, CallRequest, CallResponse, Callback, CallbackRequest, Message, Response};

/// A system with numbers that are not random, and modules in memory.
#[derive(Debug, Default)]
pub struct Inside {
    pub drawn: u64,
    pub modules: BTreeMap<String, Bytes>,
    /// What was logged.
    pub lines: Vec<String>,
}

/// A module with one interaction class.
const MODULE: &[u8] = br#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2010"><interactions>
<interactionClass><name>HLAinteractionRoot</name><interactionClass><name>Line</name>
<sharing>PublishSubscribe</sharing><transportation>HLAreliable</transportation><order>Receive</order>
</interactionClass></interactionClass></interactions></objectModel>"#;

impl Inside {
    pub fn with_module() -> Self {
        let modules = [("fom.xml".to_owned(), Bytes::from_static(MODULE))].into();
        Self { modules, ..Self::default() }
    }
}

impl Outside for Inside {
    fn random(&mut self) -> u64 {
        self.drawn += 1;
        // 0 comes first, which no session may have.
        self.drawn - 1
    }

    fn module(&mut self, name: &str) -> Option<Bytes> {
        self.modules.get(name).cloned()
    }

    fn log(&mut self, line: &str) {
        self.lines.push(line.to_owned());
    }
}

#[derive(Debug)]
pub struct Client {
    reader: FrameReader,
    pub session: u64,
    sent: Vec<Frame>,
    last_received: Option<u32>,
    /// By the number of the call.
    pub responses: BTreeMap<u32, Response>,
    pub callbacks: Vec<Callback>,
    /// The numbers of callbacks that are not answered.
    unanswered: Vec<u32>,
    /// The last frame that is no response and no callback.
    pub status: Option<Frame>,
}

impl Client {
    /// A client, and what opens its session.
    pub fn open() -> (Self, Vec<u8>) {
        let mut reader = FrameReader::default();
        reader.set_limit(FRAME_MAX);
        let (responses, callbacks) = (BTreeMap::new(), Vec::new());
        let client = Self {
            reader,
            session: 0,
            sent: Vec::new(),
            last_received: None,
            responses,
            callbacks,
            unanswered: Vec::new(),
            status: None,
        };
        let body = Bytes::from_static(&[0, 0, 0, 1]);
        let opening =
            Frame { number: Some(0), session: 0, last_received: None, kind: Kind::NewSession, body };
        let mut bytes = Vec::new();
        opening.write(&mut bytes);
        (client, bytes)
    }

    fn send(&mut self, kind: Kind, body: Bytes) -> (u32, Vec<u8>) {
        let number = self.sent.len() as u32 + 1;
        let (session, last_received) = (self.session, self.last_received);
        let frame = Frame { number: Some(number), session, last_received, kind, body };
        let mut bytes = Vec::new();
        frame.write(&mut bytes);
        self.sent.push(frame);
        (number, bytes)
    }

    /// A call, with its number.
    pub fn call(&mut self, call: impl Into<Call>) -> (u32, Vec<u8>) {
        self.send(Kind::CallRequest, CallRequest { call: Some(call.into()) }.encode_to_vec().into())
    }

    /// Answers all callbacks that have come.
    pub fn answer(&mut self) -> Vec<u8> {
        let numbers = std::mem::take(&mut self.unanswered);
        let answers = numbers.iter().map(|number| number.to_be_bytes().to_vec().into());
        answers.flat_map(|body: Bytes| self.send(Kind::CallbackResponse, body).1).collect()
    }

    /// How many calls it has made.
    pub fn calls(&self) -> usize {
        self.sent.len()
    }

    pub fn terminate(&mut self) -> Vec<u8> {
        self.send(Kind::TerminateSession, Bytes::new()).1
    }

    /// Whatever was half received is lost with the connection; what comes back with a new one.
    pub fn resume(&mut self) -> Vec<u8> {
        self.reader = FrameReader::default();
        self.reader.set_limit(FRAME_MAX);
        let mut body = BytesMut::new();
        body.put_u32(self.last_received.unwrap_or(1 << 31));
        body.put_u32(1);
        let (session, last_received) = (self.session, self.last_received);
        let frame =
            Frame { number: Some(0), session, last_received, kind: Kind::ResumeRequest, body: body.freeze() };
        let mut bytes = Vec::new();
        frame.write(&mut bytes);
        bytes
    }

    /// What is sent again once the answer to a resumption is there.
    pub fn again(&self) -> Vec<u8> {
        let status =
            self.status.as_ref().filter(|status| status.kind == Kind::ResumeStatus).expect("an answer");
        let received = u32::from_be_bytes(*status.body.last_chunk().expect("two numbers"));
        let received = if received == 1 << 31 { 0 } else { received as usize };
        let mut bytes = Vec::new();
        self.sent[received..].iter().for_each(|frame| frame.write(&mut bytes));
        bytes
    }

    /// Takes in what has come.
    pub fn read(&mut self, bytes: &[u8]) {
        self.reader.push(bytes);
        while let Some(mut frame) = self.reader.next_frame().expect("these are frames") {
            if frame.kind != Kind::ResumeStatus {
                assert!(self.last_received < frame.number, "numbers rise");
                self.last_received = frame.number;
            }
            match frame.kind {
                Kind::CallResponse => {
                    let body = frame.body.split_off(4);
                    let number = u32::from_be_bytes(*frame.body.first_chunk().expect("a number"));
                    let response = CallResponse::decode(body).expect("a response").response.expect("one");
                    assert_eq!(self.responses.insert(number, response), None, "a call is answered once");
                }
                Kind::CallbackRequest => {
                    self.unanswered.extend(frame.number);
                    let request = CallbackRequest::decode(frame.body).expect("a callback");
                    self.callbacks.push(request.callback.expect("one"));
                }
                _ => {
                    self.session = frame.session;
                    self.status = Some(frame);
                }
            }
        }
    }
}
