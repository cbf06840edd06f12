//! What whoever runs the infrastructure asks of it, and no federate: limits, its state, its end.

use paceline_hla::{Callback, callback};

use super::Rti;
use crate::client::Client;
use crate::exception::{Answer, CallError, Exception};
use crate::federation::status::FederationStatus;
use crate::limits::RtiLimits;

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
