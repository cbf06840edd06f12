//! Matched mailboxes: messages have a sender and a tag, and a receiver may leave either open, as in MPI.
//!
//! Invariants: only receivers wait in a mailbox that leaves something open; of all that fit each other, those
//! that came first meet.

use super::super::process::Side;
use super::super::request::Mailbox;
use super::{Messages, OTHERS};

/// Tags from here on are received only by those that name them, as the negative tags of MPI libraries.
const OWN_TAGS: u32 = 1 << 31;

/// Whether a message for the mailbox `exact` may go to a receiver at `open`.
fn fits(exact: &Mailbox, open: &Mailbox) -> bool {
    let is_open = |number: u32| number == Mailbox::ANY;
    match (exact, open) {
        (Mailbox::Matched { to, from, tag }, Mailbox::Matched { to: at, from: whose, tag: which }) => {
            to == at
                && (is_open(*whose) || from == whose)
                && (is_open(*which) && *tag < OWN_TAGS || tag == which)
        }
        _ => false,
    }
}

impl<P> Messages<P> {
    /// A mailbox of this name is new, at `place`.
    pub(super) fn note_open(&mut self, mailbox: &Mailbox, place: u32) {
        if let Mailbox::Matched { to, .. } = mailbox
            && mailbox.is_open()
        {
            self.open.entry(*to).or_default().push(place);
        }
    }

    /// The mailbox in which the first one waits that fits one who comes to `mailbox`, as a sender or as a
    /// receiver.
    pub(super) fn matching(&self, mailbox: u32, sends: bool) -> u32 {
        let Some(matched) = mailbox.checked_sub(OTHERS).map(|place| &self.names[place as usize]) else {
            return mailbox;
        };
        let Mailbox::Matched { to, .. } = matched else { return mailbox };
        let first = |place: u32| {
            let first = self.others[(place - OTHERS) as usize].first;
            let comm = self.comms.get(first as usize)?.as_ref().expect("a mailbox holds what is there");
            ((comm.sender == Side::Absent) == sends).then(|| (self.came[first as usize], place))
        };
        let earliest = if sends {
            let name = |place: &u32| &self.names[(place - OTHERS) as usize];
            let open = self.open.get(to).into_iter().flatten().copied();
            let open = open.filter(|place| fits(matched, name(place)));
            open.chain([mailbox]).filter_map(first).min()
        } else if matched.is_open() {
            let of = |number| Mailbox::Matched { to: *to, from: number, tag: number };
            let all = self.known.range(of(0)..=of(u32::MAX));
            all.filter(|(exact, _)| fits(exact, matched)).filter_map(|(_, place)| first(*place)).min()
        } else {
            return mailbox;
        };
        earliest.map_or(mailbox, |(_, place)| place)
    }
}

#[cfg(test)]
mod test {
    use paceline_kernel::Time;
    use paceline_network::{Constant, HostId};

    use crate::core::{Answer, Core, Mailbox, Request, Step};

    const ANY: u32 = Mailbox::ANY;

    /// Sends messages `(from, tag)` and posts receives `(from, tag)` in the given order, all to receiver 0;
    /// says which message each receive got.
    fn meet(order: &[(bool, u32, u32)]) -> Vec<Option<usize>> {
        let mut core: Core<usize, _> = Core::new(Constant::new(1.0), &[(1.0, 1)]);
        let ids: Vec<_> = order.iter().map(|_| core.spawn(HostId(0), "p".into())).collect();
        let mut round = Vec::new();
        core.next_round(Time::MAX, &mut round);
        for (number, (id, (sends, from, tag))) in ids.iter().zip(order).enumerate() {
            let mailbox = Mailbox::Matched { to: 0, from: *from, tag: *tag };
            core.request(
                *id,
                if *sends {
                    Request::Send { to: mailbox, payload: number, bytes: 1.0, limit: None }
                } else {
                    Request::Receive { from: mailbox, limit: None }
                },
            );
        }
        let mut got = vec![None; order.len()];
        while core.next_round(Time::MAX, &mut round) == Step::Round {
            for id in round.clone() {
                if let Some(Answer::Message(number)) = core.answer(id) {
                    got[id.0 as usize] = Some(number);
                }
                core.end(id);
            }
        }
        order.iter().zip(got).filter(|((sends, ..), _)| !sends).map(|(_, got)| got).collect()
    }

    #[test]
    fn the_first_that_fit_meet() {
        let (send, receive) = (true, false);
        for (order, expected) in [
            // Equal messages in their order.
            (vec![(send, 1, 7), (send, 1, 7), (receive, 1, 7), (receive, 1, 7)], vec![Some(0), Some(1)]),
            // Any sender: the message that came first, whoever sent it.
            (vec![(send, 2, 7), (send, 1, 7), (receive, ANY, 7), (receive, ANY, 7)], vec![Some(0), Some(1)]),
            // The receive that came first, the open one or the exact one.
            (vec![(receive, ANY, 7), (receive, 1, 7), (send, 1, 7), (send, 1, 7)], vec![Some(2), Some(3)]),
            (vec![(receive, 1, 7), (receive, ANY, 7), (send, 1, 7), (send, 2, 7)], vec![Some(2), Some(3)]),
            (vec![(receive, 1, 7), (receive, ANY, 7), (send, 2, 7), (send, 1, 7)], vec![Some(3), Some(2)]),
            // Any tag, and any of both.
            (vec![(receive, 1, ANY), (send, 2, 3), (send, 1, 9)], vec![Some(2)]),
            (
                vec![(receive, ANY, ANY), (receive, 2, ANY), (send, 2, 3), (send, 2, 1)],
                vec![Some(2), Some(3)],
            ),
            (
                vec![(send, 5, 5), (send, 4, 4), (receive, 4, ANY), (receive, ANY, ANY)],
                vec![Some(1), Some(0)],
            ),
            // Tags that only those receive who name them.
            (vec![(receive, 1, ANY), (receive, ANY, 1 << 31), (send, 1, 1 << 31)], vec![None, Some(2)]),
            (vec![(send, 1, 1 << 31), (send, 1, 5), (receive, ANY, ANY)], vec![Some(1)]),
            // Nothing fits.
            (vec![(send, 1, 1), (receive, 1, 2), (receive, ANY, 3)], vec![None, None]),
            (vec![(receive, ANY, 3), (receive, 2, ANY), (send, 1, 1)], vec![None, None]),
        ] {
            assert_eq!(meet(&order), expected, "{order:?}");
        }
    }
}
