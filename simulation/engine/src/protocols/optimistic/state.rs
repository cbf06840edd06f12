//! Who may run: the floors, GVT, and which federates are ready, waiting, or held by a worker.
//!
//! All of it is under one lock, taken twice a turn. Invariant: a federate that waits is known with the floor
//! it has; mail that lowers it makes it ready.

use std::collections::BTreeSet;

use paceline_kernel::{Bounds, Effort, EventError, Gvt, GvtKind, MovingWindow, Time, Wants, WarpTurn};

use crate::protocols::scaffold::{Ending, Ends};
use crate::watch::monitor::Halt;
use crate::workers::ready::Ready;

/// Reports of each federate between two rounds of a synchronous GVT, on average: a round stops all workers.
const REPORTS: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// Ready, at this place among them.
    Ready(Time),
    /// There is nothing new to do before GVT is what it `wants`; `ahead` for those who do not want to wait.
    Waiting {
        wants: Time,
        ahead: Time,
        /// Its floor, if there is something to run again meanwhile.
        again: Option<Time>,
    },
    Taken,
}

/// What this process has said in rounds, and what it has to say in the next.
#[derive(Debug)]
pub(super) struct Rounds {
    /// The least time of what has been sent to other processes since the last contribution.
    pub(super) sent: Time,
    /// The least time in the last contribution.
    pub(super) contributed: Time,
    /// Whether that asked for a halt.
    pub(super) contributed_halt: bool,
}

impl Default for Rounds {
    fn default() -> Self {
        Self { sent: Time::MAX, contributed: Time::ZERO, contributed_halt: false }
    }
}

#[derive(Debug)]
pub(crate) struct State {
    pub(super) gvt: Gvt,
    pub(super) ready: Ready,
    pub(super) window: MovingWindow,
    status: Vec<Status>,
    /// How far each federate has been.
    fronts: Vec<Time>,
    waiting: BTreeSet<(Time, u32)>,
    /// Of those that wait, the federates that have something to run again, by floor.
    again: BTreeSet<(Time, u32)>,
    /// How many federates workers hold.
    pub(super) taken: u32,
    /// Of these, the federates that are outside.
    pub(super) outside: u32,
    /// Federates that a worker holds and that are to be looked after again: they run ahead outside, and have
    /// said something.
    called: BTreeSet<u32>,
    pub(super) ending: Ending,
    pub(super) trouble: Option<Box<EventError>>,
    /// Simulated time from GVT to the front, added up over rounds.
    pub(super) lag_ticks: u128,
    /// The farthest that any federate has been.
    front: Time,
    /// Reports since the latest round of GVT.
    reports: usize,
    until: Time,
    /// What is to be sent to other processes.
    pub(super) across: Rounds,
    /// Whether each federate is in another process.
    absent: Vec<bool>,
}

/// What is in other processes.
pub(super) struct Elsewhere {
    /// The least time of all processes; [`Time::MAX`] where there is only this one.
    pub(super) limit: Time,
    /// Whether each federate is there.
    pub(super) absent: Vec<bool>,
}

/// What a worker reports of a federate.
pub(super) struct Stand {
    pub(super) turn: WarpTurn,
    /// It will run nothing before this, what is in its inbox apart.
    pub(super) floor: Time,
    /// At which GVT it can go on.
    pub(super) wants: Wants,
    /// It has run nothing at or after this; zero for those outside, which advance by themselves.
    pub(super) front: Time,
    pub(super) effort: Effort,
}

impl State {
    pub(super) fn new(
        kind: GvtKind,
        floors: Vec<Time>,
        workers: usize,
        slack: Time,
        window: MovingWindow,
        until: Time,
        elsewhere: Elsewhere,
    ) -> Self {
        let Elsewhere { limit, absent } = elsewhere;
        let mut ready = Ready::new(floors.len(), workers, slack);
        for (federate, floor) in floors.iter().enumerate().filter(|(federate, _)| !absent[*federate]) {
            ready.push(federate as u32, *floor);
        }
        // With other processes GVT here waits for what all have agreed on.
        let gvt = Gvt::limited(kind, floors.clone(), limit);
        Self {
            ending: Ending { over: gvt.value() >= until, ..Ending::default() },
            gvt,
            ready,
            window,
            fronts: vec![Time::ZERO; floors.len()],
            status: floors.into_iter().map(Status::Ready).collect(),
            waiting: BTreeSet::new(),
            again: BTreeSet::new(),
            taken: 0,
            outside: 0,
            called: BTreeSet::new(),
            trouble: None,
            lag_ticks: 0,
            front: Time::ZERO,
            reports: 0,
            until,
            across: Rounds::default(),
            absent,
        }
    }

