//! What every federate has in its guest, under either protocol: the messages to the others, the reductions,
//! the cost of its work, and the page that it shares with the hypervisor.
//!
//! Invariant: [`Op`]s are returned in the order of the work that they stand for; a message is counted as sent
//! when it is queued.

use std::collections::VecDeque;
use std::sync::Arc;

use paceline_kernel::{Mail, Model, Outbox, Partition, Time};

use super::allreduce::{AllReduce, Value};
use super::letter::{self, Letter};
use super::transit::Transit;
use super::{GuestSettings, Series};
use crate::{Guest, Op, Outgoing, ProcessId};

pub(super) struct Desk<M: Model> {
    pub model: Arc<M>,
    pub partition: Arc<Partition>,
    pub settings: Arc<GuestSettings>,
    pub lookahead: Time,
    /// What the federate has sent and is not packed yet.
    pub outbox: Outbox<M::Event>,
    /// What has come and the federate has not taken in.
    pub arrived: Mail<M::Event>,
    pub ops: VecDeque<Op>,
    first: ProcessId,
    transit: Transit,
    reduction: AllReduce,
    /// Whether it has taken part in the present round.
    joined: bool,
    /// CPU time that is still to be taken.
    owed_ns: u64,
    /// The LVT on the page, and whether the page says that it waits.
    reported: Time,
    waits: bool,
    pub tally: Tally,
    pub done: bool,
}

/// What a federate counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Rounds of the reduction that gave a bound, and passes that found messages on their way.
    pub rounds: u64,
    pub repeats: u64,
    /// Packets of events and anti-messages.
    pub packets: u64,
    /// Messages of reductions.
    pub notes: u64,
    pub reports: u64,
    pub series: Series,
}

