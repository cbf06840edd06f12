//! Cancelling: what an LP has scheduled for itself, and what it wants no more.
//!
//! Invariants: what is put into the LP's set is pending; in a model that does not cancel, nothing is done
//! here at all.

use super::Context;
use crate::withdrawn::{Cause, Withdrawn};
use crate::{Event, EventId, Model};

impl<M: Model> Context<'_, M> {
    /// Cancels an event that this LP has scheduled for itself ([`Context::schedule`]): it will not happen.
    /// Says whether it was pending; one that has happened, is happening, or was cancelled before, is left
    /// as it is. A model that cancels says so with [`Model::CANCELS`]; one that does not say so does not
    /// compile.
    ///
    /// A cancelled event is as if it had never been scheduled: it is neither handled nor committed, is in no
    /// digest and no count, and is not left over at the end. If handling an event is rolled back, so is
    /// what it cancelled.
    ///
    /// An event that was sent to another LP cannot be cancelled: that would have to reach the other LP before
    /// the event does, and thus be a message like any other, a lookahead ahead. So send a second message
    /// that says so, and have the other LP schedule for itself what may be called off, and cancel it when
    /// that message comes.
    ///
    /// ```
    /// use paceline_kernel::{Context, EventId, LpId, Model, Time};
    ///
    /// /// LP 0 asks LP 1 for something, and gives up where the answer takes longer than two seconds.
    /// struct Asking {
    ///     answer_after: Time,
    /// }
    ///
    /// #[derive(Clone, Debug, PartialEq, Hash)]
    /// enum Word {
    ///     Question,
    ///     Answer,
    ///     TimedOut,
    /// }
    ///
    /// #[derive(Clone, Debug, Default, Hash)]
    /// struct Asker {
    ///     timeout: Option<EventId>,
    ///     answered: u32,
    ///     gave_up: u32,
    /// }
    ///
    /// impl Model for Asking {
    ///     type State = Asker;
    ///     type Event = Word;
    ///     type Output = (u32, u32);
    ///     const CANCELS: bool = true;
    ///
    ///     fn lps(&self) -> u32 {
    ///         2
    ///     }
    ///     fn lookahead(&self) -> Time {
    ///         Time::millis(1)
    ///     }
    ///     fn init(&self, lp: LpId, cx: &mut Context<Self>) -> Asker {
    ///         let mut asker = Asker::default();
    ///         if lp == LpId(0) {
    ///             cx.send(LpId(1), Time::millis(1), Word::Question);
    ///             asker.timeout = Some(cx.schedule(Time::secs(2), Word::TimedOut));
    ///         }
    ///         asker
    ///     }
    ///     fn handle(&self, asker: &mut Asker, word: &Word, cx: &mut Context<Self>) {
    ///         match word {
    ///             Word::Question => cx.send(LpId(0), self.answer_after, Word::Answer),
    ///             // In time: the timeout was pending.
    ///             Word::Answer => {
    ///                 if asker.timeout.take().is_some_and(|timeout| cx.cancel(timeout)) {
    ///                     asker.answered += 1;
    ///                 }
    ///             }
    ///             Word::TimedOut => asker.gave_up += 1,
    ///         }
    ///     }
    ///     fn finish(&self, lp: LpId, asker: &Asker, output: &mut (u32, u32)) {
    ///         if lp == LpId(0) {
    ///             *output = (asker.answered, asker.gave_up);
    ///         }
    ///     }
    /// }
    ///
    /// # use paceline_kernel::{Federate, Heap, Outbox, Partition, Settings};
    /// # let run = |model: Asking| {
    /// #     let one = Partition::runs(2, 1);
    /// #     let mut all = Federate::<_, Heap<_>>::build(&model, &one, Settings::default()).unwrap();
    /// #     all[0].step_on(&model, &one, Time::MAX, usize::MAX, &mut Outbox::new(1));
    /// #     let finished = all.remove(0).finish(&model);
    /// #     (finished.output, finished.events)
    /// # };
    /// // Of an event that does not happen nothing is seen: two events, a question and an answer.
    /// assert_eq!(run(Asking { answer_after: Time::secs(1) }), ((1, 0), 2));
    /// assert_eq!(run(Asking { answer_after: Time::secs(3) }), ((0, 1), 3));
    /// ```
    ///
    /// ```compile_fail,E0080
    /// # use paceline_kernel::{Context, EventId, LpId, Model, Time};
    /// /// It does not say that it cancels.
    /// struct Silent;
    ///
    /// impl Model for Silent {
    ///     type State = Option<EventId>;
    /// #   type Event = ();
    /// #   type Output = ();
    /// #   fn lps(&self) -> u32 { 1 }
    /// #   fn lookahead(&self) -> Time { Time::secs(1) }
    /// #   fn init(&self, _: LpId, cx: &mut Context<Self>) -> Self::State { Some(cx.schedule(Time::ZERO, ())) }
    ///     fn handle(&self, timer: &mut Self::State, _: &(), cx: &mut Context<Self>) {
    ///         timer.take().map(|timer| cx.cancel(timer));
    ///     }
    /// }
    /// # use paceline_kernel::{Federate, Heap, Outbox, Partition, Settings};
    /// # let one = Partition::runs(1, 1);
    /// # let mut all = Federate::<_, Heap<_>>::build(&Silent, &one, Settings::default()).unwrap();
    /// # all[0].step_on(&Silent, &one, Time::MAX, usize::MAX, &mut Outbox::new(1));
    /// ```
    pub fn cancel(&mut self, id: EventId) -> bool {
        const { assert_cancels::<M>() };
        let (is_to_come, cause) = (self.is_to_come(id), self.cause);
        is_to_come && self.withdrawn.as_mut().is_some_and(|withdrawn| withdrawn.insert(id.key(), cause))
    }

    /// Whether an event that this LP has scheduled for itself has not happened, is not happening, and was not
    /// cancelled. As for [`Context::cancel`], the model says with [`Model::CANCELS`] that it cancels.
    pub fn is_pending(&self, id: EventId) -> bool {
        const { assert_cancels::<M>() };
        let is_withdrawn = |withdrawn: &&mut Withdrawn| withdrawn.contains(id.key());
        self.is_to_come(id) && !self.withdrawn.as_ref().is_some_and(is_withdrawn)
    }

    /// Whether it is an event of this LP, and in the total order it comes after the one that is handled. At
    /// the start all do. Under Time Warp an id may come back in a message after the event that scheduled
    /// it was rolled back. Its number is not below `sent` then.
    fn is_to_come(&self, id: EventId) -> bool {
        let (source, sequence) = id.key().origin(self.rules.ties);
        source == self.lp && sequence < self.sent && self.cause.is_none_or(|cause| id.key() > cause)
    }

    /// Whether the LP has cancelled this event, to which it has come; then it is through with it. Says in
    /// which event it did.
    #[inline(always)]
    pub(crate) fn pass_over(&mut self, event: &Event<M::Event>) -> Option<Cause> {
        if M::CANCELS { self.withdrawn.as_mut()?.pass_over(event.key()) } else { None }
    }

    /// What the event in hand has cancelled.
    pub(crate) fn cancelled_now(&self) -> Vec<EventId> {
        let now = |withdrawn: &&'_ mut Withdrawn| -> Vec<EventId> {
            withdrawn.caused_by(self.cause).map(EventId::new).collect()
        };
        self.withdrawn.as_ref().map_or_else(Vec::new, now)
    }
}

const fn assert_cancels<M: Model>() {
    assert!(M::CANCELS, "a model that cancels events says so: const CANCELS: bool = true");
}
