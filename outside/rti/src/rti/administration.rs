//! What whoever runs the infrastructure asks of it, and no federate: limits, its state, its end.

use std::time::Duration;

use paceline_hla::{Callback, callback};

use super::{Membership, Rti};
use crate::client::Client;
use crate::exception::{Answer, CallError, Exception};
use crate::federation::Federation;
use crate::federation::status::{FederateTimes, FederationStatus};
use crate::limits::RtiLimits;
use crate::time::LogicalTime;

impl Rti {
    /// An infrastructure with these limits.
    pub fn new(limits: RtiLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Refuses another federation where there are as many as there may be.
    pub(super) fn check_room(&self) -> Answer<()> {
        let limit = self.limits.federations;
        if self.federations.len() < limit {
            return Ok(());
        }
        let details = format!("federations={limit} is reached: so many may be there at a time");
        Err(CallError::new(Exception::RTIinternalError, details))
    }

    fn joined(&self, client: Client) -> Option<(&Federation, u32)> {
        let Membership { federation, federate } = self.clients.get(&client)?.as_ref()?;
        Some((self.federations.get(&**federation)?, *federate))
    }

    /// Where a client has joined: the federation, the federate's handle and its name.
    pub fn membership(&self, client: Client) -> Option<(&str, u32, &str)> {
        let (federation, federate) = self.joined(client)?;
        Some((&federation.name, federate, federation.federate_name(federate)?))
    }

    /// The time that was granted last to a client that has joined. Times of one federation compare as their
    /// numbers do.
    pub fn logical_time(&self, client: Client) -> Option<LogicalTime> {
        let (federation, federate) = self.joined(client)?;
        federation.now(federate)
    }

    /// How far a client that has joined is.
    pub fn times(&self, client: Client) -> Option<FederateTimes> {
        let (federation, federate) = self.joined(client)?;
        federation.times(federate)
    }

    /// Says from where a client is connected; nothing else is known of it.
    pub fn set_host(&mut self, client: Client, host: &str) {
        self.hosts.insert(client, host.to_owned());
    }

    /// Whether somebody looks at what depends on the host's time, so that [`Rti::pass`] is to be called.
    pub fn needs_time(&self) -> bool {
        self.federations.values().any(Federation::needs_time)
    }

    /// The host's time has come so far since some beginning; it never goes back. Reports that are due are
    /// among the callbacks.
    pub fn pass(&mut self, now: Duration, callbacks: &mut Vec<(Client, Callback)>) {
        for federation in self.federations.values_mut().filter(|federation| federation.needs_time()) {
            federation.pass(now);
            self.evolved.adapt_callbacks(&mut federation.callbacks);
            callbacks.append(&mut federation.callbacks);
        }
    }

    /// How far all federations are, by name.
    pub fn status(&self) -> Vec<FederationStatus> {
        self.federations.values().map(|federation| federation.status()).collect()
    }

    /// Disconnects all clients: each is called back with the reason for which its connection is lost. Their
    /// federations are gone, so that nobody resigns from them.
    pub fn disconnect_all(&mut self, reason: &str, callbacks: &mut Vec<(Client, Callback)>) {
        self.federations.clear();
        for client in std::mem::take(&mut self.clients).into_keys() {
            let fault_description = reason.to_owned();
            callbacks.push((client, callback::ConnectionLost { fault_description }.into()));
        }
    }
}
