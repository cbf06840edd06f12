//! How long a peer may give no sign of life, and when to look at it again.
//!
//! Every process gives a sign every quarter of the limit. Before the first frame of a peer the limit may be
//! shorter: whoever is stopped as the processes find each other must not hold up the others for longer than
//! they have time for that.

use std::time::Duration;

/// Signs of life in the shortest time after which a silent peer is lost.
const SIGNS: u32 = 4;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    first: Duration,
    later: Duration,
}

/// What a peer's silence means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is there; look again after this time.
    Alive(Duration),
    /// A sign of life is missing, or late; look again after this time.
    Late(Duration),
    /// It is lost, after this limit.
    Lost(Duration),
}

impl Limits {
    /// `later` from the first frame of a peer on, and before that `first`, if it is shorter.
    pub(crate) fn new(later: Duration, first: Duration) -> Self {
        Self { first: first.min(later), later }
    }

    /// How often a process gives a sign of life.
    pub(crate) fn every(self) -> Duration {
        self.first / SIGNS
    }

    /// What it means that nothing has come for `silent` from a peer, from which a frame has come before if it
    /// `has_spoken`.
    pub(crate) fn judge(self, silent: Duration, has_spoken: bool) -> Verdict {
        let limit = if has_spoken { self.later } else { self.first };
        match limit.checked_sub(silent) {
            None | Some(Duration::ZERO) => Verdict::Lost(limit),
            Some(left) if silent < limit / 2 => Verdict::Alive(left),
            Some(left) => Verdict::Late(left),
        }
    }
}

#[cfg(test)]
mod test {
    use super::{Limits, Verdict};
    use std::time::Duration;

    #[test]
    fn a_peer_is_lost_after_the_limit_and_not_before() {
        let secs = Duration::from_secs;
        let limits = Limits::new(secs(10), secs(4));
        let cases = [
            (0, true, Verdict::Alive(secs(10))),
            (4, true, Verdict::Alive(secs(6))),
            (5, true, Verdict::Late(secs(5))),
            (9, true, Verdict::Late(secs(1))),
            (10, true, Verdict::Lost(secs(10))),
            (60, true, Verdict::Lost(secs(10))),
            (1, false, Verdict::Alive(secs(3))),
            (2, false, Verdict::Late(secs(2))),
            (4, false, Verdict::Lost(secs(4))),
        ];
        for (silent, has_spoken, verdict) in cases {
            assert_eq!(limits.judge(secs(silent), has_spoken), verdict, "{silent} s, {has_spoken}");
        }
        assert_eq!(limits.every(), secs(1), "a sign every quarter of the shorter limit");
        assert_eq!(Limits::new(secs(2), secs(60)).judge(secs(2), false), Verdict::Lost(secs(2)));
    }
}
