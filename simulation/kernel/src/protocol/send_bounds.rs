//! Until when nothing can arrive any more, where anybody may send to anybody: the least over the others of
//! what they promise, for members that wait for a time, or for their next message if it comes earlier.
//!
//! A member acts at its *earliest* time and sends from its delay (its lookahead) after that on. Who waits for
//! a message *reacts*: whatever arrives earlier makes it act earlier. So a receiver's bound is the least
//! promise of the others, or its own promise and the least delay of another that reacts, which is how soon an
//! answer to its own message may come. Longer ways are never sooner, since every delay is added and none is
//! negative. These are the shortest walks of [`DistanceWindows`](crate::DistanceWindows) where a channel
//! leads from each to each and its lookahead hangs on the sender alone, with two more things: a delay may be
//! zero, and a bound may exclude its own time, so that two members with no lookahead do not wait for each
//! other; and a member whose lookahead has become smaller keeps what it promised before (its floor).
//!
//! Invariants: a bound is at most the promise of any other member; it falls only if a member's earliest time,
//! delay or floor falls, or if one is added or begins to react.

use std::collections::{BTreeMap, BTreeSet};

use crate::Time;

/// A time to which a delay can be added.
pub trait SendTime: Copy + Ord {
    /// This time and `delay`, or the last one that there is.
    fn later_by(self, delay: Self) -> Self;
    /// Whether, as a delay, it is none.
    fn is_zero(self) -> bool;
}

impl SendTime for Time {
    fn later_by(self, delay: Self) -> Self {
        self.saturating_add(delay)
    }

    fn is_zero(self) -> bool {
        self == Self::ZERO
    }
}

/// Nothing is sent before a time, or neither before nor at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SendBound<T> {
    /// Nothing earlier.
    pub time: T,
    /// Nothing at `time` either. At equal times it is the higher bound.
    pub is_open: bool,
}

impl<T: SendTime> SendBound<T> {
    /// Something may still be sent at `time`.
    pub const fn at(time: T) -> Self {
        Self { time, is_open: false }
    }

    /// Something may still be sent, but later than `time`.
    pub const fn after(time: T) -> Self {
        Self { time, is_open: true }
    }

    /// Whether all that is sent before `time` is there.
    pub fn reaches(self, time: T) -> bool {
        self >= Self::at(time)
    }

    /// Whether all that is sent before `time`, or at it, is there.
    pub fn passes(self, time: T) -> bool {
        self >= Self::after(time)
    }

    /// The bound of what is caused by what this one bounds.
    pub fn later_by(self, delay: SendDelay<T>) -> Self {
        let is_open = self.is_open || delay.is_open;
        Self { time: self.time.later_by(delay.lookahead), is_open }
    }
}

/// How soon after it has acted a member sends. Less is sooner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SendDelay<T> {
    lookahead: T,
    is_open: bool,
}

impl<T: SendTime> SendDelay<T> {
    /// From `lookahead` on; if that is zero and it `is_past_own_time`, later than the time at which it acts.
    pub fn new(lookahead: T, is_past_own_time: bool) -> Self {
        Self { lookahead, is_open: is_past_own_time && lookahead.is_zero() }
    }
}

/// A member that may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sender<T> {
    /// Unless something arrives, it acts then and not earlier.
    pub earliest: T,
    /// How soon it sends after that.
    pub delay: SendDelay<T>,
    /// Something that arrives before `earliest` makes it act then.
    pub reacts: bool,
    /// It sends nothing earlier, whenever it acts: it has promised that with a greater lookahead.
    pub floor: Option<SendBound<T>>,
}

impl<T: SendTime> Sender<T> {
    /// The bound of what it sends if it acts at `cause`.
    fn answer_to(&self, cause: SendBound<T>) -> SendBound<T> {
        let sent = cause.later_by(self.delay);
        self.floor.map_or(sent, |floor| floor.max(sent))
    }

    /// The bound of what it sends, unless something arrives.
    pub fn promise(&self) -> SendBound<T> {
        self.answer_to(SendBound::at(self.earliest))
    }
}

