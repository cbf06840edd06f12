//! The event handling of a node (an intersection, a source, a sink or a zone).
//!
//! A vehicle that reaches a stop line has arrived if this node is its destination. Otherwise it crosses as
//! soon as it is first on its approach, has green, and there is room on the road that it takes next; it
//! counts as being on that road from the moment it starts to cross. Roads are first in, first out. A node
//! counts the vehicles on the roads that leave it; the node at the far end reports each vehicle that has left
//! the road, one crossing later.
//!
//! Invariants. An approach without a queue is `Idle`. If it has a queue, its first vehicle waits either for
//! the light (`Light`, exactly one wake-up is scheduled) or for room (`Room`). As long as any vehicle waits
//! for room on a road, the road is full: a place that becomes free goes at once to the vehicle that has
//! waited longest, and is reserved (`promised`) if that vehicle must first wait for green. Hence no vehicle
//! starves as long as the road ahead moves.
//!
//! Every event can be undone (`undo`): a step keeps whatever it overwrites. An optimistic run also handles
//! events that are later cancelled, so every function here must work for any order of events: a notice of a
//! free place can arrive before the vehicle that takes it.

use paceline_kernel::{LpId, Time};

use super::Traffic;
use super::demand::AT_HOME;
use super::event::{NO_ROAD, TrafficEvent};
use super::network::Road;
use super::scene::Scene;
use super::state::{Approach, Node, Waiting, WaitsFor};
use super::words::{self, Served, Taker, pack};

/// A node that is handling an event.
pub(crate) struct Desk<'a, S> {
    pub traffic: &'a Traffic,
    pub node: &'a mut Node,
    pub cx: &'a mut S,
}

