//! How the code of a round runs: in batches, each of which is handed in before the next where that is large.
//!
//! Invariant: what the processes of a round ask for is handed in, in the order of the round, however it was
//! divided.

use std::time::{Duration, Instant};

use paceline_network::Network;

use super::run::Run;
use crate::control::Stepping;
use crate::core::{Answer, ProcessId, WaitEnd};
use crate::crew::{Crew, Turning};
use crate::report::RunError;
use crate::task::{Parts, Turn, Turns};

/// So many processes of a round have their turns before what they ask for is handed in: few enough that both
/// are still in the caches of the processor.
const BATCH: usize = 1024;
/// The same on many threads, which must wait for each other after it.
const PARALLEL_BATCH: usize = 1 << 16;

/// Answers to the processes of a large round, taken before any of them has its turn; the first comes last.
pub(super) type Answers<P> = Option<Vec<Option<Answer<P>>>>;

impl<P: Send + 'static, N: Network> Run<P, N> {
    /// Runs the code of a round, and hands in what it asks for. Gives the time that the code took, if it is
    /// to be measured.
    ///
    /// A large round is not run whole first: what all its processes ask for would take more memory than they
    /// do. Nothing depends on that, as code sees no more of the world than its answer, the time, and
    /// resources as they were when the round began; but what is done when a process has ended may be seen by
    /// others of the round, and is done after their turns.
    pub(super) fn run_batches(
        &mut self,
        crew: Option<&Crew<P>>,
        round: &[ProcessId],
        is_parallel: bool,
        is_timed: bool,
        (running, turns): (&mut Vec<Turning<P>>, &mut Turns<P>),
    ) -> Result<Duration, RunError> {
        // Looked at once a round: whoever asks waits for it to end.
        let is_stepped = self.stepping != Stepping::No || self.settings.control.exchange().is_asked();
        let size = match (is_stepped, is_parallel) {
            (true, _) => 1,
            (false, true) => PARALLEL_BATCH,
            (false, false) => BATCH,
        };
        let outcomes: Vec<WaitEnd> = match is_stepped {
            true => round.iter().map(|id| self.core.outcome(*id)).collect(),
            false => Vec::new(),
        };
        // Whoever is ended by another in this round takes its turn with its answer all the same.
        let mut answers: Answers<P> =
            (round.len() > size).then(|| round.iter().rev().map(|id| self.core.answer(*id)).collect());
        if round.len() > size {
            self.core.keep_sight(true);
        }
        let (mut handed, mut run, mut code) = (0, 0, Duration::ZERO);
        while run < round.len() {
            let batch = &round[run..round.len().min(run + size)];
            if is_stepped {
                self.attend();
            }
            let start = is_timed.then(Instant::now);
            self.run_code(crew, batch, is_parallel, &mut answers, (running, turns));
            code += start.map_or(Duration::ZERO, |start| start.elapsed());
            run += batch.len();
            for (id, hook) in turns.hooks().drain(..) {
                self.hooks.entry(id).or_default().push(hook);
            }
            if run == round.len() || self.hooks.is_empty() {
                self.hand_in_all(&round[handed..run], turns)?;
                handed = run;
            }
            if is_stepped {
                self.stepped(batch[0], outcomes[run - 1]);
            }
            if let Some(answers) = answers.as_mut().filter(|answers| answers.len() < answers.capacity() / 2) {
                answers.shrink_to_fit();
            }
        }
        if round.len() > size {
            self.core.keep_sight(false);
        }
        Ok(code)
    }

    /// Runs the code of these processes, with the answers taken before, where they were.
    fn run_code(
        &mut self,
        crew: Option<&Crew<P>>,
        batch: &[ProcessId],
        is_parallel: bool,
        answers: &mut Answers<P>,
        (running, turns): (&mut Vec<Turning<P>>, &mut Turns<P>),
    ) {
        let is_bound = self.has_homes(batch, is_parallel);
        match crew.filter(|_| is_parallel || is_bound) {
            Some(crew) if is_bound => self.run_at_home(crew, batch, is_parallel, answers, turns),
            Some(crew) => self.run_together(crew, batch, answers, running, turns),
            None => self.run_in_turn(batch, answers, turns),
        }
    }

    /// Hands in what these processes have asked for in their turns.
    fn hand_in_all(&mut self, processes: &[ProcessId], turns: &mut Turns<P>) -> Result<(), RunError> {
        let Parts { requests, spawned, ends } = turns.parts();
        let (mut requests, mut spawned, mut before) = (requests.drain(..), spawned.drain(..), 0);
        for (id, (turn, end)) in processes.iter().zip(ends.drain(..)) {
            let asked = requests.by_ref().take(end - std::mem::replace(&mut before, end));
            self.hand_in(*id, asked, &mut spawned);
            if !matches!(turn, Turn::Waits) {
                self.settle(*id, turn)?;
            }
        }
        Ok(())
    }

    /// The answer to a process of the round.
    pub(super) fn answer(&mut self, id: ProcessId, answers: &mut Answers<P>) -> Option<Answer<P>> {
        match answers {
            Some(answers) => answers.pop().flatten(),
            None => self.core.answer(id),
        }
    }
}
