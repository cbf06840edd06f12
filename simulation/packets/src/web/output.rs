//! What web clients and servers leave behind at the end of a run.
//!
//! Invariant: an entry's clients are at one host, so that nothing depends on how hosts were divided among
//! federates.

use serde::{Deserialize, Serialize};

use super::result::{WebCounts, WebResult};
use super::state::WebState;
use super::table::WebTable;

/// What the hosts of a federate leave behind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct WebOutput {
    /// By number of the entry.
    groups: Vec<(u32, WebResult)>,
    counts: WebCounts,
}

impl WebOutput {
    /// Takes in the final state of a host.
    pub fn add(&mut self, table: &WebTable, host: u32, state: &WebState) {
        self.counts = self.counts.plus(&state.counts);
        for (place, (number, group)) in table.groups_at(host).iter().zip(&state.groups).enumerate() {
            let result = WebResult { waiting: state.waiting(place), ..group.result.clone() };
            self.groups.push((*number, result));
        }
    }

    /// The results of all entries by number, and what was no segment.
    pub fn join<'a>(outputs: impl Iterator<Item = &'a Self>) -> (Vec<WebResult>, WebCounts) {
        let (mut all, mut counts) = (Vec::new(), WebCounts::default());
        for output in outputs {
            all.extend(&output.groups);
            counts = counts.plus(&output.counts);
        }
        all.sort_unstable_by_key(|(number, _)| *number);
        (all.into_iter().map(|(_, result)| result.clone()).collect(), counts)
    }
}
