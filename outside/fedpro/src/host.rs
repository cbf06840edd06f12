//! The infrastructure behind sessions: what comes along connections becomes calls, and answers and callbacks
//! go to those that they are for. Still without sockets and clocks: bytes and times are handed in.
//!
//! What has come is cut into frames at once, and served when all has been taken in: those of federates that
//! are furthest behind in logical time first ([`Waiting`]).
//!
//! Invariants: a session has one connection at most; frames of a connection are served in their order; every
//! call is answered once, before the callbacks that it causes; what breaks a rule ends its own session only.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use paceline_hla::{Call, CallResponse, Callback, CallbackRequest, Response};
use paceline_rti::{Client, Rti};

use crate::frame::{Frame, FrameError, FrameReader, Kind};
use crate::limits::Limits;
use crate::record::Recorder;
use crate::session::{Received, Session, SessionId};

mod modules;
mod observer;
mod opening;
mod password;
mod pressure;
mod recording;
mod status;
mod waiting;

pub use observer::{FederateActivity, FederateObserver, Peer};
pub use password::Password;
pub use status::{HostStatus, MemberStatus};

use observer::Observers;
use pressure::Held;
use status::Activity;
use waiting::Waiting;

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

#[derive(Debug)]
struct Link {
    reader: FrameReader,
    /// What is to be served, each with the number of its arrival. Nothing comes behind an error.
    frames: VecDeque<(u64, Result<Frame, FrameError>)>,
    session: Option<SessionId>,
    out: BytesMut,
    /// It is closed once `out` is written.
    is_ending: bool,
    /// From where it comes.
    from: IpAddr,
    /// Its ends; nothing if it is none of the system's.
    peer: Option<Peer>,
}

#[derive(Debug)]
struct Member {
    session: Session,
    client: Client,
    link: Option<Connection>,
    /// When its connection was lost.
    lost_at: Duration,
    /// From where it was opened.
    from: IpAddr,
    held: Held,
    activity: Activity,
    /// Callbacks that it has not answered yet.
    unanswered: usize,
    /// Whether others may wait until it has acknowledged more.
    is_waited_for: bool,
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
    /// Connections with frames that are to be served.
    waiting: Waiting,
    /// How many frames have come.
    arrived: u64,
    /// Connections that have something to write, or are to be closed.
    ready: BTreeSet<Connection>,
    limits: Limits,
    password: Option<Password>,
    /// Or why it could not be written.
    recorder: Option<io::Result<Recorder>>,
    /// Sessions for which more would wait than may.
    overfull: BTreeSet<SessionId>,
    /// The time that [`Host::set_now`] set last.
    now: Duration,
    /// The time that the infrastructure was given last.
    passed: Duration,
    observers: Observers,
}

impl<O: Outside> Host<O> {
    /// A host without connections, which keeps sessions without one for `patience`.
    pub fn new(outside: O, patience: Duration) -> Self {
        let reconnection_seconds = patience.as_secs() as usize;
        Self::with_limits(outside, Limits { reconnection_seconds, ..Limits::default() })
    }

    /// A host without connections.
    pub fn with_limits(outside: O, limits: Limits) -> Self {
        Self {
            outside,
            rti: Rti::new(limits.of_infrastructure()),
            links: BTreeMap::new(),
            sessions: BTreeMap::new(),
            clients: BTreeMap::new(),
            last_client: 0,
            waiting: Waiting::default(),
            arrived: 0,
            ready: BTreeSet::new(),
            limits,
            password: None,
            recorder: None,
            overfull: BTreeSet::new(),
            now: Duration::ZERO,
            passed: Duration::ZERO,
            observers: Observers::default(),
        }
    }

    /// From now on clients connect with this password.
    pub fn set_password(&mut self, password: Password) {
        self.password = Some(password);
    }

    /// What it has of the system.
    pub fn outside(&self) -> &O {
        &self.outside
    }

    /// What clients may ask for.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// A line for whoever runs the host.
    pub(crate) fn log(&mut self, line: &str) {
        self.outside.log(line);
    }

    /// A client of this process has connected.
    pub fn connect(&mut self, connection: Connection) {
        self.take_link(connection, IpAddr::V4(Ipv4Addr::LOCALHOST), None);
    }

    /// Somebody has connected. False if that address has as many sessions as it may have.
    pub fn connect_from(&mut self, connection: Connection, peer: Peer) -> bool {
        self.take_link(connection, peer.client.ip(), Some(peer))
    }

    fn take_link(&mut self, connection: Connection, from: IpAddr, peer: Option<Peer>) -> bool {
        let sessions = self.sessions.values().filter(|member| member.from == from).count();
        let others = self.links.values().filter(|link| link.session.is_none() && link.from == from).count();
        let limit = self.limits.sessions_per_address;
        // One of them may want to come back along a new connection.
        if sessions + others > limit {
            self.log(&format!("{from} is refused: sessions-per-address={limit} is reached"));
            return false;
        }
        let (reader, frames, out) = (FrameReader::default(), VecDeque::new(), BytesMut::new());
        let link = Link { reader, frames, session: None, out, is_ending: false, from, peer };
        self.links.insert(connection, link);
        true
    }

