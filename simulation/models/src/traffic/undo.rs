//! Undoes events: reverse computation (Carothers, Perumalla and Fujimoto, 1999), as in SCATTER-OPT (Yoginath
//! and Perumalla, 2008; cited by the PSX paper).
//!
//! Each function here undoes the function of the same name in `node`, last step first. It does not deal with
//! messages. Most steps are reversed by computation: a counter is decremented, the last element is removed
//! from a queue. What a step overwrites, it keeps in words:
//!
//! | step | keeps, in this order |
//! |---|---|
//! | `depart` | the node and how many vehicles it released |
//! | `arrive`, where vehicles can wait | what `serve` keeps, if it was called; the longest queue before, and whether `serve` was called |
//! | `serve` | what each `cross` keeps; the time, if any vehicle crossed; then [`Served`] |
//! | `cross` | if there is a light, the earlier value of `ready`; the vehicle (`words::keep`) |
//! | `space` | what `serve` keeps, or the vehicle that starts, or nothing; [`Taker`] |
//!
//! Invariant: this holds in every state that any sequence of events can reach, including states that occur
//! only temporarily in an optimistic run.

use paceline_kernel::{Kept, Time};

use super::Traffic;
use super::demand::AT_HOME;
use super::event::{NO_ROAD, TrafficEvent};
use super::network::Road;
use super::state::Node;
use super::words::{Served, Taker, kept, unpack};

/// A node that undoes the latest event it has handled.
pub(crate) struct Undoing<'a, 'k> {
    pub traffic: &'a Traffic,
    pub node: &'a mut Node,
    pub kept: &'a mut Kept<'k>,
}

impl Undoing<'_, '_> {
    /// Brings the state back to what it was before `event` was handled.
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
            if target != AT_HOME && !self.traffic.is_left_out(vehicle) {
                self.start(here, vehicle, target);
            }
        }
    }

    /// A vehicle starts only once: it either waits for room, last in the queue, or has entered its road.
    fn start(&mut self, here: u32, vehicle: u32, target: u32) {
        let exit = self.traffic.routes.exit(here, target);
        match self.node.exits.get_mut(usize::from(exit)).map(|road| &mut road.starting) {
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

    /// Returns the target of the vehicle, which is the first of its approach again.
    fn cross(&mut self, number: u16, road: &Road, now: Time) -> u32 {
        let first = kept(self.kept);
        let approach = &mut self.node.approaches[usize::from(number)];
        if self.traffic.light(road).is_some() {
            approach.ready = Time::nanos(self.kept.word());
        }
        approach.waited_ns -= u128::from(now.saturating_sub(first.since).as_nanos());
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