impl<M: Model + 'static> Desk<M> {
    pub fn new(
        model: Arc<M>,
        partition: Arc<Partition>,
        settings: Arc<GuestSettings>,
        me: u32,
        first: ProcessId,
    ) -> Self {
        let count = partition.federates();
        Self {
            lookahead: model.lookahead(),
            outbox: Outbox::new(count),
            arrived: Mail::default(),
            ops: VecDeque::new(),
            first,
            transit: Transit::NONE,
            reduction: AllReduce::new(settings.reduction, me, count),
            joined: false,
            owed_ns: 0,
            reported: Time::ZERO,
            waits: false,
            tally: Tally::default(),
            done: false,
            model,
            partition,
            settings,
        }
    }

    /// Takes everything out of the inbox: events and anti-messages to `arrived`, notes to the reduction.
    pub fn sweep(&mut self, guest: &mut Guest<'_>) {
        while let Some(message) = guest.take() {
            let letter = message.payload.downcast::<Letter<M::Event>>();
            match *letter.expect("federates get messages from federates of their model only") {
                Letter::Event(colour, event) => {
                    self.transit.received(colour);
                    letter::add_event(&mut self.arrived, event);
                }
                Letter::Anti(colour, receipt) => {
                    self.transit.received(colour);
                    letter::add_anti(&mut self.arrived, receipt);
                }
                Letter::Mail(colour, mail) => {
                    self.transit.received(colour);
                    letter::add_mail(&mut self.arrived, mail);
                }
                Letter::Note(note) => {
                    self.owed_ns += self.settings.reduce_ns;
                    self.reduction.take(note);
                }
            }
        }
        // A note that came may have completed what this federate passes on.
        self.post_notes();
    }

    /// The federate has needed the CPU for so long.
    pub fn charge(&mut self, ns: u64) {
        self.owed_ns += ns;
    }

    /// Sends what is in the outbox, once the CPU time that it took to get there is over.
    pub fn post(&mut self) {
        self.pay();
        let Self { outbox, settings, transit, ops, first, tally, .. } = self;
        outbox.flush_mail(|to, mail, least| {
            letter::pack(mail, transit.colour(), settings.per_packet, |letter, items| {
                transit.sent(least);
                tally.packets += 1;
                let bytes = settings.message_bytes.saturating_mul(items);
                let to = ProcessId(first.0 + to);
                ops.push_back(Op::Send(Outgoing { to, bytes, payload: Box::new(letter) }));
            });
        });
    }

    fn pay(&mut self) {
        if self.owed_ns > 0 {
            self.ops.push_back(Op::Compute(std::mem::take(&mut self.owed_ns)));
        }
    }

    fn post_notes(&mut self) {
        if self.reduction.out.is_empty() {
            return;
        }
        self.pay();
        for (to, note) in self.reduction.out.drain(..) {
            self.tally.notes += 1;
            let payload = Box::new(Letter::<M::Event>::Note(note));
            let (to, bytes) = (ProcessId(self.first.0 + to), self.settings.message_bytes);
            self.ops.push_back(Op::Send(Outgoing { to, bytes, payload }));
        }
    }

    /// Whether it has taken part in the present round.
    pub fn has_joined(&self) -> bool {
        self.joined
    }

    /// Takes part in the next round: what is sent from now on is of the next colour.
    pub fn join(&mut self, floor: Time, failed: bool) {
        assert!(self.outbox.is_empty(), "what was sent is counted before the colour changes");
        self.transit.change();
        self.joined = true;
        self.contribute(floor, failed);
    }

    /// Takes part in the next pass of the round.
    ///
    /// A message of the present colour that is still on its way may arrive after the round, and its receiver
    /// trusts that nothing arrives before the round's time plus lookahead: so it counts as much earlier.
    pub fn contribute(&mut self, floor: Time, failed: bool) {
        let sent = match self.transit.least() {
            // Nothing was sent in this colour.
            Time::MAX => Time::MAX,
            least => least.saturating_sub(self.lookahead),
        };
        let value = Value { least: floor.min(sent), transit: self.transit.before(), failed };
        self.reduction.contribute(value);
        self.post_notes();
    }

    /// Whether a result of the reduction is there that was not looked at.
    pub fn has_result(&self) -> bool {
        self.reduction.is_whole()
    }

    /// What came of the pass.
    pub fn result(&mut self) -> Option<Pass> {
        let Value { least, transit, failed } = self.reduction.whole()?;
        if failed {
            return Some(Pass::Failed);
        }
        if transit != 0 {
            self.tally.repeats += 1;
            return Some(Pass::Again);
        }
        self.tally.rounds += 1;
        self.joined = false;
        Some(Pass::Least(least))
    }

    /// Reports the LVT, if that has changed by more than the lookahead, or a part of it (PSX paper, section
    /// 3.1).
    pub fn report(&mut self, guest: &mut Guest<'_>, lvt: Time) {
        let change = lvt.max(self.reported) - lvt.min(self.reported);
        let least = Time::nanos(self.lookahead.as_nanos() / u64::from(self.settings.reports_per_lookahead));
        if self.settings.reports && change > least {
            self.reported = lvt;
            self.tally.reports += 1;
            guest.report_lvt(lvt.as_nanos());
        }
    }

    /// The simulation starts.
    pub fn start(&mut self, guest: &mut Guest<'_>) {
        if self.settings.reports {
            guest.flag_simulating(true);
        }
        // The hypervisor must know that this federate reports waits, even if it never waits.
        if self.settings.flags_waiting {
            guest.flag_waiting(false);
        }
    }

    /// Waits for a message, unless there is something to be done first.
    pub fn wait(&mut self, guest: &mut Guest<'_>) {
        self.pay();
        // What is queued must leave before it waits, or others would wait for that. Mail is taken in first.
        if !self.ops.is_empty() || guest.has_mail() {
            return;
        }
        self.ops.push_back(Op::Receive(self.settings.wait));
    }

    /// What to do next, if that is known. The page says that the federate waits from when it does until it
    /// has found something else to do.
    pub fn next_op(&mut self, guest: &mut Guest<'_>) -> Option<Op> {
        let op = self.ops.pop_front()?;
        let waits = self.settings.flags_waiting && matches!(op, Op::Receive(_));
        if waits != self.waits {
            self.waits = waits;
            guest.flag_waiting(waits);
        }
        Some(op)
    }

    /// Nothing is left to do but to send the queued messages.
    pub fn end(&mut self, guest: &mut Guest<'_>, events: u64) {
        self.post();
        self.tally.series.end(guest.now_ns(), events);
        if self.settings.reports {
            guest.flag_simulating(false);
        }
        self.done = true;
        self.ops.push_back(Op::Done);
    }

    /// What it waits for, for people.
    pub fn awaits(&self) -> String {
        let round = self.tally.rounds + 1;
        if self.joined {
            format!("{}, in round {round}", self.reduction.awaits())
        } else {
            format!("nothing: it has events to run before round {round}")
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// All messages of earlier colours have come: the round is over, with this result.
    Least(Time),
    /// Some were on their way: all take part once more.
    Again,
    /// A federate cannot continue: all stop.
    Failed,
}
