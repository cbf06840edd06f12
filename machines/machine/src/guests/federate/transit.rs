//! Which messages are still on their way: colours (Mattern, 1993).
//!
//! A federate that joins a round changes colour; every message carries its sender's. The messages of earlier
//! colours - sent before the sender joined - are all received once the number sent minus the number received,
//! summed over all federates, is zero; then the moments at which the federates counted form a cut that no
//! such message crosses.
//!
//! Invariant: a message is of a colour that its receiver has, had, or will have next. No federate advances a
//! colour before all have joined the round in between.

use paceline_kernel::Time;

#[derive(Clone, Copy, Debug)]
pub(super) struct Transit {
    colour: u32,
    /// Sent less received: of earlier colours, of this, of the next.
    before: i64,
    now: i64,
    next: i64,
    /// The least time of what was sent in this colour.
    least: Time,
}

impl Transit {
    pub const NONE: Self = Self { colour: 0, before: 0, now: 0, next: 0, least: Time::MAX };

    /// The present colour.
    pub fn colour(&self) -> u32 {
        self.colour
    }

    /// A message of the present colour goes out, with nothing in it for before `least`.
    pub fn sent(&mut self, least: Time) {
        self.now += 1;
        self.least = self.least.min(least);
    }

    /// A message of `colour` has come.
    pub fn received(&mut self, colour: u32) {
        if colour > self.colour {
            assert!(colour == self.colour + 1, "nobody is more than a round ahead");
            self.next -= 1;
        } else if colour == self.colour {
            self.now -= 1;
        } else {
            self.before -= 1;
        }
    }

    /// Takes on the next colour.
    pub fn change(&mut self) {
        self.colour += 1;
        self.before += self.now;
        self.now = std::mem::take(&mut self.next);
        self.least = Time::MAX;
    }

    /// Messages of earlier colours that were sent, less those that have come.
    pub fn before(&self) -> i64 {
        self.before
    }

    /// The least time of what was sent in this colour.
    pub fn least(&self) -> Time {
        self.least
    }
}