    /// Between what federate `id` is to run.
    pub(super) fn bounds(&self, id: u32) -> Bounds {
        Bounds {
            floor: self.gvt.floor(id),
            gvt: self.gvt.value(),
            until: self.until,
            width: self.window.width(),
            ahead: self.window.ahead(),
        }
    }

    /// How many federates have something to do.
    pub(super) fn work(&self) -> usize {
        self.ready.len() + self.again.len()
    }

    /// A worker holds `id`, which was ready or waiting, from now on.
    pub(super) fn take(&mut self, id: u32) {
        self.status[id as usize] = Status::Taken;
        self.taken += 1;
        self.gvt.take(id);
    }

    /// Of those that would rather wait, but may run ahead at this GVT, the one furthest behind. Looks at all
    /// that wait: a worker calls it only after it has spun for a report in vain.
    pub(super) fn impatient(&mut self) -> Option<u32> {
        let gvt = self.gvt.value();
        let ahead = |entry: &&(Time, u32)| matches!(self.status[entry.1 as usize], Status::Waiting { ahead, .. } if ahead <= gvt);
        let (_, id) = self.waiting.iter().filter(ahead).min_by_key(|(_, id)| self.gvt.floor(*id)).copied()?;
        self.stop_waiting(id);
        Some(id)
    }

    /// Of those that wait, the one furthest behind that has something to run again.
    pub(super) fn again(&mut self) -> Option<u32> {
        let (_, id) = self.again.first().copied()?;
        self.stop_waiting(id);
        Some(id)
    }

    /// `id` does not wait any more, if it did.
    fn stop_waiting(&mut self, id: u32) {
        if let Status::Waiting { wants, again, .. } = self.status[id as usize] {
            self.waiting.remove(&(wants, id));
            // It stands in two sets, and must be taken by one worker only.
            if let Some(floor) = again {
                self.again.remove(&(floor, id));
            }
        }
    }

    /// Where a federate with this floor stands among those that are ready: those that have advanced least
    /// come first, so that all advance together; what is to be run again is run on the way.
    fn place(&self, id: u32, floor: Time) -> Time {
        floor.max(self.fronts[id as usize])
    }

    fn set_ready(&mut self, id: u32) {
        let place = self.place(id, self.gvt.floor(id));
        self.status[id as usize] = Status::Ready(place);
        self.ready.push(id, place);
    }

    /// Puts a federate back, which has sent something to `receivers`, and moves GVT on. Says whether there
    /// was a round.
    pub(super) fn report(&mut self, id: u32, stand: Stand, receivers: &[(u32, Time)]) -> bool {
        self.taken -= 1;
        self.front = self.front.max(stand.front);
        self.fronts[id as usize] = stand.front;
        self.window.note(stand.effort);
        let here = |(to, _): &&(u32, Time)| !self.absent[*to as usize];
        let sent = receivers.iter().filter(|receiver| !here(receiver)).map(|(_, least)| *least);
        self.across.sent = sent.fold(self.across.sent, Time::min);
        let closed = self.gvt.report(id, stand.floor, receivers.iter().filter(here).copied());
        let floor = self.gvt.floor(id);
        let called = self.called.remove(&id);
        match stand.turn {
            WarpTurn::Failed(trouble) => {
                // The first is final at the GVT of its turn; what fails in others meanwhile may come of the
                // same.
                self.trouble.get_or_insert(trouble);
                // Nobody takes a federate after this: the state of the one that failed is not to be built on.
                self.end(Some(Halt::Stop));
                return false;
            }
            // Mail may have come meanwhile.
            _ if floor >= stand.floor && stand.wants.patient > self.gvt.value() && !called => {
                let Wants { patient: wants, ahead, again } = stand.wants;
                let again = again.then_some(floor);
                self.status[id as usize] = Status::Waiting { wants, ahead, again };
                self.waiting.insert((wants, id));
                self.again.extend(again.map(|floor| (floor, id)));
            }
            _ => self.set_ready(id),
        }
        for &(to, _) in receivers {
            if !self.absent[to as usize] {
                self.lower(to);
            }
        }
        self.reports += 1;
        let stops = self.gvt.kind() == GvtKind::Synchronous;
        // A synchronous round is due when nobody could take anything, or after a while.
        let due = !stops || self.ready.len() == 0 || self.reports >= REPORTS * self.status.len();
        // `closed`: this was the report that a synchronous round waited for.
        let round = closed || self.gvt.may_take() && due && self.gvt.open_round();
        if round {
            self.moved_on();
        }
        round
    }

