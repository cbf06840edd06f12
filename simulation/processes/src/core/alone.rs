//! Rounds of one process that follow each other in one instant.
//!
//! Invariant: whoever takes a round from here gets the one that [`Core::next_round`] would give.

use paceline_network::Network;

use super::Core;
use super::process::Process;
use super::request::ProcessId;

impl<P, N: Network> Core<P, N> {
    /// Whether the next round is of this process alone, in the same instant, and nothing else is to be done
    /// before it; then it is handed out by this, after a round of that process alone.
    #[inline]
    pub(crate) fn goes_on_alone(&mut self, id: ProcessId) -> bool {
        let is_alone = self.ready.iter().all(|other| *other == id) && !self.ready.is_empty();
        let is_free = is_alone && self.profiles.are_none() && self.reached_out.is_none() && !self.has_news();
        if !is_free || self.processes.have_ended() || self.has_misused_output() {
            return false;
        }
        let Process { ended, suspended, .. } = self.processes[id];
        if ended || suspended {
            return false;
        }
        self.ready.clear();
        self.counts.rounds += 1;
        self.counts.steps += 1;
        true
    }
}
