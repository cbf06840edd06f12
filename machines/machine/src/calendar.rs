//! The calendar of planned happenings, ordered by time, and at one instant by the order in which they were
//! planned.
//!
//! What happens again and again has a [`Slot`]: it is planned at most once at a time, and most of it is
//! planned anew before it happens. What is not going to happen any more leaves the calendar at once: entries
//! that are void would fill it, where a process computes for hours and is interrupted every millisecond.
//!
//! Invariant: an event that happens once has a slot of its own until it happens.

use std::cmp::Ordering;

use paceline_kernel::{IndexedHeap, Slotted};

use crate::ProcessId;
use crate::ids::{GuestId, HostId, PacketId, PcpuId, VcpuId};

/// An event of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// What a VCPU does is done.
    Segment { vcpu: VcpuId },
    /// A PCPU has switched.
    Switched { pcpu: PcpuId },
    /// A slice ends on a PCPU.
    Slice { pcpu: PcpuId },
    /// A timer of the policy of a host goes off.
    Timer { host: HostId, timer: u32 },
    /// A packet comes out of a link.
    Arrival { packet: PacketId },
    /// A process has slept enough.
    Awake { process: ProcessId },
    /// A domain comes.
    Comes { guest: GuestId },
    /// A domain goes.
    Goes { guest: GuestId },
}

/// The slot of something that happens again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot(u32);

/// What is planned for a slot, in the order of the turns, of which no two are equal.
#[derive(Clone, Copy, Debug)]
struct Planned {
    /// When it happens, above its place at that instant: one number, so that two of them are compared at
    /// once.
    turn: u128,
    slot: Slot,
}

impl PartialEq for Planned {
    fn eq(&self, other: &Self) -> bool {
        self.turn == other.turn
    }
}

impl Eq for Planned {}

impl PartialOrd for Planned {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Planned {
    fn cmp(&self, other: &Self) -> Ordering {
        self.turn.cmp(&other.turn)
    }
}

impl Slotted for Planned {
    fn slot(self) -> u32 {
        self.slot.0
    }
}

/// The events to come.
#[derive(Debug, Default)]
pub struct Calendar {
    heap: IndexedHeap<Planned>,
    /// By slot: what happens, and whether it is for one event only.
    events: Vec<(Event, bool)>,
    /// Slots of single events that have happened.
    free: Vec<Slot>,
    planned: u64,
}

impl Calendar {
    /// A slot for something that happens again and again; it is not planned yet.
    pub fn slot(&mut self, event: Event) -> Slot {
        self.add(event, false)
    }

    fn add(&mut self, event: Event, once: bool) -> Slot {
        let slot = Slot(self.events.len() as u32);
        self.events.push((event, once));
        slot
    }

    /// Plans `event`, which happens once, for `at_ns`.
    pub fn plan(&mut self, at_ns: u64, event: Event) {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.events[slot.0 as usize].0 = event;
                slot
            }
            None => self.add(event, true),
        };
        self.set(slot, at_ns);
    }

    /// Plans the event of `slot` for `at_ns`, and not for when it was planned until now.
    pub fn set(&mut self, slot: Slot, at_ns: u64) {
        self.planned += 1;
        let turn = u128::from(at_ns) << 64 | u128::from(self.planned);
        self.heap.set(Planned { turn, slot });
    }

    /// The event of `slot` is not going to happen, if it is planned.
    pub fn cancel(&mut self, slot: Slot) {
        self.heap.remove(slot.0);
    }

    /// The next event.
    pub fn next(&mut self) -> Option<(u64, Event)> {
        let Planned { turn, slot } = self.heap.first()?;
        self.cancel(slot);
        let (event, once) = self.events[slot.0 as usize];
        if once {
            self.free.push(slot);
        }
        Some(((turn >> 64) as u64, event))
    }
}

#[cfg(test)]
mod tests {
    use paceline_kernel::Rng;

    use super::*;

    fn arrival(packet: u32) -> Event {
        Event::Arrival { packet: PacketId(packet) }
    }

    #[test]
    fn events_of_one_instant_come_in_the_order_of_their_planning() {
        let mut calendar = Calendar::default();
        let slot = calendar.slot(arrival(5));
        for (at_ns, packet) in [(5, 0), (3, 1), (5, 2)] {
            calendar.plan(at_ns, arrival(packet));
        }
        calendar.set(slot, 5);
        for (at_ns, packet) in [(3, 3), (4, 4), (5, 6)] {
            calendar.plan(at_ns, arrival(packet));
        }
        let order: Vec<_> = std::iter::from_fn(|| calendar.next()).collect();
        let expected = [(3, 1), (3, 3), (4, 4), (5, 0), (5, 2), (5, 5), (5, 6)];
        assert_eq!(order, expected.map(|(at_ns, packet)| (at_ns, arrival(packet))));
    }

    /// The calendar against a list that is searched from end to end.
    #[test]
    fn slots_and_single_events_come_as_from_a_sorted_list() {
        for seed in 0..50 {
            let mut rng = Rng::new(seed, 1);
            let mut calendar = Calendar::default();
            let slots: Vec<_> = (0..20).map(|packet| calendar.slot(arrival(packet))).collect();
            let (mut list, mut planned): (Vec<(u64, u64, u32)>, u64) = (Vec::new(), 0);
            for step in 0..2_000 {
                let (packet, at_ns) = (rng.below(20) as u32, rng.below(50));
                match rng.below(6) {
                    0..3 => {
                        planned += 1;
                        calendar.set(slots[packet as usize], at_ns);
                        list.retain(|(.., other)| *other != packet);
                        list.push((at_ns, planned, packet));
                    }
                    3 => {
                        planned += 1;
                        calendar.plan(at_ns, arrival(1_000 + step));
                        list.push((at_ns, planned, 1_000 + step));
                    }
                    4 => {
                        calendar.cancel(slots[packet as usize]);
                        list.retain(|(.., other)| *other != packet);
                    }
                    _ => {
                        let least = list.iter().min().copied();
                        list.retain(|entry| Some(*entry) != least);
                        assert_eq!(calendar.next(), least.map(|(at_ns, _, packet)| (at_ns, arrival(packet))));
                    }
                }
                assert_eq!(calendar.heap.len(), list.len(), "nothing void is kept");
            }
        }
    }
}
