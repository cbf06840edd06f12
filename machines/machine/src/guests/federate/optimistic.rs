//! An optimistic federate: Time Warp, with GVT by reductions during which all federates continue.
//!
//! It takes in its mail, runs a batch, sends what leaves it, and looks again. After so many events, or when
//! it has nothing to do before GVT moves on, it joins the next round of GVT, and continues meanwhile; the
//! round is repeated until the messages sent before their senders joined have all come. When GVT has passed
//! the horizon, all retreat, and one more round ensures that every message has arrived.
//!
//! Invariant: when GVT is handed to the [`Warp`], no message that arrives later is for before GVT plus
//! lookahead ([`Desk::contribute`] counts messages so).

use paceline_kernel::{Bounds, EventError, Model, MovingWindow, Rollbacks, Time, Warp, WarpTurn};

use super::Reported;
use super::desk::{Desk, Pass};
use crate::Guest;

/// The federate, and how far all have come.
pub(super) struct Optimistic<M: Model> {
    pub warp: Warp<M>,
    pub trouble: Option<Box<EventError>>,
    gvt: Time,
    /// Events since the last round.
    since: u64,
    /// Whether it cannot continue before mail arrives or GVT advances.
    idle: bool,
    /// Whether the current round is to be repeated, and this federate has not contributed to that yet.
    again: bool,
    /// Whether GVT has passed the horizon.
    closing: bool,
    width: Width,
    /// How far ahead it may be: a process of the machine knows of no federate but its own.
    window: MovingWindow,
    charged: Charged,
}

/// How much simulated time holds about a batch of events.
#[derive(Debug)]
struct Width {
    ns: u64,
    /// How far the farthest batch was to go.
    front: Time,
}

/// Work of the federate that the guest's CPU has been charged with.
#[derive(Debug, Default)]
struct Charged {
    processed: u64,
    coasted: u64,
    undone: u64,
}

impl<M: Model + 'static> Optimistic<M> {
    pub fn new(warp: Warp<M>, lookahead: Time) -> Self {
        Self {
            warp,
            trouble: None,
            gvt: Time::ZERO,
            since: 0,
            idle: false,
            again: false,
            closing: false,
            width: Width { ns: lookahead.as_nanos().max(1), front: Time::ZERO },
            window: MovingWindow::new(lookahead, 1),
            charged: Charged::default(),
        }
    }

    /// Makes one step: mail, a part in a reduction, a batch, or waiting.
    pub fn turn(&mut self, desk: &mut Desk<M>, guest: &mut Guest<'_>) {
        desk.sweep(guest);
        if !desk.arrived.is_empty() {
            let Desk { model, partition, arrived, outbox, .. } = desk;
            self.warp.receive(model, partition, arrived, outbox);
            self.idle = false;
            self.settle_up(desk);
        }
        match desk.result() {
            None => {}
            Some(Pass::Failed) => return desk.end(guest, self.warp.events()),
            // What has come meanwhile is run first: otherwise the floor that it holds down would be GVT.
            Some(Pass::Again) => (self.again, self.since, self.idle) = (true, 0, false),
            Some(Pass::Least(_)) if self.closing => return desk.end(guest, self.warp.events()),
            Some(Pass::Least(gvt)) => self.pass_gvt(gvt, desk, guest),
        }
        if (self.again || !desk.has_joined())
            && (self.idle || self.is_over() || self.since >= u64::from(desk.settings.gvt_period))
        {
            let (floor, failed) = (self.warp.floor(), self.trouble.is_some());
            if std::mem::take(&mut self.again) {
                desk.contribute(floor, failed);
            } else {
                desk.join(floor, failed);
            }
        }
        if !self.idle && !self.is_over() {
            self.report(desk, guest);
            return self.batch(desk);
        }
        // A result that is there already is looked at in the next step, without waiting.
        if desk.has_joined() && !desk.has_result() {
            desk.wait(guest);
        }
    }

    /// Whether it runs no events any more.
    fn is_over(&self) -> bool {
        self.closing || self.trouble.is_some()
    }

    /// GVT has reached `gvt`.
    fn pass_gvt(&mut self, gvt: Time, desk: &mut Desk<M>, guest: &mut Guest<'_>) {
        assert!(gvt >= self.gvt, "GVT never falls, but {gvt} is before {}", self.gvt);
        desk.tally.series.note(guest.now_ns(), self.warp.events());
        self.gvt = gvt;
        self.since = 0;
        self.idle = false;
        let until = desk.settings.until;
        if gvt >= until {
            // What ran beyond the horizon is undone now: the last round waits for the anti-messages too.
            self.closing = true;
            let Desk { model, partition, outbox, .. } = desk;
            self.trouble = self.trouble.take().or(self.warp.retreat(model, partition, until, outbox).err());
            self.settle_up(desk);
        }
    }

    fn report(&mut self, desk: &mut Desk<M>, guest: &mut Guest<'_>) {
        if desk.settings.reports {
            let times = self.warp.times();
            let lvt = match desk.settings.reported {
                Reported::Committable => times.committable,
                Reported::Processable => times.processable,
            };
            let lvt = match lvt {
                // Without events it is as far as any message that may still come.
                Time::MAX => self.gvt.saturating_add(desk.lookahead).min(desk.settings.until),
                lvt => lvt,
            };
            desk.report(guest, lvt);
        }
    }

    fn batch(&mut self, desk: &mut Desk<M>) {
        let floor = self.warp.floor();
        let end = floor.saturating_add(Time::nanos(self.width.ns)).min(desk.settings.until);
        // A horizon for this batch only: what is before it is run as it would be anyway.
        let (width, ahead) = (self.window.width(), self.window.ahead());
        let bounds = Bounds { floor, gvt: self.gvt, until: end, width, ahead };
        let before = self.warp.stats().processed;
        let turn = self.warp.turn(&desk.model, &desk.partition, bounds, false, &mut desk.outbox);
        self.window.note(self.warp.take_effort());
        let ran = self.warp.stats().processed - before;
        self.width.learn(ran, u64::from(desk.settings.batch), end, self.warp.floor());
        self.since += ran;
        match turn {
            WarpTurn::Ran => desk.charge(desk.settings.poll_ns),
            WarpTurn::Waits => self.idle = true,
            WarpTurn::Failed(trouble) => self.trouble = Some(trouble),
        }
        self.settle_up(desk);
    }

    /// Charges the CPU with what the federate has done, and sends what came of it.
    fn settle_up(&mut self, desk: &mut Desk<M>) {
        let &Rollbacks { processed, coasted, undone, .. } = self.warp.stats();
        let handled = processed - self.charged.processed + (coasted - self.charged.coasted);
        let undone_now = undone - self.charged.undone;
        self.charged = Charged { processed, coasted, undone };
        desk.charge(handled * desk.settings.event_ns + undone_now * desk.settings.undo_ns);
        desk.post();
    }
}

impl Width {
    /// A batch of `ran` events where `aim` were wanted was to go to `end`; the federate is at `floor` now.
    /// What is run again after a rollback is sparse, and says nothing.
    fn learn(&mut self, ran: u64, aim: u64, end: Time, floor: Time) {
        let fresh = end > self.front;
        self.front = self.front.max(end);
        if ran > 2 * aim {
            self.ns = (u128::from(self.ns) * u128::from(aim) / u128::from(ran)).max(1) as u64;
        } else if fresh && floor >= end && 2 * ran < aim {
            self.ns = self.ns.saturating_mul(2);
        }
    }
}
