//! Sorting the events of a bucket without moving each of them many times.
//!
//! What is sorted are 64-bit tickets, an event's time before the last above its index; events with equal
//! tickets, and few events, are compared themselves.

use crate::Event;

/// Fewer events than this are sorted by comparing them.
const FEW: usize = 1 << 6;

/// Sorts events, the least last.
pub(super) fn sort_descending<E>(events: &mut [Event<E>], tickets: &mut Vec<u64>) {
    if events.len() < FEW {
        return events.sort_unstable_by(|a, b| b.cmp(a));
    }
    let times = || events.iter().map(|event| event.time().as_ticks());
    let (Some(least), Some(most)) = (times().min(), times().max()) else { return };
    let index_bits = usize::BITS - events.len().leading_zeros();
    let time_bits = u64::BITS - (most - least).leading_zeros();
    // Bits of the time that do not fit above the index: events that differ only there are compared below.
    let cut = (time_bits + index_bits).saturating_sub(u64::BITS);
    tickets.clear();
    tickets.extend(times().zip(0u64..).map(|(time, index)| ((most - time) >> cut) << index_bits | index));
    tickets.sort_unstable();
    let mask = (1u64 << index_bits) - 1;
    // Where each event comes from; followed back through the swaps made so far.
    for place in 0..events.len() {
        let mut from = (tickets[place] & mask) as usize;
        while from < place {
            from = (tickets[from] & mask) as usize;
        }
        events.swap(place, from);
    }
    let same = |a: &u64, b: &u64| (a ^ b) & !mask == 0;
    let mut start = 0;
    for stretch in tickets.chunk_by(same) {
        if stretch.len() > 1 {
            events[start..start + stretch.len()].sort_unstable_by(|a, b| b.cmp(a));
        }
        start += stretch.len();
    }
}
