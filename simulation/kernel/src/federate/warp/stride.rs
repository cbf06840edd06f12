//! Strides: how far a federate goes ahead in a turn, when it can go on, and what that has cost.
//!
//! The host says how wide a stride is and how far ahead of GVT a federate may be, the same for all its
//! federates ([`MovingWindow`](crate::MovingWindow)). A stride begins where the federate has been; what was
//! rolled back before that is run again on the way. Where there is no room for a stride, what was rolled back
//! is run again by itself.
//!
//! Invariant: a federate whose floor is GVT can always go on.

use super::{Bounds, Rollbacks, Warp};
use crate::{Effort, EventQueue, Model, Time};

/// When a federate can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wants {
    /// From this GVT on, if it is patient where running safely is worth it.
    pub patient: Time,
    /// From this GVT on in any case.
    pub ahead: Time,
    /// Whether it has something to run again, up to where it has been, whatever GVT is.
    pub again: bool,
}

impl<M: Model, Q: EventQueue<M::Event>> Warp<M, Q> {
    /// What it has done ahead since this was asked last. Where running safely is worth it that says nothing
    /// about the width.
    pub fn take_effort(&mut self) -> Effort {
        let Rollbacks { undone, coasted, antis, .. } = self.stats;
        // Both begin anew also where nothing is given out: else the next effort would be blamed for it.
        let before = std::mem::replace(&mut self.wasted, undone + coasted + antis);
        let effort = std::mem::take(&mut self.effort);
        if self.pace.safe_pays() {
            return Effort::default();
        }
        Effort { wasted: self.wasted - before, ..effort }
    }

    /// How far beyond GVT it may run. Where running safely is worth it, that is not far: what it rolls back
    /// there keeps others from being safe. Nor is it where some LPs never run ahead: their events are put
    /// back in every turn until they are safe.
    pub(super) fn ahead(&self, bounds: Bounds) -> Time {
        let held = self.pace.safe_pays() || !self.conservative.is_empty();
        let most = if held { self.pace.safe_strides() } else { Time::MAX };
        self.settings.ahead.unwrap_or(bounds.ahead.min(most)).max(Time::TICK)
    }

    /// Less than this is not worth a turn, unless it is up to the horizon.
    fn least_stride(&self, bounds: Bounds) -> Time {
        Time::ticks(bounds.width.min(self.ahead(bounds)).as_ticks() / 2)
    }

    /// Where the next batch ahead ends: a width farther than ever before, or, if `limit` does not allow that,
    /// where the federate has been already. None if there is nothing to run up to there.
    pub(super) fn bound_ahead(&self, bounds: Bounds, limit: Time) -> Option<Time> {
        let front = self.reached.max(bounds.floor);
        let bound = self.pace.bound(bounds.floor, self.reached, bounds.width.max(Time::TICK)).min(limit);
        let far = limit == bounds.until || limit >= front.saturating_add(self.least_stride(bounds));
        let bound = if far && bound > front { bound } else { self.reached.min(limit) };
        (bound > bounds.floor).then_some(bound)
    }

    /// Whether it is worth waiting for GVT, to run safely.
    pub(super) fn may_wait(&self) -> bool {
        let plain = self.in_doubt.is_empty() && !self.settings.eager && !self.settings.check;
        plain && self.pace.safe_pays()
    }

    /// When a federate can go on without new mail. If it `waits` for GVT, that is above the present one.
    pub fn wants(&self, bounds: Bounds, waits: bool) -> Wants {
        let Bounds { floor, gvt, until, .. } = bounds;
        if floor >= until {
            return Wants { patient: Time::MAX, ahead: Time::MAX, again: false };
        }
        let soon = if waits { gvt.saturating_add(Time::TICK) } else { Time::ZERO };
        // The smallest GVT from which `time` is less than `ahead` off.
        let from = |ahead: Time, time: Time| {
            if time < ahead { Time::ZERO } else { (time - ahead).saturating_add(Time::TICK) }
        };
        let most = self.ahead(bounds);
        let again = floor < self.reached && floor < gvt.saturating_add(most);
        // A rise of GVT may make room in the log, or a conservative LP's event safe; else a stride needs
        // room.
        let ahead = if self.is_full() || !self.conservative.is_empty() {
            soon
        } else if again {
            // Or its floor becomes safe. What is run again waits for no GVT (`Wants::again`).
            from(most - self.least_stride(bounds), self.reached).min(from(self.base.rules.lookahead, floor))
        } else {
            // Or what was rolled back too far beyond GVT comes near enough to be run again.
            from(most - self.least_stride(bounds), self.reached.max(floor)).min(from(most, floor))
        };
        let ahead = ahead.max(soon);
        let patient = if self.may_wait() {
            // What is worth running safely is at most three quarters of the lookahead ([`Pace::safe_span`]).
            from(self.base.rules.lookahead - self.pace.safe_span(), floor).max(soon)
        } else {
            ahead
        };
        Wants { patient, ahead, again: again && !waits && !self.is_full() && !self.may_wait() }
    }
}