impl<S: Scene> Desk<'_, S> {
    /// Handles an event.
    pub fn handle(&mut self, event: TrafficEvent) {
        match event {
            TrafficEvent::Arrive { vehicle, road, target } => self.arrive(vehicle, road, target),
            TrafficEvent::Depart => self.depart(),
            TrafficEvent::Wake { approach } => self.serve(approach),
            TrafficEvent::Space { exit } => self.space(exit),
        }
    }

    fn here(&self) -> u32 {
        self.cx.lp().0
    }

    /// Releases all vehicles that are due, and schedules the release of the next one. A vehicle is released
    /// one crossing before it departs, because the lookahead requires its message to be sent that early.
    /// At the start of the run all vehicles that depart within the first crossing are released.
    pub fn depart(&mut self) {
        let (here, now) = (self.here(), self.cx.now());
        let demand = &self.traffic.demand;
        let before = self.node.gone;
        while let Some(vehicle) = demand.next(here, self.node.gone) {
            let (departs, due) = (demand.departs(vehicle), self.traffic.released(vehicle));
            if due > now {
                self.cx.schedule(due - now, TrafficEvent::Depart);
                break;
            }
            self.node.gone += 1;
            if self.traffic.is_left_out(vehicle) {
                continue;
            }
            let delay = departs.saturating_sub(now);
            let target = demand.pair(vehicle).target;
            if target == AT_HOME {
                self.cx.schedule(delay, TrafficEvent::Arrive { vehicle, road: NO_ROAD, target });
            } else {
                self.start(vehicle, target, delay);
            }
        }
        self.cx.keep(pack(here, self.node.gone - before));
    }

    /// A vehicle that starts here enters its first road after `delay`, or waits for room.
    fn start(&mut self, vehicle: u32, target: u32, delay: Time) {
        let exit = self.traffic.routes.exit(self.here(), target);
        if self.full(exit) {
            let since = self.cx.now().saturating_add(delay);
            self.node.exits[usize::from(exit)].starting.push_back(Waiting { vehicle, target, since });
        } else {
            self.node.occupy(exit);
            self.enter(vehicle, target, exit, delay);
        }
    }

    /// A vehicle is at the stop line.
    fn arrive(&mut self, vehicle: u32, road: u32, target: u32) {
        if road == NO_ROAD {
            return;
        }
        let here = self.here();
        let road = self.traffic.network.road(road);
        if self.traffic.routes.destination(target) == here {
            self.node.approaches[usize::from(road.approach)].passed += 1;
            return self.leave(road);
        }
        if self.traffic.rules.nobody_waits() {
            self.node.approaches[usize::from(road.approach)].passed += 1;
            let exit = self.traffic.routes.exit(here, target);
            return self.enter(vehicle, target, exit, self.traffic.rules.crossing);
        }
        let since = self.cx.now();
        let approach = &mut self.node.approaches[usize::from(road.approach)];
        approach.queue.push_back(Waiting { vehicle, target, since });
        let idle = approach.waits_for == WaitsFor::Idle;
        if idle {
            self.serve(road.approach);
        }
        let approach = &mut self.node.approaches[usize::from(road.approach)];
        self.cx.keep(pack(approach.longest, u32::from(idle)));
        approach.longest = approach.longest.max(approach.queue.len() as u32);
    }

    /// Lets vehicles of an approach cross until one has to wait. Keeps what undoing needs.
    fn serve(&mut self, number: u16) {
        let Approach { promised, waits_for, .. } = self.node.approaches[usize::from(number)];
        let crossed = self.let_cross(number);
        if crossed > 0 {
            self.cx.keep(self.cx.now().as_nanos());
        }
        self.cx.keep(Served { here: self.here(), crossed, promised, waits_for }.word());
    }

    /// Lets vehicles of an approach cross until one has to wait. Returns how many crossed.
    #[inline(always)]
    fn let_cross(&mut self, number: u16) -> u32 {
        let (here, now) = (self.here(), self.cx.now());
        let road = *self.traffic.network.road(self.traffic.network.approaches(here)[usize::from(number)]);
        let mut crossed = 0;
        loop {
            let approach = &mut self.node.approaches[usize::from(number)];
            let Some(first) = approach.queue.front().copied() else {
                approach.waits_for = WaitsFor::Idle;
                return crossed;
            };
            let may = self.traffic.may_cross(&road, now, now.max(approach.ready));
            if may > now {
                approach.waits_for = WaitsFor::Light;
                self.cx.schedule(may - now, TrafficEvent::Wake { approach: number });
                return crossed;
            }
            let exit = self.traffic.routes.exit(here, first.target);
            if !std::mem::take(&mut approach.promised) {
                if self.full(exit) {
                    self.node.approaches[usize::from(number)].waits_for = WaitsFor::Room;
                    return crossed;
                }
                self.node.occupy(exit);
            }
            self.cross(number, &road, first, exit);
            crossed += 1;
        }
    }

    /// The first vehicle of an approach leaves its road and starts to cross.
    fn cross(&mut self, number: u16, road: &Road, first: Waiting, exit: u16) {
        let now = self.cx.now();
        let approach = &mut self.node.approaches[usize::from(number)];
        approach.queue.pop_front();
        approach.passed += 1;
        approach.waited_ns += u128::from(now.saturating_sub(first.since).as_nanos());
        if let Some(lights) = self.traffic.light(road) {
            self.cx.keep(approach.ready.as_nanos());
            approach.ready = now.saturating_add(lights.spacing(road.lanes));
        }
        words::keep(self.cx, first);
        self.leave(road);
        self.enter(first.vehicle, first.target, exit, self.traffic.rules.crossing);
    }

    /// Sends the node at the start of `road` that a vehicle has left it.
    fn leave(&mut self, road: &Road) {
        if self.traffic.rules.storage {
            let event = TrafficEvent::Space { exit: road.exit };
            self.cx.send(LpId(road.from), self.traffic.rules.crossing, event);
        }
    }

    /// A vehicle enters the road of an exit after `delay`.
    fn enter(&mut self, vehicle: u32, target: u32, exit: u16, delay: Time) {
        let road = self.traffic.network.first_exit(self.here()) + u32::from(exit);
        let ahead = self.traffic.network.road(road);
        let event = TrafficEvent::Arrive { vehicle, road, target };
        self.cx.send(LpId(ahead.to), delay.saturating_add(ahead.free_flow), event);
    }

    /// A vehicle has left the road of an exit: the place goes to the vehicle that has waited for it longest.
    fn space(&mut self, exit: u16) {
        let here = self.here();
        self.node.vacate(exit);
        let road = &self.node.exits[usize::from(exit)];
        let mut longest = road.starting.front().map(|first| (*first, None));
        for (number, approach) in self.node.approaches.iter().enumerate() {
            let Some(first) = approach.queue.front() else { continue };
            let wants =
                approach.waits_for == WaitsFor::Room && self.traffic.routes.exit(here, first.target) == exit;
            if wants && longest.is_none_or(|(other, _)| first.since < other.since) {
                longest = Some((*first, Some(number)));
            }
        }
        let taker = match longest {
            None => Taker::Nobody,
            Some((_, Some(number))) => {
                self.node.occupy(exit);
                self.node.approaches[number].promised = true;
                self.serve(number as u16);
                Taker::Approach(number as u16)
            }
            Some((first, None)) => {
                self.node.exits[usize::from(exit)].starting.pop_front();
                self.node.occupy(exit);
                words::keep(self.cx, first);
                self.enter(first.vehicle, first.target, exit, self.traffic.rules.crossing);
                Taker::Starting
            }
        };
        self.cx.keep(taker.word());
    }

    /// Whether there is no room on the road of an exit.
    fn full(&self, exit: u16) -> bool {
        self.traffic.rules.storage && {
            let road = self.traffic.network.first_exit(self.here()) + u32::from(exit);
            self.node.exits[usize::from(exit)].occupied >= self.traffic.room[road as usize]
        }
    }
}
