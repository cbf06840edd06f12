//! Takes events back: reverse computation (Carothers, Perumalla and Fujimoto, 1999), as SCATTER-OPT has it (Yoginath and
//! Perumalla, 2008; cited by the PSX paper).
//!
//! Each function here takes back what the function of the same name in `node` did, the last step first. Messages are none
//! of its business. Most steps are computed back: a counter is counted down, the last of a queue leaves it. What a step
//! destroys it keeps, as words:
//!
//! | step | keeps, in this order |
//! |---|---|
//! | `depart` | the node and how many vehicles it let go |
//! | `arrive`, where vehicles can wait | what `serve` keeps, if it was called; the longest queue before, and whether it was |
//! | `serve` | what each `cross` keeps; if there was any, the time; then [`Served`] |
//! | `cross` | where there is a light, when the next vehicle could follow before; the vehicle ([`keep`]) |
//! | `space` | what `serve` keeps, or the vehicle that starts, if there is one; [`Taker`] |
//!
//! Invariant: all this holds in any state that any sequence of events leads to, also one that only an optimistic run
//! meets, before it learns better.

use paceline_kernel::{Kept, Time};

use super::Traffic;
use super::demand::AT_HOME;
use super::event::{NO_ROAD, TrafficEvent};
use super::network::Road;
use super::node::{Node, Waiting, WaitsFor};
use super::scene::Scene;

/// What `serve` did, besides the crossings themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Served {
    /// The node.
    pub here: u32,
    /// Vehicles that crossed: fewer than 2^29, as there are vehicles.
    pub crossed: u32,
    /// Whether the first of them had a place promised.
    pub promised: bool,
    /// What that one waited for.
    pub waits_for: WaitsFor,
}

impl Served {
    pub fn word(self) -> u64 {
        pack(self.here, self.crossed << 3 | u32::from(self.promised) << 2 | self.waits_for as u32)
    }

    fn from_word(word: u64) -> Self {
        let (here, rest) = unpack(word);
        let waits_for = match rest & 3 {
            0 => WaitsFor::Idle,
            1 => WaitsFor::Light,
            _ => WaitsFor::Room,
        };
        Self { here, crossed: rest >> 3, promised: rest & 4 != 0, waits_for }
    }
}

/// Who got the place that became free on a road.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taker {
    Nobody,
    /// The first vehicle that starts here.
    Starting,
    /// The first vehicle of an approach.
    Approach(u16),
}

impl Taker {
    pub fn word(self) -> u64 {
        match self {
            Self::Nobody => 0,
            Self::Starting => 1,
            Self::Approach(number) => 2 + u64::from(number),
        }
    }

    fn from_word(word: u64) -> Self {
        match word {
            0 => Self::Nobody,
            1 => Self::Starting,
            _ => Self::Approach((word - 2) as u16),
        }
    }
}

/// Two numbers in a word.
pub(super) fn pack(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn unpack(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

/// Keeps a vehicle that leaves its queue.
pub(super) fn keep(scene: &mut impl Scene, waiting: Waiting) {
    scene.keep(waiting.since.as_nanos());
    scene.keep(pack(waiting.vehicle, waiting.target));
}

/// The vehicle kept.
fn kept(words: &mut Kept<'_>) -> Waiting {
    let (vehicle, target) = unpack(words.word());
    Waiting { vehicle, target, since: Time::nanos(words.word()) }
}

/// A node that takes back the latest event it has handled.
pub(crate) struct Undoing<'a, 'k> {
    pub traffic: &'a Traffic,
    pub node: &'a mut Node,
    pub kept: &'a mut Kept<'k>,
}

impl Undoing<'_, '_> {
    /// Takes `event` back.
    pub fn handle(&mut self, event: TrafficEvent) {
        match event {
            TrafficEvent::Arrive { road, target, .. } => self.arrive(road, target),
            TrafficEvent::Depart => self.depart(),
            TrafficEvent::Wake { approach } => self.serve(approach),
            TrafficEvent::Space { exit } => self.space(exit),
        }
    }

    fn depart(&mut self) {
        let (here, let_go) = unpack(self.kept.word());
        for _ in 0..let_go {
            self.node.gone -= 1;
            let vehicle = self.traffic.demand.next(here, self.node.gone).expect("the node let it go");
            let target = self.traffic.demand.pair(vehicle).target;
            if target != AT_HOME {
                self.start(here, vehicle, target);
            }
        }
    }

    /// A vehicle starts only once: it waits for room, behind all others, or it has entered its road.
    fn start(&mut self, here: u32, vehicle: u32, target: u32) {
        let exit = self.traffic.routes.exit(here, target);
        match self.node.exits.get_mut(usize::from(exit)).map(|own| &mut own.starting) {
            Some(starting) if starting.back().is_some_and(|last| last.vehicle == vehicle) => {
                starting.pop_back();
            }
            _ => self.node.vacate(exit),
        }
    }

    fn arrive(&mut self, road: u32, target: u32) {
        if road == NO_ROAD {
            return;
        }
        let road = self.traffic.network.road(road);
        let approach = usize::from(road.approach);
        if self.traffic.routes.destination(target) == road.to || self.traffic.rules.nobody_waits() {
            self.node.approaches[approach].passed -= 1;
            return;
        }
        let (longest, served) = unpack(self.kept.word());
        self.node.approaches[approach].longest = longest;
        if served != 0 {
            self.serve(road.approach);
        }
        self.node.approaches[approach].queue.pop_back();
    }

    fn serve(&mut self, number: u16) {
        let Served { here, crossed, promised, waits_for } = Served::from_word(self.kept.word());
        if crossed > 0 {
            let now = Time::nanos(self.kept.word());
            let road = self.traffic.network.approaches(here)[usize::from(number)];
            let road = *self.traffic.network.road(road);
            for before in (0..crossed).rev() {
                let target = self.cross(number, &road, now);
                if before > 0 || !promised {
                    self.node.vacate(self.traffic.routes.exit(here, target));
                }
            }
        }
        let approach = &mut self.node.approaches[usize::from(number)];
        (approach.promised, approach.waits_for) = (promised, waits_for);
    }

    /// Gives the target of the vehicle, which is the first of its approach again.
    fn cross(&mut self, number: u16, road: &Road, now: Time) -> u32 {
        let first = kept(self.kept);
        let approach = &mut self.node.approaches[usize::from(number)];
        if self.traffic.light(road).is_some() {
            approach.ready = Time::nanos(self.kept.word());
        }
        approach.waited_ns -= u128::from((now - first.since).as_nanos());
        approach.passed -= 1;
        approach.queue.push_front(first);
        first.target
    }

    fn space(&mut self, exit: u16) {
        match Taker::from_word(self.kept.word()) {
            Taker::Nobody => {}
            Taker::Starting => {
                let first = kept(self.kept);
                self.node.vacate(exit);
                self.node.exits[usize::from(exit)].starting.push_front(first);
            }
            Taker::Approach(number) => {
                self.serve(number);
                self.node.approaches[usize::from(number)].promised = false;
                self.node.vacate(exit);
            }
        }
        self.node.occupy(exit);
    }
}
