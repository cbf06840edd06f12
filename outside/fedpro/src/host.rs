//! The infrastructure behind sessions: what comes along connections becomes calls, and answers and callbacks
//! go to those that they are for. Still without sockets and clocks: bytes and times are handed in.
//!
//! Invariants: a session has one connection at most; every call is answered once, before the callbacks that
//! it causes; what breaks a rule ends its own session only.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use paceline_hla::{Call, CallResponse, Callback, CallbackRequest};
use paceline_rti::{Client, Rti};

use crate::frame::{FRAME_MAX, Frame, FrameReader, Kind};
use crate::session::{Received, ResumeError, Session, SessionId};

mod modules;

/// The version of the protocol that is spoken.
const VERSION: u32 = 1;
/// To a client that asks for another version.
const UNSUPPORTED_VERSION: u32 = 1;
/// To a client that names a session that is not there.
const INVALID_SESSION: u32 = 1;

/// A connection. Numbers are the caller's, and not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Connection(pub usize);

/// What a host needs of the system that it runs on.
pub trait Outside {
    /// A number that nobody can guess.
    fn random(&mut self) -> u64;
    /// The module of this name, from where modules may be. Whatever else a name says, nothing else is read.
    fn module(&mut self, name: &str) -> Option<Bytes>;
    /// A line for whoever runs the host.
    fn log(&mut self, line: &str);
}

#[derive(Debug, Default)]
struct Link {
    reader: FrameReader,
    session: Option<SessionId>,
    out: BytesMut,
    /// It is closed once `out` is written.
    is_ending: bool,
}

#[derive(Debug)]
struct Member {
    session: Session,
    client: Client,
    link: Option<Connection>,
    /// When its connection was lost.
    lost_at: Duration,
}

/// All sessions, and the federations that they have joined.
#[derive(Debug)]
pub struct Host<O> {
    outside: O,
    rti: Rti,
    links: BTreeMap<Connection, Link>,
    sessions: BTreeMap<SessionId, Member>,
    clients: BTreeMap<Client, SessionId>,
    last_client: u32,
    /// Connections that have something to write, or are to be closed.
    ready: BTreeSet<Connection>,
    /// How long a session is kept without a connection.
    patience: Duration,
}

impl<O: Outside> Host<O> {
    /// A host without connections, which keeps sessions without one for `patience`.
    pub fn new(outside: O, patience: Duration) -> Self {
        Self {
            outside,
            rti: Rti::default(),
            links: BTreeMap::new(),
            sessions: BTreeMap::new(),
            clients: BTreeMap::new(),
            last_client: 0,
            ready: BTreeSet::new(),
            patience,
        }
    }

    /// A line for whoever runs the host.
    pub(crate) fn log(&mut self, line: &str) {
        self.outside.log(line);
    }

    /// Somebody has connected.
    pub fn connect(&mut self, connection: Connection) {
        self.links.insert(connection, Link::default());
    }

    /// Connections that have something to write, or are to be closed.
    pub fn take_ready(&mut self) -> BTreeSet<Connection> {
        std::mem::take(&mut self.ready)
    }

    /// What is to be written to a connection, and whether it is to be closed then; nothing if it is gone.
    pub fn take_output(&mut self, connection: Connection) -> Option<(BytesMut, bool)> {
        let link = self.links.get_mut(&connection)?;
        Some((std::mem::take(&mut link.out), link.is_ending))
    }

    /// A connection is lost, or closed. Its session goes on without one.
    pub fn lose(&mut self, connection: Connection, now: Duration) {
        let link = self.links.remove(&connection);
        let Some(session) = link.and_then(|link| link.session) else { return };
        if let Some(member) = self.sessions.get_mut(&session).filter(|member| member.link == Some(connection))
        {
            (member.link, member.lost_at) = (None, now);
        }
    }

    /// Ends the sessions that have been without a connection for too long.
    pub fn expire(&mut self, now: Duration) {
        let is_late =
            |member: &Member| member.link.is_none() && now.saturating_sub(member.lost_at) >= self.patience;
        let late = self.sessions.iter().filter(|(_, member)| is_late(member));
        for session in late.map(|(session, _)| *session).collect::<Vec<_>>() {
            self.outside.log("a client did not come back");
            self.end(session);
        }
    }

    /// Takes in what has come along a connection.
    pub fn receive(&mut self, connection: Connection, bytes: &[u8]) {
        let Some(link) = self.links.get_mut(&connection) else { return };
        link.reader.push(bytes);
        // A frame may end the link, or move its session elsewhere: then nothing behind it is handled.
        while let Some(link) = self.links.get_mut(&connection).filter(|link| !link.is_ending) {
            match link.reader.next_frame() {
                Ok(Some(frame)) => self.take_frame(connection, frame),
                Ok(None) => return,
                Err(error) => self.fail(connection, &error.to_string()),
            }
        }
    }

    /// Ends all sessions: each client hears why, as far as it is connected. Returns how many there were.
    pub fn end_all(&mut self, reason: &str) -> usize {
        let mut callbacks = Vec::new();
        self.rti.disconnect_all(reason, &mut callbacks);
        self.hand_out(callbacks);
        let sessions: Vec<SessionId> = self.sessions.keys().copied().collect();
        sessions.iter().for_each(|session| self.with_output(*session, Session::terminate));
        (self.sessions, self.clients) = (BTreeMap::new(), BTreeMap::new());
        self.links.keys().copied().collect::<Vec<_>>().into_iter().for_each(|link| self.close(link));
        sessions.len()
    }

