//! The calendar of planned happenings, ordered by time, and at one instant by the order in which they were planned.
//!
//! Invariant: no entry is removed early; each carries a number by which the machine later recognizes a stale entry.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::ProcessId;
use crate::ids::{GuestId, HostId, PacketId, PcpuId, VcpuId};

/// Something that is going to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// What VCPU `vcpu` does is done, if it has not stopped doing it since.
    Segment { vcpu: VcpuId, number: u32 },
    /// PCPU `pcpu` has switched, if nothing was decided there since.
    Switched { pcpu: PcpuId, number: u32 },
    /// The alarm of PCPU `pcpu`: a slice ends there now or later, if this is the alarm that was set last.
    Slice { pcpu: PcpuId, place: u64 },
    /// A timer of the policy of `host`, unless it was set again since.
    Timer { host: HostId, timer: u32, number: u32 },
    /// A packet comes out of a link.
    Arrival { packet: PacketId },
    /// A process has slept enough.
    Awake { process: ProcessId },
    /// A domain comes.
    Comes { guest: GuestId },
    /// A domain goes.
    Goes { guest: GuestId },
}

/// The events to come.
#[derive(Debug, Default)]
pub struct Calendar {
    heap: BinaryHeap<Reverse<(u64, u64, Event)>>,
    planned: u64,
}

impl Calendar {
    /// Plans `event` for `at_ns`.
    pub fn plan(&mut self, at_ns: u64, event: Event) {
        let place = self.reserve();
        self.plan_at(at_ns, place, event);
    }

    /// A place among the events of one instant, for something that may have to be planned later.
    pub fn reserve(&mut self) -> u64 {
        self.planned += 1;
        self.planned
    }

    /// Plans `event` for `at_ns`, in a place that was reserved.
    pub fn plan_at(&mut self, at_ns: u64, place: u64, event: Event) {
        self.heap.push(Reverse((at_ns, place, event)));
    }

    /// The next event.
    pub fn next(&mut self) -> Option<(u64, Event)> {
        self.heap.pop().map(|Reverse((at_ns, _, event))| (at_ns, event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_one_instant_come_in_the_order_of_their_planning() {
        let mut calendar = Calendar::default();
        let place = calendar.reserve();
        for (at_ns, packet) in [(5, 0), (3, 1), (5, 2), (3, 3), (4, 4)] {
            calendar.plan(at_ns, Event::Arrival { packet: PacketId(packet) });
        }
        calendar.plan_at(5, place, Event::Arrival { packet: PacketId(5) });
        let order: Vec<_> = std::iter::from_fn(|| calendar.next()).collect();
        let expected = [(3, 1), (3, 3), (4, 4), (5, 5), (5, 0), (5, 2)];
        assert_eq!(
            order,
            expected.map(|(at_ns, packet)| (at_ns, Event::Arrival { packet: PacketId(packet) }))
        );
    }
}
