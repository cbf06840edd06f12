//! Packets in the order in which they come, from a log in the order in which they are sent.
//!
//! Invariant: no packet comes before it is sent, so that those that are sent later than the next one comes
//! need not be looked at.

use std::collections::VecDeque;
use std::iter::Peekable;

use super::Record;

/// The packets of a log that are not lost, each with the time at which it comes; of those at one time first
/// the one that was sent first.
pub(super) struct Arrivals<I: Iterator<Item = Record>> {
    sent: Peekable<I>,
    /// Those under way, in the order of arrival.
    under_way: VecDeque<(u64, Record)>,
}

impl<I: Iterator<Item = Record>> Arrivals<I> {
    pub fn new(sent: I) -> Self {
        Self { sent: sent.peekable(), under_way: VecDeque::new() }
    }
}

impl<I: Iterator<Item = Record>> Iterator for Arrivals<I> {
    type Item = (u64, Record);

    fn next(&mut self) -> Option<Self::Item> {
        let first_ps =
            |under_way: &VecDeque<(u64, Record)>| under_way.front().map_or(u64::MAX, |(ps, _)| *ps);
        while let Some(record) = self.sent.next_if(|record| record.start_ps < first_ps(&self.under_way)) {
            let Some(arrival_ps) = record.arrival_ps() else { continue };
            // Few overtake others: the search is among the last ones.
            let later = self.under_way.iter().rev().take_while(|(ps, _)| *ps > arrival_ps).count();
            self.under_way.insert(self.under_way.len() - later, (arrival_ps, record));
        }
        self.under_way.pop_front()
    }
}

#[cfg(test)]
mod test {
    use paceline_kernel::Rng;

    use super::*;
    use crate::capture::Packet;
    use crate::queue::Ecn;

    #[test]
    fn packets_come_in_the_order_of_their_arrivals() {
        for case in 0..200 {
            let mut rng = Rng::new(case, 0x6f72_6465);
            let mut start_ps = 0;
            let mut record = |flow| {
                start_ps += rng.below(20);
                let arrival_ps =
                    (rng.below(5) > 0).then(|| start_ps + rng.below(if case % 2 == 0 { 5 } else { 200 }));
                let (number, bytes, ecn, is_back) = (0, 1, Ecn::NotCapable, false);
                Record::new(start_ps, arrival_ps, Packet::Udp { flow, number, bytes, ecn, is_back })
            };
            let sent: Vec<Record> = (0..100).map(&mut record).collect();
            let mut came: Vec<(u64, Record)> =
                sent.iter().filter_map(|record| Some((record.arrival_ps()?, record.clone()))).collect();
            came.sort_by_key(|(ps, _)| *ps);
            assert!(Arrivals::new(sent.into_iter()).eq(came), "case {case}");
        }
    }
}
