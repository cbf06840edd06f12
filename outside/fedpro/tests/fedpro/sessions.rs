//! Sessions: numbers, what clients send beside the standard, and connections that break.

use bytes::{BufMut, Bytes, BytesMut};
use paceline_fedpro::{
    FRAME_MAX, Frame, FrameReader, Kind, Received, ResumeError, Session, SessionError, SessionId,
};
use paceline_hla::{
    CallRequest, CallResponse, Callback, CallbackRequest, Message, callback, request, response,
};
use proptest::prelude::*;

const ID: SessionId = SessionId(0x1234_5678_9abc_def0);

fn frames(bytes: &[u8]) -> Vec<Frame> {
    let mut reader = FrameReader::default();
    reader.set_limit(FRAME_MAX);
    reader.push(bytes);
    std::iter::from_fn(|| reader.next_frame().expect("these are frames")).collect()
}

fn frame(kind: Kind, number: u32, last_received: Option<u32>, body: impl Into<Bytes>) -> Frame {
    Frame { number: Some(number), session: ID.0, last_received, kind, body: body.into() }
}

fn call() -> Bytes {
    CallRequest { call: Some(request::QueryGALT {}.into()) }.encode_to_vec().into()
}

fn answer() -> CallResponse {
    CallResponse { response: Some(response::QueryGALT { result: None }.into()) }
}

fn callback_with(text: u32) -> CallbackRequest {
    CallbackRequest {
        callback: Some(callback::ConnectionLost { fault_description: text.to_string() }.into()),
    }
}

fn resume_body(last_received: u32, oldest: u32) -> Bytes {
    let mut body = BytesMut::new();
    body.put_u32(last_received);
    body.put_u32(oldest);
    body.freeze()
}

#[test]
fn the_first_frame_has_number_one_and_each_later_one_is_one_more() {
    let mut out = BytesMut::new();
    let mut session = Session::open(ID, &mut out);
    let received = session.receive(frame(Kind::CallRequest, 1, Some(1), call()), &mut out).expect("a call");
    assert!(matches!(received, Received::Call { number: 1, .. }));
    session.call_back(&callback_with(0), &mut out);
    session.respond(1, &answer(), &mut out);
    session.receive(frame(Kind::Heartbeat, 2, Some(1), Bytes::new()), &mut out).expect("a heartbeat");
    let sent = frames(&out);
    let kinds = [Kind::NewSessionStatus, Kind::CallbackRequest, Kind::CallResponse, Kind::HeartbeatResponse];
    for (place, (sent, kind)) in sent.iter().zip(kinds).enumerate() {
        assert_eq!((sent.number, sent.kind, sent.session), (Some(place as u32 + 1), kind, ID.0));
    }
    assert_eq!(sent[0].body, &[0, 0, 0, 0][..]);
    assert_eq!(sent[2].body[..4], [0, 0, 0, 1], "a response begins with the number of its call");
    assert_eq!(CallResponse::decode(&sent[2].body[4..]), Ok(answer()));
    assert_eq!(sent[3].body, &[0, 0, 0, 2][..]);
    assert_eq!(sent[3].last_received, Some(1), "heartbeats do not count");
}

#[test]
fn what_arrived_is_not_kept() {
    let mut out = BytesMut::new();
    let mut session = Session::open(ID, &mut out);
    (0..3).for_each(|text| session.call_back(&callback_with(text), &mut out));
    let all = session.kept_bytes();
    session
        .receive(frame(Kind::CallbackResponse, 1, Some(3), Bytes::new()), &mut out)
        .expect("it may be empty");
    assert_eq!(session.kept_bytes(), all / 3);
    session.receive(frame(Kind::Heartbeat, 2, Some(2), Bytes::new()), &mut out).expect("an old number");
    session.receive(frame(Kind::Heartbeat, 3, None, Bytes::new()), &mut out).expect("no number");
    assert_eq!(session.kept_bytes(), all / 3);
    let mut again = BytesMut::new();
    let error = session.resume(&resume_body(2, 0), &mut again).expect_err("number 3 is gone");
    assert_eq!(error, ResumeError::NotKept { last_received: Some(2), forgotten: Some(3), sent: 6 });
    session.resume(&resume_body(9, 0), &mut again).expect_err("number 9 was not sent");
    session.resume(&resume_body(1 << 31, 0), &mut again).expect_err("it has received nothing");
    assert_eq!(session.resume(&Bytes::from_static(b"1"), &mut again), Err(ResumeError::Short { size: 1 }));
    assert!(again.is_empty());
    session.resume(&resume_body(3, 0), &mut again).expect("number 4 is there");
    let again = frames(&again);
    assert_eq!((again[0].kind, again[0].body.as_ref()), (Kind::ResumeStatus, &[0, 0, 0, 0, 0, 0, 0, 1][..]));
    assert_eq!(again[1..].iter().map(|frame| frame.number).collect::<Vec<_>>(), [Some(4)]);
}

#[test]
fn a_callback_that_was_handled_has_arrived_with_all_before_it() {
    let mut out = BytesMut::new();
    let mut session = Session::open(ID, &mut out);
    (0..4).for_each(|text| session.call_back(&callback_with(text), &mut out));
    let each = session.kept_bytes() / 4;
    let mut kept_after = |number, last_received, body: &'static [u8]| {
        let response = frame(Kind::CallbackResponse, number, last_received, Bytes::from_static(body));
        session.receive(response, &mut out).expect("a response");
        session.kept_bytes() / each
    };
    assert_eq!(kept_after(1, None, &[0, 0, 0, 3]), 2, "the body names 3, the second callback");
    assert_eq!(kept_after(4, Some(1), &[]), 2, "that is its own number");
    assert_eq!(kept_after(99, Some(0), &[]), 2, "that was never sent");
    assert_eq!(kept_after(4, Some(0), &[]), 1, "some put the callback's number into the header");
}

