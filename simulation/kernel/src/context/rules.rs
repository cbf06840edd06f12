//! What is the same for every event of a run, and the judgement of a message that is not plainly beyond the
//! lookahead.
//!
//! The federate makes its rules of the [`Settings`](crate::Settings) of the run (`federate/init.rs`) and of
//! what the model says.
//!
//! Invariant: a message that is refused has no depth; one that is not has the depth that keeps causes before
//! effects.

use std::sync::Arc;

use crate::event::{MAX_DEPTH, TieBreak};
use crate::{ChannelTable, LpId, RuleErrorKind, Time};

/// What is the same for every event of a run.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub seed: u64,
    pub ties: TieBreak,
    pub lookahead: Time,
    /// A delay below this may matter to whoever runs the LP: the message may be due within the batch in
    /// hand. At least [`Rules::least_near`], and at least the width of the batch.
    near: Time,
    /// The least delay that needs no second look: `near`, or [`Time::MAX`] where every message is held
    /// against `channels`.
    pub(super) plain: Time,
    pub lps: u32,
    /// What the LPs declare, where they do.
    channels: Option<Arc<ChannelTable>>,
}

impl Rules {
    /// The rules of a model with so many LPs and this lookahead, which declares no channels.
    pub fn new(seed: u64, ties: TieBreak, lookahead: Time, lps: u32) -> Self {
        let near = lookahead.max(Time::TICK);
        Self { seed, ties, lookahead, near, plain: near, lps, channels: None }
    }

    /// The lookahead, but more than zero: a delay of zero always needs a look, since it makes the event
    /// deeper.
    pub fn least_near(&self) -> Time {
        self.lookahead.max(Time::TICK)
    }

    /// What is sent nearer than this raises an alarm.
    pub fn near(&self) -> Time {
        self.near
    }

    /// Says from where on a delay is too far off to matter.
    pub fn set_near(&mut self, near: Time) {
        self.near = near;
        self.plain = if self.channels.is_some() { Time::MAX } else { near };
    }

    /// Holds messages against `channels` from now on.
    pub fn set_channels(&mut self, channels: Option<Arc<ChannelTable>>) {
        self.channels = channels;
        self.set_near(self.near);
    }

    /// Whether a message along a declared channel needs no judgement: it is due after the batch in hand, and
    /// the channel is found at once. The time is one of the clock.
    #[inline(always)]
    pub(super) fn finds(&self, from: LpId, to: LpId, delay: Time) -> bool {
        delay >= self.near && self.channels.as_ref().is_some_and(|channels| channels.finds(from, to, delay))
    }

    /// Judges a send that is not plainly beyond the lookahead: to oneself, at the start, along a declared
    /// channel, or against the rules. Gives the depth of the event. By value, so that the context of a
    /// model that is compiled into the loop stays in registers.
    #[inline(never)]
    pub(super) fn judge(
        &self,
        from: LpId,
        now: Time,
        depth: u16,
        initial: bool,
        to: LpId,
        delay: Time,
    ) -> Result<u16, RuleErrorKind> {
        let at = now.saturating_add(delay);
        if to.0 >= self.lps {
            return Err(RuleErrorKind::UnknownLp { lps: self.lps });
        }
        if at == Time::MAX {
            return Err(RuleErrorKind::BeyondClock);
        }
        if to != from && !initial {
            if delay < self.lookahead {
                return Err(RuleErrorKind::Lookahead { lookahead: self.lookahead });
            }
            if self.channels.as_ref().is_some_and(|channels| !channels.allows(from, to, delay)) {
                return Err(RuleErrorKind::Channel);
            }
        }
        if at > now || initial {
            // At the start everything is at depth 0: no event is the cause of another yet.
            Ok(0)
        } else if depth == MAX_DEPTH {
            Err(RuleErrorKind::EndlessInstant)
        } else {
            Ok(depth + 1)
        }
    }
}