/// The bounds of all members, kept as members change: each change and each bound takes a time that grows with
/// the logarithm of the members, but for those that react and have a floor, which are looked at one by one.
///
/// ```
/// use paceline_kernel::{SendBounds, SendDelay, Sender, Time};
///
/// let waits_for = |earliest, lookahead, reacts| {
///     let delay = SendDelay::new(Time::secs(lookahead), true);
///     Some(Sender { earliest: Time::secs(earliest), delay, reacts, floor: None })
/// };
/// let mut bounds = SendBounds::default();
/// bounds.set(0, waits_for(10, 1, false));
/// bounds.set(1, waits_for(30, 2, true));
/// let bound = |bounds: &SendBounds<Time>, member| bounds.bound_of(member).map(|bound| bound.time);
/// assert_eq!(bound(&bounds, 1), Some(Time::secs(11)), "what 0 sends at 10");
/// assert_eq!(bound(&bounds, 0), Some(Time::secs(13)), "what 1 answers to that, not what it sends at 30");
/// assert_eq!(bound(&bounds, 2), Some(Time::secs(11)), "who only receives waits for the least of all");
/// bounds.set(0, None);
/// assert_eq!(bound(&bounds, 1), None, "nobody else sends");
/// ```
#[derive(Clone, Debug)]
pub struct SendBounds<T> {
    senders: BTreeMap<u32, Sender<T>>,
    promises: BTreeSet<(SendBound<T>, u32)>,
    /// Of those that react and have no floor.
    delays: BTreeSet<(SendDelay<T>, u32)>,
    /// Those that react and have one.
    floored: BTreeSet<u32>,
}

impl<T: SendTime> Default for SendBounds<T> {
    fn default() -> Self {
        let (promises, delays, floored) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        Self { senders: BTreeMap::new(), promises, delays, floored }
    }
}

/// The least that another one than `member` has.
fn least_of_others<V: Copy + Ord>(values: &BTreeSet<(V, u32)>, member: u32) -> Option<V> {
    // Each has one value, so that one of the first two is another's.
    values.iter().find(|(_, holder)| *holder != member).map(|(value, _)| *value)
}

impl<T: SendTime> SendBounds<T> {
    /// What a member may send from now on; none, if it may not send.
    pub fn set(&mut self, member: u32, sender: Option<Sender<T>>) {
        let known = match sender {
            Some(sender) => self.senders.insert(member, sender),
            None => self.senders.remove(&member),
        };
        if known == sender {
            return;
        }
        // A grant changes no promise, and a request often changes nothing else: what stays is not moved.
        let [before, after] = [known, sender].map(|sender| sender.as_ref().map(Sender::promise));
        if before != after {
            if let Some(promise) = before {
                self.promises.remove(&(promise, member));
            }
            self.promises.extend(after.map(|promise| (promise, member)));
        }
        let reaction = |sender: Sender<T>| sender.reacts.then_some((sender.delay, sender.floor.is_some()));
        let [before, after] = [known, sender].map(|sender| sender.and_then(reaction));
        if before == after {
            return;
        }
        match before {
            Some((delay, false)) => self.delays.remove(&(delay, member)),
            Some((_, true)) => self.floored.remove(&member),
            None => false,
        };
        match after {
            Some((delay, false)) => self.delays.insert((delay, member)),
            Some((_, true)) => self.floored.insert(member),
            None => false,
        };
    }

    /// The least promise of all. A member that waits for a bound up to its own promise has reached that bound
    /// as soon as the least of all has: if its own is the least, the others' are not less, and an answer to
    /// what it sends is later than its promise.
    pub fn least(&self) -> Option<SendBound<T>> {
        self.promises.first().map(|(promise, _)| *promise)
    }

    /// The least promise of the others.
    pub fn least_of_others(&self, member: u32) -> Option<SendBound<T>> {
        least_of_others(&self.promises, member)
    }

    /// The bound of what arrives at `member`; none if no other one may send.
    pub fn bound_of(&self, member: u32) -> Option<SendBound<T>> {
        let direct = self.least_of_others(member)?;
        // Who sends nothing gets no answer either.
        let Some(promised) = self.senders.get(&member).map(Sender::promise) else { return Some(direct) };
        let soonest = least_of_others(&self.delays, member).map(|delay| promised.later_by(delay));
        let floored = self.floored.iter().filter(|other| **other != member);
        let answers = floored.map(|other| self.senders[other].answer_to(promised)).chain(soonest);
        Some(answers.fold(direct, SendBound::min))
    }
}

#[cfg(test)]
mod test;