#[test]
fn a_session_ends_by_either_type() {
    for (kind, answer) in [
        (Kind::TerminateSession, Kind::SessionTerminated),
        (Kind::SessionTerminated, Kind::OtherSessionTerminated),
    ] {
        let mut out = BytesMut::new();
        let mut session = Session::open(ID, &mut out);
        assert_eq!(session.receive(frame(kind, 1, None, Bytes::new()), &mut out), Ok(Received::Ended));
        assert_eq!(frames(&out).last().map(|frame| frame.kind), Some(answer));
    }
}

#[test]
fn frames_that_make_no_sense_are_refused() {
    let mut out = BytesMut::new();
    let mut session = Session::open(ID, &mut out);
    let before = out.len();
    let foreign = Frame { session: 7, ..frame(Kind::CallRequest, 1, None, call()) };
    assert_eq!(session.receive(foreign, &mut out), Err(SessionError::Foreign));
    for kind in [Kind::NewSession, Kind::ResumeRequest, Kind::CallResponse, Kind::CallbackRequest] {
        assert_eq!(session.receive(frame(kind, 1, None, call()), &mut out), Err(SessionError::Kind { kind }));
    }
    let nameless = Frame { number: None, ..frame(Kind::CallRequest, 1, None, call()) };
    assert_eq!(session.receive(nameless, &mut out), Err(SessionError::NoNumber));
    let broken = frame(Kind::CallRequest, 1, None, Bytes::from_static(&[0x0a, 0xff]));
    assert!(matches!(session.receive(broken, &mut out), Err(SessionError::Call { number: 1, .. })));
    assert_eq!(out.len(), before);
    assert_eq!(format!("{ID:?}"), "SessionId(..)", "whoever reads a log does not learn it");
}

/// A client that keeps what it has sent, over connections that break.
#[derive(Default)]
struct Client {
    sent: Vec<Frame>,
    last_received: Option<u32>,
    answered: Vec<u32>,
    called_back: Vec<String>,
}

impl Client {
    fn read(&mut self, bytes: &[u8]) {
        for frame in frames(bytes) {
            match frame.kind {
                Kind::CallResponse => {
                    self.answered.push(u32::from_be_bytes(*frame.body.first_chunk().expect("a number")));
                }
                Kind::CallbackRequest => {
                    let request = CallbackRequest::decode(frame.body).expect("a callback");
                    let Some(Callback::ConnectionLost(lost)) = request.callback else {
                        panic!("none was sent")
                    };
                    self.called_back.push(lost.fault_description);
                }
                _ => {}
            }
            // The answer to a resumption has no number of its own.
            if frame.kind != Kind::ResumeStatus {
                self.last_received = frame.number;
            }
        }
    }
}

proptest! {
    /// Whatever is lost with a connection, each call is handled and answered once, and each callback comes
    /// once, in order.
    #[test]
    fn nothing_is_lost_or_doubled(
        rounds in prop::collection::vec((0..5_usize, 0..4_u32, 0..6_usize, 0..10_usize), 1..12),
    ) {
        let mut out = BytesMut::new();
        let mut session = Session::open(ID, &mut out);
        let (mut client, mut handled, mut texts) = (Client::default(), Vec::new(), 0);
        client.read(&out);
        let end = (0, 0, usize::MAX, usize::MAX);
        for (calls, callbacks, arrive, come_back) in rounds.into_iter().chain([end, end]) {
            for _ in 0..calls {
                let number = client.sent.len() as u32 + 1;
                client.sent.push(frame(Kind::CallRequest, number, client.last_received, call()));
            }
            // A new connection: the client has all that was received sent again, and sends the rest itself.
            let mut out = BytesMut::new();
            let last = client.last_received.expect("the opening has a number");
            session.resume(&resume_body(last, 1), &mut out).expect("all that may be wanted is kept");
            let status = &frames(&out)[0];
            let received = u32::from_be_bytes(*status.body.last_chunk().expect("two numbers"));
            let received = if received == 1 << 31 { 0 } else { received as usize };
            for frame in client.sent.iter().skip(received).take(arrive) {
                let frame = Frame { last_received: client.last_received, ..frame.clone() };
                let Ok(Received::Call { number, .. }) = session.receive(frame, &mut out) else { panic!("a call") };
                handled.push(number);
                session.respond(number, &answer(), &mut out);
            }
            for _ in 0..callbacks {
                session.call_back(&callback_with(texts), &mut out);
                texts += 1;
            }
            // Only the first of what was written comes back before the connection breaks.
            let whole: Vec<Frame> = frames(&out).into_iter().take(come_back).collect();
            let mut bytes = Vec::new();
            whole.iter().for_each(|frame| frame.write(&mut bytes));
            client.read(&bytes);
        }
        let all: Vec<u32> = (1..=client.sent.len() as u32).collect();
        prop_assert_eq!(&handled, &all);
        prop_assert_eq!(&client.answered, &all);
        let texts: Vec<String> = (0..texts).map(|text| text.to_string()).collect();
        prop_assert_eq!(&client.called_back, &texts);
    }
}
