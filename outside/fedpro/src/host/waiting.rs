//! What has come and is not served yet, and which of it is served next.
//!
//! Of all frames that wait, the next one is that of the federate with the least logical time; of equals, the
//! one that came first. Who has not joined comes before all others. A federate that is behind holds up
//! those that wait for a time, so that its calls are worth more than theirs.
//!
//! Frames that open a session or take it up again are not ordered: they are handled as they come, since
//! what stands behind them depends on them.

use std::collections::{BTreeMap, BTreeSet};

use paceline_rti::LogicalTime;

use super::{Connection, Host, Link, Outside};
use crate::frame::{Frame, FrameError};

/// The place of a connection: the time of its federate, and when its first frame came.
type Place = (Option<LogicalTime>, u64, Connection);

/// Connections with frames, in the order in which they are served.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    order: BTreeSet<Place>,
    places: BTreeMap<Connection, Place>,
}

impl Waiting {
    /// A connection waits with a frame that came as the `arrived`th, for a federate at this time.
    fn insert(&mut self, connection: Connection, time: Option<LogicalTime>, arrived: u64) {
        let place = (time, arrived, connection);
        if let Some(earlier) = self.places.insert(connection, place) {
            self.order.remove(&earlier);
        }
        self.order.insert(place);
    }

    /// Takes out the connection that is served next.
    fn take_first(&mut self) -> Option<Connection> {
        let (.., connection) = self.order.pop_first()?;
        self.places.remove(&connection);
        Some(connection)
    }
}

impl<O: Outside> Host<O> {
    /// Takes in what has come along a connection. Calls are answered by [`Host::serve`].
    pub fn receive(&mut self, connection: Connection, bytes: &[u8]) {
        let is_read = |link: &&mut Link| !link.is_ending && !matches!(link.frames.back(), Some((_, Err(_))));
        let Some(link) = self.links.get_mut(&connection).filter(is_read) else { return };
        link.reader.push(bytes);
        // A frame may end the link, or move its session elsewhere: then nothing behind it is handled.
        while let Some(link) = self.links.get_mut(&connection).filter(is_read) {
            let Some(next) = link.reader.next_frame().transpose() else { return };
            // What opens a session, or takes one up, decides for whom the frames behind it are.
            if link.session.is_none() {
                self.take(connection, next);
                continue;
            }
            self.arrived += 1;
            link.frames.push_back((self.arrived, next));
            // With others before it, the connection has its place already.
            if link.frames.len() == 1 {
                self.wait(connection);
            }
        }
    }

    /// Serves all that has been taken in, least logical time first.
    pub fn serve(&mut self) {
        while let Some(connection) = self.waiting.take_first() {
            // The session may have ended, or moved to another connection, along which the client sends again.
            let link = self.links.get_mut(&connection).filter(|link| !link.is_ending);
            let Some((_, frame)) = link.and_then(|link| link.frames.pop_front()) else { continue };
            self.take(connection, frame);
            self.wait(connection);
        }
        self.show_changes();
    }

    fn take(&mut self, connection: Connection, frame: Result<Frame, FrameError>) {
        match frame {
            Ok(frame) => self.take_frame(connection, frame),
            Err(error) => self.fail(connection, &error.to_string()),
        }
    }

    /// Gives a connection a place, if it has a frame.
    fn wait(&mut self, connection: Connection) {
        let Some(link) = self.links.get(&connection).filter(|link| !link.is_ending) else { return };
        let Some((arrived, _)) = link.frames.front() else { return };
        self.waiting.insert(connection, self.time_of(connection), *arrived);
    }

    fn time_of(&self, connection: Connection) -> Option<LogicalTime> {
        let session = self.links.get(&connection)?.session?;
        self.rti.logical_time(self.sessions.get(&session)?.client)
    }

    /// The federate of a connection was granted a time.
    pub(super) fn note_grant(&mut self, connection: Connection) {
        // Its federate is further on now, so that its frames come later than their place says.
        if self.waiting.places.contains_key(&connection) {
            self.wait(connection);
        }
    }
}
