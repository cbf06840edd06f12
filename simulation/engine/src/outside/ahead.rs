//! Outside federates that run ahead: they are handed messages that may still be taken back, and take back
//! what they have sent.
//!
//! Only in an optimistic or mixed stretch. The run hands over mail as it comes ([`HandOver`]), each time with
//! GVT and with how far ahead of it the federate may run. The federate says from any thread where it stands
//! ([`Standing`](super::Standing)): what it has taken in, its floor, what it has sent and cancelled. Neither
//! waits for the other.
//!
//! What counts in GVT, so that every message counts at least once at every moment:
//!
//! - a message to the federate: with its sender until it is in the inbox, with the inbox until the proxy has
//!   taken it in, then as `waiting`, then as `under_way` until the federate has said that it has taken it in;
//!   from then on in the federate's own floor;
//! - a message or anti-message from it: in the floor that was known before it was said, until it is in the
//!   inbox of its receiver; only then a worker reports the new floor. Messages are refused that are not a
//!   lookahead after that floor.
//!
//! So the floor of the proxy is the least of the floor that the federate has said last, what waits, and what
//! is under way. Other invariants: at most [`MOST_UNDER_WAY`] hand-overs are under way, and what a federate
//! says while no worker takes it in is joined into one standing; what a federate has sent, and may still
//! cancel, is in `sent`; once it is called back, it counts with GVT until it has taken that in.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use paceline_kernel::{Event, Key, LpId, Mail, Model, Optimism, Time};

use super::OutsideErrorKind;
use super::standing::Said;

/// Hand-overs that a federate has not said to have taken in, at most; those that end a stretch apart. One
/// that is slow gets fewer and larger ones.
pub(super) const MOST_UNDER_WAY: usize = 8;

/// What an outside federate that runs ahead is handed, see [`super::OutsideFederate::run_ahead`].
#[derive(Debug)]
pub struct HandOver<E> {
    /// The first of a stretch has number 1, the next one 2.
    pub number: u64,
    /// Messages to its LPs and anti-messages for such, in the order in which they were sent. They may be for
    /// its past.
    pub mail: Mail<E>,
    /// Nothing before this will be sent or taken back any more, except for what was handed over already and
    /// this mail; nor will anything be sent to it for before this plus the lookahead.
    pub gvt: Time,
    /// What it may do now.
    pub permit: Permit,
}

/// What an outside federate that runs ahead may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants say what their fields are")]
pub enum Permit {
    /// It may run what is before `until`, and before GVT plus `ahead` or GVT plus the lookahead. About
    /// `width` at a time has been worth it.
    Run { until: Time, ahead: Time, width: Time },
    /// The stretch is about to end: it takes back all that it has done at or after GVT, cancels what that has
    /// sent, and runs nothing any more.
    Retreat,
}

/// What a proxy knows of a federate that runs ahead.
pub(super) struct Ahead<M: Model> {
    pub(super) said: Arc<Said<M::Event>>,
    /// Mail that has not been handed over, and the least time in it.
    pub(super) waiting: Mail<M::Event>,
    waiting_least: Time,
    /// Hand-overs that it has not said to have taken in: number, and the least time.
    pub(super) under_way: VecDeque<(u64, Time)>,
    pub(super) handed: u64,
    /// Its floor, as it has said it last.
    pub(super) floor: Time,
    /// GVT, as it was sent last.
    pub(super) known_gvt: Time,
    /// The horizon of its permit.
    pub(super) until: Time,
    /// It may have run nothing at or after this.
    pub(super) allowed: Time,
    /// What it has sent for GVT or later, and not cancelled.
    pub(super) sent: BTreeMap<(Key, LpId), Vec<Event<M::Event>>>,
    /// How much GVT is to rise before it is sent again.
    pub(super) step: Time,
}

impl<M: Model> Ahead<M> {
    /// Of a federate to which `waiting` is to be handed over first, and which does nothing by itself before
    /// `floor`.
    pub(super) fn new(said: Arc<Said<M::Event>>, waiting: Mail<M::Event>, floor: Time) -> Self {
        Self {
            said,
            waiting_least: waiting.least(),
            waiting,
            under_way: VecDeque::new(),
            handed: 0,
            floor,
            known_gvt: Time::ZERO,
            until: Time::MAX,
            allowed: Time::ZERO,
            sent: BTreeMap::new(),
            step: Time::TICK,
        }
    }

