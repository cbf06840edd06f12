//! Before what time nothing can arrive any more, where anybody may send to anybody: the least over the others
//! of what they promise, for members that wait for a time, or for their next message if it comes earlier.
//!
//! A member acts at its *earliest* time and sends from its delay (its lookahead) after that on. Who waits for
//! a message *reacts*: whatever arrives earlier makes it act earlier. So a receiver's bound is the least
//! promise of the others, or its own promise and the least delay of another that reacts, which is how soon an
//! answer to its own message may come. Longer ways are never sooner, since every delay is added and none is
//! negative. These are the shortest walks of [`DistanceWindows`](crate::DistanceWindows) where a channel
//! leads from each to each and its lookahead hangs on the sender alone, with two more things: a delay may be
//! zero, and a bound may exclude its own time, so that two members with no lookahead do not wait for each
//! other.
//!
//! Invariants: a bound is at most the promise of any other member; it falls only if a member's earliest time
//! or delay falls, or if one is added or begins to react.

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
}

impl<T: SendTime> Sender<T> {
    /// Before what it sends nothing, unless something arrives.
    pub fn promise(&self) -> SendBound<T> {
        SendBound::at(self.earliest).later_by(self.delay)
    }
}

/// The least of what members have, and the least of all but the one that has it.
#[derive(Clone, Copy, Debug)]
struct LeastTwo<V> {
    first: Option<(u32, V)>,
    second: Option<V>,
}

impl<V: Copy + Ord> LeastTwo<V> {
    const NONE: Self = Self { first: None, second: None };

    fn add(&mut self, member: u32, value: V) {
        match self.first {
            Some((_, first)) if first <= value => {
                self.second = Some(self.second.map_or(value, |second| second.min(value)));
            }
            held => {
                self.second = held.map(|(_, first)| first);
                self.first = Some((member, value));
            }
        }
    }

    fn without(&self, member: u32) -> Option<V> {
        self.first.and_then(|(holder, value)| if holder == member { self.second } else { Some(value) })
    }
}

/// The bounds of all members, computed from their promises in one pass.
///
/// ```
/// use paceline_kernel::{SendBound, SendBounds, SendDelay, Sender, Time};
///
/// let waits_for = |earliest, lookahead, reacts| {
///     let delay = SendDelay::new(Time::secs(lookahead), true);
///     Sender { earliest: Time::secs(earliest), delay, reacts }
/// };
/// let members = [waits_for(10, 1, false), waits_for(30, 2, true)];
/// let mut bounds = SendBounds::default();
/// (0..).zip(&members).for_each(|(number, member)| bounds.add(number, member));
/// let bound = |member: u32| bounds.bound_of(member, members.get(member as usize)).map(|bound| bound.time);
/// assert_eq!(bound(1), Some(Time::secs(11)), "what 0 sends at 10");
/// assert_eq!(bound(0), Some(Time::secs(13)), "what 1 answers to that, not what it sends at 30");
/// assert_eq!(bound(2), Some(Time::secs(11)), "who only receives waits for the least of all");
/// ```
#[derive(Clone, Debug)]
pub struct SendBounds<T> {
    promises: LeastTwo<SendBound<T>>,
    /// Of those that react.
    delays: LeastTwo<SendDelay<T>>,
}

impl<T: SendTime> Default for SendBounds<T> {
    fn default() -> Self {
        Self { promises: LeastTwo::NONE, delays: LeastTwo::NONE }
    }
}

impl<T: SendTime> SendBounds<T> {
    /// Counts in a member that may send; each once.
    pub fn add(&mut self, member: u32, sender: &Sender<T>) {
        self.promises.add(member, sender.promise());
        if sender.reacts {
            self.delays.add(member, sender.delay);
        }
    }

    /// Before what nothing arrives at `member`, which is `own` if it may send itself; nothing if no other one
    /// may send.
    pub fn bound_of(&self, member: u32, own: Option<&Sender<T>>) -> Option<SendBound<T>> {
        let direct = self.promises.without(member)?;
        let answer = own.zip(self.delays.without(member)).map(|(own, delay)| own.promise().later_by(delay));
        Some(answer.map_or(direct, |answer| direct.min(answer)))
    }
}

#[cfg(test)]
mod test;
