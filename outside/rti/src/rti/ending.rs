//! The end of the infrastructure: whoever is connected hears of it.

use paceline_hla::{Callback, callback};

use super::Rti;
use crate::client::Client;

impl Rti {
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
