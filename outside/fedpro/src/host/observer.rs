//! What a host shows of its federates while they run: to traces, and to those who pace processes.
//!
//! Invariants: whoever is shown has joined and has not left; what is shown is the state between two turns of
//! the server, when all that had come is served.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use paceline_rti::{Client, FederateTimes};

use super::{Host, Member, Outside};

/// The two ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Peer {
    /// The client's end.
    pub client: SocketAddr,
    /// The server's end.
    pub server: SocketAddr,
}

/// What a federate does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FederateActivity {
    /// It has its time, and may compute.
    Granted,
    /// It has asked for a time that it does not have yet.
    Advancing,
    /// It was called back and has not answered that yet.
    InCallback,
}

/// Follows federates while they run. Times `at` are those of the host's clock.
pub trait FederateObserver: fmt::Debug + Send {
    /// A federate has joined a federation, over a connection if it has one.
    fn joined(&mut self, client: Client, federation: &str, name: &str, peer: Option<Peer>);
    /// What a federate does and how far it is, after a call of it or to it.
    fn changed(&mut self, client: Client, activity: FederateActivity, times: FederateTimes, at: Duration);
    /// A federate has resigned, or is lost.
    fn left(&mut self, client: Client, at: Duration);
    /// Called about once a second, whatever happens.
    fn look(&mut self) {}
    /// Whether [`changed`](Self::changed) is also called for those that wait whenever anybody has called,
    /// since their GALT may have changed. That costs a look at all who wait.
    fn follows_waiting(&self) -> bool {
        false
    }
}

/// Who observes, and what they know.
#[derive(Debug, Default)]
pub(super) struct Observers {
    all: Vec<Box<dyn FederateObserver>>,
    /// Clients about which something may have changed.
    touched: BTreeSet<Client>,
    /// Who has joined: the federation and the handle there.
    joined: BTreeMap<Client, (String, u32)>,
}

impl Observers {
    /// Something about a client may have changed.
    pub(super) fn touch(&mut self, client: Client) {
        if !self.all.is_empty() {
            self.touched.insert(client);
        }
    }
}

impl Member {
    fn activity(&self, times: &FederateTimes) -> FederateActivity {
        match times.asked {
            // Before all else: a federate that has not answered a callback is at work in it, whatever it
            // waits for.
            _ if self.unanswered > 0 => FederateActivity::InCallback,
            Some(_) => FederateActivity::Advancing,
            None => FederateActivity::Granted,
        }
    }
}

impl<O: Outside> Host<O> {
    /// From now on federates are shown to this observer, too. It comes before they join.
    pub fn observe(&mut self, observer: Box<dyn FederateObserver>) {
        self.observers.all.push(observer);
    }

    /// Lets observers look at what they watch beside the host.
    pub(crate) fn let_observers_look(&mut self) {
        self.observers.all.iter_mut().for_each(|observer| observer.look());
    }

    /// Shows what has changed.
    pub(super) fn show_changes(&mut self) {
        // Nobody looks, or nothing has happened.
        if self.observers.touched.is_empty() {
            return;
        }
        let touched = std::mem::take(&mut self.observers.touched);
        touched.iter().for_each(|client| self.show_membership(*client));
        let mut shown = touched;
        if self.observers.all.iter().any(|observer| observer.follows_waiting()) {
            let waiting = self.sessions.values().filter(|member| member.activity.is_waiting());
            shown.extend(waiting.map(|member| member.client));
        }
        for client in shown {
            let member = self.clients.get(&client).and_then(|session| self.sessions.get(session));
            let Some((member, times)) = member.zip(self.rti.times(client)) else { continue };
            let (activity, now) = (member.activity(&times), self.now);
            self.observers.all.iter_mut().for_each(|one| one.changed(client, activity, times, now));
        }
    }

    /// Says that a client has joined or left, if it has.
    fn show_membership(&mut self, client: Client) {
        let Observers { all, joined, .. } = &mut self.observers;
        let membership = self.rti.membership(client);
        let known = joined.get(&client).map(|(federation, federate)| (federation.as_str(), *federate));
        if known == membership.map(|(federation, federate, _)| (federation, federate)) {
            return;
        }
        // Left first, where a client has resigned and joined another federation since the last look.
        if joined.remove(&client).is_some() {
            all.iter_mut().for_each(|one| one.left(client, self.now));
        }
        if let Some((federation, federate, name)) = membership {
            let link = self.clients.get(&client).and_then(|session| self.sessions.get(session)?.link);
            let peer = link.and_then(|link| self.links.get(&link)?.peer);
            all.iter_mut().for_each(|one| one.joined(client, federation, name, peer));
            joined.insert(client, (federation.to_owned(), federate));
        }
    }
}