    /// Whether a session uses this connection.
    pub fn has_session(&self, connection: Connection) -> bool {
        self.links.get(&connection).is_some_and(|link| link.session.is_some())
    }

    /// Says what time it is, on a clock that never goes back.
    pub fn set_now(&mut self, now: Duration) {
        self.now = now;
        self.pass_time();
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
        let patience = self.limits.reconnection();
        let is_late =
            |member: &Member| member.link.is_none() && now.saturating_sub(member.lost_at) >= patience;
        // Collected first: the end of one session changes the list.
        let late = self.sessions.iter().filter(|(_, member)| is_late(member));
        for session in late.map(|(session, _)| *session).collect::<Vec<_>>() {
            self.outside.log("a client did not come back");
            self.end(session);
        }
        self.show_changes();
    }

    /// Ends all sessions: each client hears why, as far as it is connected. Returns how many there were.
    pub fn end_all(&mut self, reason: &str) -> usize {
        let mut callbacks = Vec::new();
        self.rti.disconnect_all(reason, &mut callbacks);
        self.hand_out(callbacks);
        self.sessions.values().for_each(|member| self.observers.touch(member.client));
        self.show_changes();
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
        self.observers.touch(member.client);
        self.record_removal(member.client);
        self.rti.remove(member.client, &mut callbacks);
        self.take_in(member.client, &callbacks);
        self.release(session);
        self.hand_out(callbacks);
    }

    fn take_session_frame(&mut self, connection: Connection, session: SessionId, frame: Frame) {
        let member = self.sessions.get_mut(&session).expect("a link has a session that is there");
        let link = self.links.get_mut(&connection).expect("a frame came along it");
        let received = member.session.receive(frame, &mut link.out);
        if matches!(received, Ok(Received::CallbackHandled)) {
            member.unanswered = member.unanswered.saturating_sub(1);
            self.observers.touch(member.client);
        }
        self.note_acknowledged(session);
        match received {
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
        let is_sending = call.as_ref().is_some_and(Call::is_sending);
        let is_request = call.as_ref().is_some_and(status::is_request);
        let refusal = call.as_ref().zip(self.password.as_ref()).and_then(|(call, it)| it.refusal(call));
        // A call that is refused here is not recorded: the infrastructure never hears of it.
        let response = match (refusal, call) {
            (Some(refusal), _) => {
                self.log("a client has not the right password");
                refusal
            }
            (None, Some(mut call)) => {
                self.open_modules(&mut call);
                self.record_call(client, &mut call);
                let response = self.rti.call(client, call, &mut callbacks);
                self.take_in(client, &callbacks);
                response
            }
            (None, None) => Rti::unknown_call(),
        };
        // One that was refused waits for nothing.
        let is_request = is_request && !matches!(response, Response::Exception(_));
        let member = self.sessions.get_mut(&session).expect("it has called");
        member.activity.note_call(is_request, self.now);
        self.observers.touch(client);
        // Only who sends fills the memory of others; answers to other calls are never held back.
        let waits_for = if is_sending { self.slow_receivers(session, &callbacks) } else { BTreeSet::new() };
        self.answer_after(session, (number, CallResponse { response: Some(response) }), waits_for);
        self.hand_out(callbacks);
    }

    /// Writes something of a session, to its connection if it has one; all of it is kept.
    fn with_output(&mut self, session: SessionId, write: impl FnOnce(&mut Session, &mut BytesMut)) {
        let Some(member) = self.sessions.get_mut(&session) else { return };
        let queued = self.limits.queued_bytes;
        match member.link.and_then(|link| self.links.get_mut(&link).map(|found| (link, found))) {
            Some((connection, link)) => {
                write(&mut member.session, &mut link.out);
                self.ready.insert(connection);
            }
            // Kept by the session, and sent again when the client comes back.
            None => write(&mut member.session, &mut BytesMut::new()),
        }
        if member.session.kept_bytes() > queued {
            self.overfull.insert(session);
        }
    }

    fn hand_out(&mut self, callbacks: Vec<(Client, Callback)>) {
        for (client, callback) in callbacks {
            let Some(session) = self.clients.get(&client).copied() else { continue };
            let member = self.sessions.get_mut(&session).expect("it has a client");
            let is_grant = status::is_grant(&callback);
            member.activity.note_callback(is_grant);
            member.unanswered += 1;
            self.observers.touch(client);
            if let Some(connection) = member.link.filter(|_| is_grant) {
                self.note_grant(connection);
            }
            let request = CallbackRequest { callback: Some(callback) };
            self.with_output(session, |session, out| session.call_back(&request, out));
        }
        // After all callbacks are handed out: to give one up ends its federate, which calls others back.
        while let Some(session) = self.overfull.pop_first() {
            self.give_up(session);
        }
    }

    /// Ends a session that does not take what waits for it.
    fn give_up(&mut self, session: SessionId) {
        let reason = format!("a client does not read: queued-bytes={} is reached", self.limits.queued_bytes);
        match self.sessions.get(&session).map(|member| member.link) {
            Some(Some(connection)) => self.fail(connection, &reason),
            Some(None) => {
                self.log(&reason);
                self.end(session);
            }
            None => {}
        }
    }
}
