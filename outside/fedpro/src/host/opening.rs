//! How a session begins, and how a client comes back to it along another connection.

use std::time::Duration;

use bytes::{BufMut, BytesMut};
use paceline_rti::Client;

use super::{Activity, Connection, Held, Host, Member, Outside};
use crate::frame::{Frame, Kind};
use crate::session::{ResumeError, Session, SessionId};

/// The version of the protocol that is spoken.
const VERSION: u32 = 1;
/// To a client that asks for another version.
const UNSUPPORTED_VERSION: u32 = 1;
/// To a client that names a session that is not there.
const INVALID_SESSION: u32 = 1;
/// To a client that is refused for another reason. Beside 0, 1 and 2 some clients know this one only.
const OTHER_REASON: u32 = 99;

impl<O: Outside> Host<O> {
    /// Tells a client that has no session why not.
    fn refuse(&mut self, connection: Connection, kind: Kind, body: &[u32]) {
        let mut bytes = BytesMut::new();
        body.iter().for_each(|number| bytes.put_u32(*number));
        let frame = Frame { number: Some(1), session: 0, last_received: None, kind, body: bytes.freeze() };
        let link = self.links.get_mut(&connection).expect("a frame came along it");
        frame.write(&mut link.out);
        self.close(connection);
    }

    pub(super) fn open(&mut self, connection: Connection, frame: &Frame) {
        let version = frame.body.first_chunk().map(|version| u32::from_be_bytes(*version));
        if version != Some(VERSION) {
            self.outside.log(&format!("a client speaks version {version:?}, {VERSION} is spoken here"));
            return self.refuse(connection, Kind::NewSessionStatus, &[UNSUPPORTED_VERSION]);
        }
        let from = self.links[&connection].from;
        let limit = self.limits.sessions_per_address;
        if self.sessions.values().filter(|member| member.from == from).count() >= limit {
            self.log(&format!("{from} is refused: sessions-per-address={limit} is reached"));
            return self.refuse(connection, Kind::NewSessionStatus, &[OTHER_REASON]);
        }
        // Until the number is free; 0 stands for no session.
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
        link.reader.set_limit(self.limits.frame_bytes);
        let opened = Session::open(session, &mut link.out);
        let member = Member {
            session: opened,
            client,
            link: Some(connection),
            lost_at: Duration::ZERO,
            from,
            held: Held::default(),
            activity: Activity::new(self.now),
            unanswered: 0,
            is_waited_for: false,
        };
        self.sessions.insert(session, member);
        self.clients.insert(client, session);
        let host = from.to_string();
        self.record_origin(client, &host);
        self.rti.set_host(client, &host);
        self.ready.insert(connection);
    }

    pub(super) fn resume(&mut self, connection: Connection, frame: &Frame) {
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
        link.reader.set_limit(self.limits.frame_bytes);
        let resumed = member.session.resume(&frame.body, &mut link.out);
        self.ready.insert(connection);
        if let Some(link) = old.and_then(|old| self.links.get_mut(&old)) {
            link.session = None;
        }
        old.into_iter().for_each(|old| self.close(old));
        self.note_acknowledged(session);
        // What is missing cannot be sent again: the client is told so, and its federate resigns.
        if let Err(error) = resumed {
            self.refuse(connection, Kind::ResumeStatus, &[ResumeError::STATUS, 1 << 31]);
            self.fail(connection, &error.to_string());
        }
    }
}
