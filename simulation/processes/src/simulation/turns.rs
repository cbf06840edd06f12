//! How the code of a round's processes runs: on this thread, or on many. Processes that block on coroutines
//! resume, and end, on the threads on which they block.

use crate::core::{ProcessId, Request};
use paceline_network::Network;

use super::batches::Answers;
use super::run::Run;
use crate::context::{COORDINATOR, ContextKind};
use crate::crew::{Crew, Turning};
use crate::report::RunError;
use crate::task::{Parts, Turns};

pub(super) const CODE: &str = "who is in a round has code";

impl<P: Send + 'static, N: Network> Run<P, N> {
    /// Resumes all processes of a batch, one after the other.
    pub(super) fn run_in_turn(
        &mut self,
        batch: &[ProcessId],
        answers: &mut Answers<P>,
        turns: &mut Turns<P>,
    ) {
        let now = self.core.now();
        turns.lend(self.core.lend());
        for id in batch {
            let answer = self.answer(*id, answers);
            turns.run(self.tasks.get_mut(id.0).expect(CODE), now, answer);
        }
        self.core.take_back(turns.lend(None));
    }

    /// Resumes all processes of a batch, on many threads.
    pub(super) fn run_together(
        &mut self,
        crew: &Crew<P>,
        batch: &[ProcessId],
        answers: &mut Answers<P>,
        running: &mut Vec<Turning<P>>,
        turns: &mut Turns<P>,
    ) {
        let now = self.core.now();
        for id in batch {
            let answer = self.answer(*id, answers);
            running.push((self.tasks.lend(id.0).expect(CODE), answer));
        }
        let present = crew.run(now, self.core.lend(), running, turns);
        self.core.take_back(present);
        for (id, (task, _)) in batch.iter().zip(running.drain(..)) {
            self.tasks.put_back(id.0, task);
        }
    }

    /// Whether a process in the batch must resume at home, if the coordinating thread runs it, or many.
    pub(super) fn has_homes(&self, batch: &[ProcessId], parallel: bool) -> bool {
        if self.settings.context != ContextKind::Coroutine || self.crew.is_none() {
            return false;
        }
        let anywhere = if parallel { 0 } else { COORDINATOR };
        let mut tasks = batch.iter().filter_map(|id| self.tasks.get(id.0));
        tasks.any(|task| task.home() > anywhere)
    }

    /// Resumes all processes of a batch, those with a home there; the others on many threads if they are to
    /// be `spread`.
    pub(super) fn run_at_home(
        &mut self,
        crew: &Crew<P>,
        batch: &[ProcessId],
        spread: bool,
        answers: &mut Answers<P>,
        turns: &mut Turns<P>,
    ) {
        let turning = batch.iter().map(|id| {
            let answer = self.answer(*id, answers);
            (self.tasks.lend(id.0).expect(CODE), answer)
        });
        let turning = turning.collect();
        let present = self.core.lend();
        let (tasks, present) = crew.run_at_home(self.core.now(), present, turning, spread, turns);
        self.core.take_back(present);
        for (id, task) in batch.iter().zip(tasks) {
            self.tasks.put_back(id.0, task);
        }
    }

    /// A process has ended: its code is dropped, what it holds is released, and its hooks are called.
    pub(super) fn dismiss(&mut self, id: ProcessId) -> Result<(), RunError> {
        let Some(mut task) = self.tasks.take(id.0) else { return Ok(()) };
        self.watch.forget(id);
        let (mut turns, now) = (self.ending.take().unwrap_or_else(Turns::new), self.core.now());
        match &self.crew {
            Some(crew) if task.home() > COORDINATOR => crew.drop_at_home(&mut task, now, &mut turns),
            _ => turns.drop_body(&mut task, now),
        }
        let Parts { requests, spawned, ends } = turns.parts();
        self.hand_in(id, requests.drain(..), &mut spawned.drain(..));
        ends.clear();
        for (id, hook) in turns.hooks().drain(..) {
            self.hooks.entry(id).or_default().push(hook);
        }
        let hooks = if self.hooks.is_empty() { None } else { self.hooks.remove(&id) };
        let panics = hooks.map_or_else(Vec::new, |hooks| turns.call_hooks(&mut task, now, hooks));
        turns.hooks().clear();
        // Nobody hears a process that has ended; what it measures counts.
        let Parts { requests, spawned, .. } = turns.parts();
        for request in requests.drain(..).filter(|request| matches!(request, Request::Measure(..))) {
            self.core.request(id, request);
        }
        spawned.clear();
        self.ending = Some(turns);
        panics.into_iter().try_for_each(|panic| self.panicked(id, panic))
    }
}