    /// Federate `id`, which a worker holds, will do nothing before `floor`. Says whether there was a round.
    pub(super) fn promised(&mut self, id: u32, floor: Time) -> bool {
        self.gvt.raise(id, floor);
        // A synchronous round opened here would let nobody take anything until this federate answers.
        let round = !self.ending.over
            && self.gvt.kind() == GvtKind::Asynchronous
            && self.gvt.may_take()
            && self.gvt.open_round();
        if round {
            self.moved_on();
        }
        round
    }

    /// Mail from another process is in the inbox of `to`.
    pub(super) fn delivered(&mut self, to: u32, least: Time) {
        self.gvt.deliver(to, least);
        if !self.ending.over {
            self.lower(to);
        }
    }

    /// All processes have agreed that nothing will be rolled back to before `limit`. Says whether GVT has
    /// moved on.
    pub(super) fn agreed(&mut self, limit: Time) -> bool {
        self.gvt.raise_limit(limit);
        let round = self.gvt.may_take() && self.gvt.open_round();
        if round {
            self.moved_on();
        }
        round
    }

    /// Federate `id` is to be looked after: it runs ahead outside, and has said something.
    pub(super) fn call(&mut self, id: u32) {
        match self.status[id as usize] {
            _ if self.ending.over => {}
            Status::Ready(_) => {}
            // Whoever holds it may have looked already: it is to be taken once more.
            Status::Taken => drop(self.called.insert(id)),
            Status::Waiting { .. } => {
                self.stop_waiting(id);
                self.set_ready(id);
            }
        }
    }

    /// Mail has come for `to`, and has perhaps lowered its floor.
    fn lower(&mut self, to: u32) {
        let floor = self.gvt.floor(to);
        let place = self.place(to, floor);
        match self.status[to as usize] {
            Status::Ready(known) if place < known => {
                self.ready.lower(to, known, place);
                self.status[to as usize] = Status::Ready(place);
            }
            // One that has something earlier to run again stands right already.
            Status::Waiting { wants, ahead, again } if again.is_none_or(|known| floor < known) => {
                self.stop_waiting(to);
                // New work at or after its front is for a turn as any other; before it, events are run again.
                if floor >= self.fronts[to as usize] {
                    return self.set_ready(to);
                }
                self.status[to as usize] = Status::Waiting { wants, ahead, again: Some(floor) };
                self.waiting.insert((wants, to));
                self.again.insert((floor, to));
            }
            _ => {}
        }
    }

    /// After a round of GVT: federates that waited for this value may continue.
    fn moved_on(&mut self) {
        let gvt = self.gvt.value();
        self.reports = 0;
        // Sorted by the GVT that each waits for: the first that waits for more ends the search.
        while let Some((_, id)) = self.waiting.first().copied().filter(|(wants, _)| *wants <= gvt) {
            self.stop_waiting(id);
            self.set_ready(id);
        }
        self.lag_ticks += u128::from(self.front.saturating_sub(gvt.min(self.until)).as_ticks());
        if gvt >= self.until {
            self.end(None);
        }
    }

    /// Nobody is to take anything any more.
    pub(super) fn end(&mut self, halt: Option<Halt>) {
        self.ending.end(halt);
        self.clear();
    }
}

impl Ends for State {
    fn ending(&mut self) -> &mut Ending {
        &mut self.ending
    }

    fn clear(&mut self) {
        self.ready.clear();
        self.again.clear();
    }
}
