//! Who may run: the floors, GVT, and which federates are ready, waiting, or in a worker's hands.
//!
//! All of it is under one lock, taken twice a turn. Invariant: a federate that waits is known with the floor it has; mail that
//! lowers it makes it ready.

use std::collections::BTreeSet;

use paceline_kernel::{Gvt, GvtKind, Time, Trouble, WarpTurn};

use crate::monitor::Halt;
use crate::ready::Ready;

/// Reports of each federate between two rounds of a synchronous GVT, on average.
const REPORTS: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// Ready, with this floor.
    Ready(Time),
    /// With this floor, there is nothing to do before GVT is what it `wants`; `ahead` for those who do not want to wait.
    Waiting {
        wants: Time,
        ahead: Time,
        floor: Time,
    },
    Taken,
}

/// See the module.
#[derive(Debug)]
pub(super) struct State {
    pub(super) gvt: Gvt,
    pub(super) ready: Ready,
    status: Vec<Status>,
    waiting: BTreeSet<(Time, u32)>,
    /// How many federates are in somebody's hands.
    pub(super) taken: u32,
    pub(super) over: bool,
    pub(super) halt: Option<Halt>,
    pub(super) trouble: Option<Box<Trouble>>,
    /// Simulated time from GVT to the front, added up over rounds.
    pub(super) lag_ns: u128,
    front: Time,
    /// Reports since the latest round of GVT.
    reports: usize,
    until: Time,
}

/// What a worker reports of a federate.
pub(super) struct Stand {
    pub(super) turn: WarpTurn,
    pub(super) floor: Time,
    pub(super) wants: (Time, Time),
    pub(super) front: Time,
}

impl State {
    pub(super) fn new(kind: GvtKind, floors: Vec<Time>, workers: usize, slack: Time, until: Time) -> Self {
        let mut ready = Ready::new(floors.len(), workers, slack);
        floors.iter().enumerate().for_each(|(federate, floor)| ready.push(federate as u32, *floor));
        let gvt = Gvt::new(kind, floors.clone());
        Self {
            over: gvt.value() >= until,
            gvt,
            ready,
            status: floors.into_iter().map(Status::Ready).collect(),
            waiting: BTreeSet::new(),
            taken: 0,
            halt: None,
            trouble: None,
            lag_ns: 0,
            front: Time::ZERO,
            reports: 0,
            until,
        }
    }

    /// `id`, which was ready or waiting, is in somebody's hands from now on.
    pub(super) fn take(&mut self, id: u32) {
        self.status[id as usize] = Status::Taken;
        self.taken += 1;
        self.gvt.take(id);
    }

    /// Of those who wait for more than they need, the one furthest behind.
    pub(super) fn impatient(&mut self) -> Option<u32> {
        let gvt = self.gvt.value();
        let ahead = |entry: &&(Time, u32)| matches!(self.status[entry.1 as usize], Status::Waiting { ahead, .. } if ahead <= gvt);
        let least = self.waiting.iter().filter(ahead).min_by_key(|(_, id)| self.gvt.floor(*id)).copied()?;
        self.waiting.remove(&least);
        Some(least.1)
    }

    /// Puts a federate back, which has sent something to those `told`, and moves GVT on. Says whether there was a round.
    pub(super) fn report(&mut self, id: u32, stand: Stand, told: &[(u32, Time)]) -> bool {
        self.taken -= 1;
        self.front = self.front.max(stand.front);
        let closed = self.gvt.report(id, stand.floor, told.iter().copied());
        let floor = self.gvt.floor(id);
        match stand.turn {
            WarpTurn::Failed(trouble) => {
                self.trouble.get_or_insert(trouble);
                self.end(Some(Halt::Stop));
                return false;
            }
            // Mail may have come meanwhile.
            _ if floor >= stand.floor && stand.wants.0 > self.gvt.value() => {
                let (wants, ahead) = stand.wants;
                self.status[id as usize] = Status::Waiting { wants, ahead, floor };
                self.waiting.insert((wants, id));
            }
            _ => {
                self.status[id as usize] = Status::Ready(floor);
                self.ready.push(id, floor);
            }
        }
        for &(to, _) in told {
            let floor = self.gvt.floor(to);
            match self.status[to as usize] {
                Status::Ready(known) if floor < known => {
                    self.ready.lower(to, known, floor);
                    self.status[to as usize] = Status::Ready(floor);
                }
                Status::Waiting { wants, floor: known, .. } if floor < known => {
                    self.waiting.remove(&(wants, to));
                    self.status[to as usize] = Status::Ready(floor);
                    self.ready.push(to, floor);
                }
                _ => {}
            }
        }
        self.reports += 1;
        let stops = self.gvt.kind() == GvtKind::Synchronous;
        let due = !stops || self.ready.len() == 0 || self.reports >= REPORTS * self.status.len();
        let round = closed || self.gvt.may_take() && due && self.gvt.open_round();
        if round {
            self.moved_on();
        }
        round
    }

    /// After a round of GVT: who waited for this may go on.
    fn moved_on(&mut self) {
        let gvt = self.gvt.value();
        self.reports = 0;
        while let Some((wants, id)) = self.waiting.first().copied().filter(|(wants, _)| *wants <= gvt) {
            self.waiting.remove(&(wants, id));
            let floor = self.gvt.floor(id);
            self.status[id as usize] = Status::Ready(floor);
            self.ready.push(id, floor);
        }
        self.lag_ns += u128::from(self.front.saturating_sub(gvt.min(self.until)).as_nanos());
        if gvt >= self.until {
            self.end(None);
        }
    }

    /// Nobody is to take anything any more.
    pub(super) fn end(&mut self, halt: Option<Halt>) {
        if !self.over {
            (self.over, self.halt) = (true, halt);
        }
        self.ready.clear();
    }
}
