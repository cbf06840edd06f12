//! Rounds of one process, which are most where each process waits for a time of its own: they need no list of
//! tasks, no threads, and no clock.
//!
//! A process that asks for what is done at once resumes in the next round of the same instant, often alone in
//! it: then that round follows here, without what is done between two instants.
//!
//! Invariant: the rounds are those that [`Core::next_round`](crate::core::Core::next_round) would give one
//! after the other, with the same answers, counts and digest.

use paceline_network::Network;

use super::run::Run;
use super::turns::CODE;
use crate::context::ContextKind;
use crate::control::Stepping;
use crate::core::ProcessId;
use crate::report::RunError;
use crate::task::{Parts, Turn, Turns};

/// So many rounds follow one another here at most, before the run looks whether it is to stop or somebody
/// asks it.
const IN_A_ROW: u32 = 64;

impl<P: Send + 'static, N: Network> Run<P, N> {
    /// Whether rounds of one process need nothing but its turn: nobody sees them or steps through them, and
    /// code runs on any thread.
    pub(super) fn is_plain(&self) -> bool {
        !self.is_observed()
            && self.stepping == Stepping::No
            && self.settings.context != ContextKind::Coroutine
            && !self.settings.control.exchange().is_asked()
    }

    /// Runs a round of this process, and those that follow it in this instant and are of the same process
    /// alone. Says how many there were.
    pub(super) fn run_alone(&mut self, id: ProcessId, turns: &mut Turns<P>) -> Result<u32, RunError> {
        let now = self.core.now();
        self.counts.largest = self.counts.largest.max(1);
        let mut rounds = 0;
        loop {
            let answer = self.core.answer(id);
            turns.lend(self.core.lend());
            let turn = turns.turn(self.tasks.get_mut(id.0).expect(CODE), now, answer);
            self.core.take_back(turns.lend(None));
            for (id, hook) in turns.hooks().drain(..) {
                self.hooks.entry(id).or_default().push(hook);
            }
            let Parts { requests, spawned, .. } = turns.parts();
            self.hand_in(id, requests.drain(..), &mut spawned.drain(..));
            rounds += 1;
            if !matches!(turn, Turn::Waits) {
                self.settle(id, turn)?;
                return Ok(rounds);
            }
            if rounds == IN_A_ROW || !self.core.goes_on_alone(id) {
                return Ok(rounds);
            }
        }
    }
}
