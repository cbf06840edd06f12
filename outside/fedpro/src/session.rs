//! A session: the numbers of its frames, what has arrived, and what may have to be sent again.
//!
//! Invariants: the first frame has number 1, and each later one the next number; calls' responses and
//! callbacks are kept until the client has said that they arrived; the number that a client gets when it
//! comes back is that of the last call or callback response that was handled, so that it sends all others
//! again, and no other.

use std::collections::VecDeque;
use std::fmt;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use paceline_hla::{CallRequest, CallResponse, CallbackRequest, DecodeError, Message};
use thiserror::Error;

use crate::frame::{Frame, Kind, read_number};

/// Numbers have 31 bits, and begin again.
const NUMBERS: u32 = 1 << 31;

/// The name of a session. Whoever knows it can take the session over, so it is shown to nobody.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionId(pub u64);

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("SessionId(..)")
    }
}

/// What a frame of a client was.
#[derive(Clone, Debug, PartialEq)]
pub enum Received {
    /// A call, to be answered once by its number.
    Call {
        /// Of the frame.
        number: u32,
        /// What is called.
        call: CallRequest,
    },
    /// The client has handled a callback.
    CallbackHandled,
    /// The client has ended the session; the answer is written.
    Ended,
    /// Nothing that concerns anybody else.
    Nothing,
}

/// A frame that makes no sense. The session cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum SessionError {
    /// It is of another session.
    #[error("a frame names another session")]
    Foreign,
    /// It is one that a server sends, or that opens a connection.
    #[error("a client does not send {kind:?} within a session")]
    Kind { kind: Kind },
    /// A call has no number by which it could be answered.
    #[error("a call has no number")]
    NoNumber,
    /// The body is no call.
    #[error("call {number} cannot be read: {error}")]
    Call { number: u32, error: DecodeError },
}

/// A session that cannot be taken up again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum ResumeError {
    /// The request is shorter than its two numbers.
    #[error("a request to resume has {size} bytes, not 8")]
    Short { size: usize },
    /// The client lacks frames that are not kept any more, or has some that were never sent.
    #[error(
        "the client has received up to {last_received:?}; {forgotten:?} and before is not kept, {sent} was the last"
    )]
    NotKept { last_received: Option<u32>, forgotten: Option<u32>, sent: u32 },
}

impl ResumeError {
    /// The status by which a client learns that its session is not resumed.
    pub const STATUS: u32 = 2;
}

/// One session, along whatever connection its client has.
#[derive(Debug)]
pub struct Session {
    id: SessionId,
    /// The number of the last frame that was sent; 0 before the first.
    sent: u32,
    /// The number of the last call or callback response that was received.
    last_received: Option<u32>,
    /// Frames that may not have arrived, by number, as they were sent.
    kept: VecDeque<(u32, Bytes)>,
    kept_bytes: usize,
    /// The last one that is not kept any more.
    forgotten: Option<u32>,
}

/// How many numbers `later` is behind `earlier`; more than half of all means that it is before it.
fn distance(earlier: u32, later: u32) -> u32 {
    later.wrapping_sub(earlier) % NUMBERS
}

fn is_later(number: u32, than: u32) -> bool {
    (1..NUMBERS / 2).contains(&distance(than, number))
}

impl Session {
    /// A session that is open; `out` gets the frame that says so. `id` is random and not 0.
    pub fn open(id: SessionId, out: &mut BytesMut) -> Self {
        let kept = VecDeque::new();
        let mut session = Self { id, sent: 0, last_received: None, kept, kept_bytes: 0, forgotten: None };
        session.send(Kind::NewSessionStatus, Bytes::from_static(&[0; 4]), out);
        session
    }

    /// Bytes of frames that may not have arrived.
    pub fn kept_bytes(&self) -> usize {
        self.kept_bytes
    }

    fn send(&mut self, kind: Kind, body: Bytes, out: &mut BytesMut) {
        self.sent = (self.sent + 1) % NUMBERS;
        let (number, session, last_received) = (Some(self.sent), self.id.0, self.last_received);
        let start = out.len();
        Frame { number, session, last_received, kind, body }.write(out);
        // Only answers and callbacks are kept: heartbeats and statuses are worth nothing on another
        // connection.
        if kind as u32 >= Kind::CallRequest as u32 {
            let frame = Bytes::copy_from_slice(&out[start..]);
            self.kept_bytes += frame.len();
            self.kept.push_back((self.sent, frame));
        }
    }

    /// The client has received everything up to this number.
    fn forget_up_to(&mut self, number: u32) {
        while let Some((kept, frame)) = self.kept.front()
            && !is_later(*kept, number)
        {
            self.kept_bytes -= frame.len();
            self.forgotten = Some(*kept);
            self.kept.pop_front();
        }
    }

