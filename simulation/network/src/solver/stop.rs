//! Stops: where, as levels rise, a flow or a link stops, and in which order.

use std::cmp::Reverse;

/// A stop; ordered by level, at equal levels flows before links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// The bits of the level: levels are not negative, so their bit patterns sort like the levels.
    level: u64,
    /// The slot of a flow, or [`LINKS`] and the number of a link.
    what: u64,
}

/// Before all stops, and after all stops.
pub(super) const START: Key = Key { level: 0, what: 0 };
pub(super) const NEVER: Key = Key { level: u64::MAX, what: u64::MAX };

const LINKS: u64 = 1 << 32;

/// A stop as one number with the same order, compared without a branch; reversed, because the heap returns
/// the greatest first.
pub(super) type Wide = Reverse<u128>;

impl Key {
    pub fn is_of_flow(self) -> bool {
        self.what & LINKS == 0
    }

    /// The slot of the flow, or the number of the link.
    pub fn number(self) -> u32 {
        self.what as u32
    }

    pub fn level(self) -> f64 {
        f64::from_bits(self.level)
    }

    pub fn wide(self) -> Wide {
        Reverse(u128::from(self.level) << 64 | u128::from(self.what))
    }

    pub fn narrow(Reverse(wide): Wide) -> Self {
        Self { level: (wide >> 64) as u64, what: wide as u64 }
    }
}

pub(super) fn flow_key(level: f64, slot: u32) -> Key {
    Key { level: level.to_bits(), what: slot.into() }
}

pub(super) fn link_key(level: f64, link: u32) -> Key {
    Key { level: level.to_bits(), what: LINKS | u64::from(link) }
}