    fn take_frame(&mut self, connection: Connection, frame: Frame) {
        match (self.links[&connection].session, frame.kind) {
            (Some(session), _) => self.take_session_frame(connection, session, frame),
            (None, Kind::NewSession) => self.open(connection, &frame),
            (None, Kind::ResumeRequest) => self.resume(connection, &frame),
            (None, kind) => self.fail(connection, &format!("{kind:?} comes before a session")),
        }
    }

    /// Ends a connection that breaks a rule, and its session.
    fn fail(&mut self, connection: Connection, reason: &str) {
        self.outside.log(&format!("a connection is closed: {reason}"));
        let session = self.links.get(&connection).and_then(|link| link.session);
        self.close(connection);
        session.into_iter().for_each(|session| self.end(session));
    }

    fn close(&mut self, connection: Connection) {
        if let Some(link) = self.links.get_mut(&connection) {
            link.is_ending = true;
            self.ready.insert(connection);
        }
    }

    /// Forgets a session; its federate resigns.
    fn end(&mut self, session: SessionId) {
        let Some(member) = self.sessions.remove(&session) else { return };
        self.clients.remove(&member.client);
        let mut callbacks = Vec::new();
        self.rti.remove(member.client, &mut callbacks);
        self.hand_out(callbacks);
    }

    /// Tells a client that has no session why not.
    fn refuse(&mut self, connection: Connection, kind: Kind, body: &[u32]) {
        let mut bytes = BytesMut::new();
        body.iter().for_each(|number| bytes.put_u32(*number));
        let frame = Frame { number: Some(1), session: 0, last_received: None, kind, body: bytes.freeze() };
        let link = self.links.get_mut(&connection).expect("a frame came along it");
        frame.write(&mut link.out);
        self.close(connection);
    }

    fn open(&mut self, connection: Connection, frame: &Frame) {
        let version = frame.body.first_chunk().map(|version| u32::from_be_bytes(*version));
        if version != Some(VERSION) {
            self.outside.log(&format!("a client speaks version {version:?}, {VERSION} is spoken here"));
            return self.refuse(connection, Kind::NewSessionStatus, &[UNSUPPORTED_VERSION]);
        }
        let session = loop {
            let id = SessionId(self.outside.random());
            if id.0 != 0 && !self.sessions.contains_key(&id) {
                break id;
            }
        };
        self.last_client += 1;
        let client = Client(self.last_client);
        let link = self.links.get_mut(&connection).expect("a frame came along it");
        link.session = Some(session);
        link.reader.set_limit(FRAME_MAX);
        let opened = Session::open(session, &mut link.out);
        let member = Member { session: opened, client, link: Some(connection), lost_at: Duration::ZERO };
        self.sessions.insert(session, member);
        self.clients.insert(client, session);
        self.ready.insert(connection);
    }

    fn resume(&mut self, connection: Connection, frame: &Frame) {
        let session = SessionId(frame.session);
        let Some(member) = self.sessions.get_mut(&session) else {
            self.outside.log("a client comes back to a session that is not there");
            return self.refuse(connection, Kind::ResumeStatus, &[INVALID_SESSION, 1 << 31]);
        };
        // The old connection may not be known to be lost. What is still buffered there comes again along this
        // one.
        let old = member.link.replace(connection);
        let link = self.links.get_mut(&connection).expect("a frame came along it");
        link.session = Some(session);
        link.reader.set_limit(FRAME_MAX);
        let resumed = member.session.resume(&frame.body, &mut link.out);
        self.ready.insert(connection);
        if let Some(link) = old.and_then(|old| self.links.get_mut(&old)) {
            link.session = None;
        }
        old.into_iter().for_each(|old| self.close(old));
        if let Err(error) = resumed {
            self.refuse(connection, Kind::ResumeStatus, &[ResumeError::STATUS, 1 << 31]);
            self.fail(connection, &error.to_string());
        }
    }

    fn take_session_frame(&mut self, connection: Connection, session: SessionId, frame: Frame) {
        let member = self.sessions.get_mut(&session).expect("a link has a session that is there");
        let link = self.links.get_mut(&connection).expect("a frame came along it");
        match member.session.receive(frame, &mut link.out) {
            Ok(Received::Call { number, call }) => self.answer(session, number, call.call),
            Ok(Received::Ended) => {
                self.close(connection);
                self.end(session);
            }
            Ok(Received::CallbackHandled | Received::Nothing) => {
                self.ready.insert(connection);
            }
            Err(error) => self.fail(connection, &error.to_string()),
        }
    }

    fn answer(&mut self, session: SessionId, number: u32, call: Option<Call>) {
        let client = self.sessions[&session].client;
        let mut callbacks = Vec::new();
        let response = match call {
            Some(mut call) => {
                self.open_modules(&mut call);
                self.rti.call(client, call, &mut callbacks)
            }
            None => Rti::unknown_call(),
        };
        let response = CallResponse { response: Some(response) };
        self.with_output(session, |session, out| session.respond(number, &response, out));
        self.hand_out(callbacks);
    }

    /// Writes something of a session, to its connection if it has one; all of it is kept.
    fn with_output(&mut self, session: SessionId, write: impl FnOnce(&mut Session, &mut BytesMut)) {
        let Some(member) = self.sessions.get_mut(&session) else { return };
        match member.link.and_then(|link| self.links.get_mut(&link).map(|found| (link, found))) {
            Some((connection, link)) => {
                write(&mut member.session, &mut link.out);
                self.ready.insert(connection);
            }
            None => write(&mut member.session, &mut BytesMut::new()),
        }
    }

    fn hand_out(&mut self, callbacks: Vec<(Client, Callback)>) {
        for (client, callback) in callbacks {
            let Some(session) = self.clients.get(&client).copied() else { continue };
            let request = CallbackRequest { callback: Some(callback) };
            self.with_output(session, |session, out| session.call_back(&request, out));
        }
    }
}