    /// Takes in a frame of the client. What it is answered with at once is added to `out`.
    pub fn receive(&mut self, frame: Frame, out: &mut BytesMut) -> Result<Received, SessionError> {
        if frame.session != self.id.0 {
            return Err(SessionError::Foreign);
        }
        if let Some(number) = frame.last_received {
            self.forget_up_to(number);
        }
        match frame.kind {
            Kind::CallRequest => self.receive_call(&frame),
            Kind::CallbackResponse => {
                // The body has the callback's number, but some clients leave it empty.
                self.note(frame.number);
                // Those put it where their own should be, and say 0 of what they have received: one that
                // makes no calls would never acknowledge anything.
                let named = frame.body.first_chunk().map(|number| u32::from_be_bytes(*number));
                let in_header = frame.number.filter(|_| matches!(frame.last_received, None | Some(0)));
                if let Some(number) = named.or(in_header).filter(|number| !is_later(*number, self.sent)) {
                    self.forget_up_to(number);
                }
                Ok(Received::CallbackHandled)
            }
            Kind::Heartbeat => {
                let mut body = BytesMut::new();
                body.put_u32(frame.number.unwrap_or_default());
                self.send(Kind::HeartbeatResponse, body.freeze(), out);
                Ok(Received::Nothing)
            }
            Kind::HeartbeatResponse => Ok(Received::Nothing),
            Kind::TerminateSession => {
                self.send(Kind::SessionTerminated, Bytes::new(), out);
                Ok(Received::Ended)
            }
            Kind::SessionTerminated => {
                self.send(Kind::OtherSessionTerminated, Bytes::new(), out);
                Ok(Received::Ended)
            }
            kind => Err(SessionError::Kind { kind }),
        }
    }

    /// The last number only rises: some clients repeat numbers for different frames.
    fn note(&mut self, number: Option<u32>) {
        let Some(number) = number else { return };
        if self.last_received.is_none_or(|last| is_later(number, last)) {
            self.last_received = Some(number);
        }
    }

    fn receive_call(&mut self, frame: &Frame) -> Result<Received, SessionError> {
        let number = frame.number.ok_or(SessionError::NoNumber)?;
        let call = CallRequest::decode(frame.body.clone());
        let call = call.map_err(|error| SessionError::Call { number, error })?;
        self.note(Some(number));
        Ok(Received::Call { number, call })
    }

    /// Answers a call.
    pub fn respond(&mut self, number: u32, response: &CallResponse, out: &mut BytesMut) {
        let mut body = BytesMut::with_capacity(4 + response.encoded_len());
        body.put_u32(number);
        response.encode(&mut body).expect("a buffer grows");
        self.send(Kind::CallResponse, body.freeze(), out);
    }

    /// Calls the federate back.
    pub fn call_back(&mut self, callback: &CallbackRequest, out: &mut BytesMut) {
        self.send(Kind::CallbackRequest, callback.encode_to_vec().into(), out);
    }

    /// Ends the session from here.
    pub fn terminate(&mut self, out: &mut BytesMut) {
        self.send(Kind::SessionTerminated, Bytes::new(), out);
    }

    /// The client is back: its request is answered, and whatever it has not received is sent again. The old
    /// connection is closed by then, so that nothing more is received along it.
    pub fn resume(&mut self, body: &Bytes, out: &mut BytesMut) -> Result<(), ResumeError> {
        if body.len() < 8 {
            return Err(ResumeError::Short { size: body.len() });
        }
        let mut body = body.clone();
        // The second number says from where on the client could send again. It keeps whatever was not
        // acknowledged, which is all that is wanted.
        let theirs = read_number(body.get_u32());
        let is_kept = self.forgotten.is_none_or(|gone| theirs.is_some_and(|theirs| !is_later(gone, theirs)));
        if !is_kept || theirs.is_some_and(|theirs| is_later(theirs, self.sent)) {
            return Err(ResumeError::NotKept {
                last_received: theirs,
                forgotten: self.forgotten,
                sent: self.sent,
            });
        }
        if let Some(theirs) = theirs {
            self.forget_up_to(theirs);
        }
        let mut status = BytesMut::with_capacity(8);
        status.put_u32(0);
        status.put_u32(self.last_received.unwrap_or(NUMBERS));
        // It has no number, as it stands outside of what is numbered and kept.
        let (session, last_received) = (self.id.0, self.last_received);
        let body = status.freeze();
        Frame { number: Some(0), session, last_received, kind: Kind::ResumeStatus, body }.write(out);
        self.kept.iter().for_each(|(_, frame)| out.put_slice(frame));
        Ok(())
    }
}