    /// Nothing will be run, sent or taken back there before this.
    pub(super) fn floor(&self) -> Time {
        let under_way = self.under_way.iter().map(|(_, least)| *least).min();
        self.floor.min(self.waiting_least).min(under_way.unwrap_or(Time::MAX))
    }

    /// What it does by itself, as far as it has said, is not before this.
    pub(super) fn own_floor(&self) -> Time {
        self.floor
    }

    /// Takes in mail for it.
    pub(super) fn receive(&mut self, mail: &mut Mail<M::Event>) {
        self.waiting_least = self.waiting_least.min(mail.least());
        self.waiting.append(mail);
    }

    /// Whether it is to say something within the limit: it has not taken in everything, or all others may
    /// wait for it.
    pub(super) fn owes(&self) -> bool {
        !self.under_way.is_empty() || self.floor <= self.known_gvt && self.floor < self.until
    }

    /// The next hand-over, of all that waits; it counts with `least` at most.
    pub(super) fn hand_over(&mut self, gvt: Time, permit: Permit, least: Time) -> HandOver<M::Event> {
        self.handed += 1;
        self.known_gvt = gvt;
        // Until the federate says that it has taken this in, GVT must not pass what is in it.
        let least = least.min(std::mem::replace(&mut self.waiting_least, Time::MAX));
        self.under_way.push_back((self.handed, least));
        HandOver { number: self.handed, mail: std::mem::take(&mut self.waiting), gvt, permit }
    }

    /// When it is to be looked after again, unless it or others say something: at this GVT.
    pub(super) fn wants(&self) -> Time {
        let floor = self.floor();
        // More hand-overs would wait in the federate's inbox, and tell it nothing that the next one does not.
        if floor >= self.until || self.under_way.len() >= MOST_UNDER_WAY {
            return Time::MAX;
        }
        let next = self.known_gvt.saturating_add(self.step);
        // Asked at the latest when GVT comes to its floor, which it alone holds up then.
        if floor > self.known_gvt { next.min(floor) } else { next }
    }

    /// Notes what it has sent, and takes out what it cancels. An error says what is wrong with it.
    pub(super) fn note_sent(
        &mut self,
        mail: &Mail<M::Event>,
        refusal: impl Fn(&Event<M::Event>) -> Option<OutsideErrorKind>,
        origin: impl Fn(&Event<M::Event>) -> LpId,
    ) -> Result<(), OutsideErrorKind> {
        for (event, receipt) in in_order(mail) {
            let message = event.or(receipt).expect("one of the two");
            if let Some(kind) = refusal(message) {
                return Err(kind);
            }
            let name = (message.key(), message.to());
            let known = self.sent.entry(name).or_default();
            if receipt.is_none() {
                known.push(message.clone());
                continue;
            }
            // What was never sent, or is final, cannot be taken back: the receiver may have committed it.
            let Some(place) = known.iter().position(|other| other.is_same(message)) else {
                let (from, to, at) = (origin(message), message.to(), message.time());
                return Err(OutsideErrorKind::NeverSent { from, to, at });
            };
            known.swap_remove(place);
            if known.is_empty() {
                self.sent.remove(&name);
            }
        }
        Ok(())
    }
}

/// Messages and anti-messages in the order in which they were sent.
pub(super) fn in_order<E>(mail: &Mail<E>) -> impl Iterator<Item = (Option<&Event<E>>, Option<&Event<E>>)> {
    let mut antis = mail.antis.iter().peekable();
    let mut events = mail.events.iter();
    let mut position = 0;
    std::iter::from_fn(move || {
        if let Some((_, receipt)) = antis.next_if(|(at, _)| *at as usize <= position) {
            return Some((None, Some(receipt)));
        }
        position += 1;
        match events.next() {
            Some(event) => Some((Some(event), None)),
            None => antis.next().map(|(_, receipt)| (None, Some(receipt))),
        }
    })
}

/// The settings by which a federate runs ahead, if it can and is to.
pub(super) fn settings<M: Model>(
    outside: &super::Outside<M>,
    speculates: Option<&Optimism>,
) -> Option<Optimism> {
    speculates.filter(|_| outside.runner.is_optimistic() && !outside.dropped).cloned()
}
