//! The words that a model keeps for its `undo`, as they are given back to it.

use super::{LpCore, Rules};
use crate::{Event, EventId, Key, LpId, Rng, Time};

/// What an `undo` is given of the event that it takes back: the words that
/// [`Context::keep`](crate::Context::keep) kept while it was handled, the LP, the time, and the random
/// numbers that it drew.
///
/// ```
/// use paceline_kernel::{Context, Kept, LpId, Model, Time, Undo, UndoFn};
///
/// /// LPs that remember the largest number they received.
/// struct Largest;
///
/// impl Model for Largest {
///     type State = u64;
///     type Event = u64;
///     type Output = ();
///     const UNDO: Option<UndoFn<Self>> = Some(Self::undo);
///
///     # fn lps(&self) -> u32 { 1 }
///     # fn lookahead(&self) -> Time { Time::secs(1) }
///     # fn init(&self, _: LpId, _: &mut Context<Self>) -> u64 { 0 }
///     fn handle(&self, largest: &mut u64, number: &u64, cx: &mut Context<Self>) {
///         cx.keep(*largest);
///         *largest = (*largest).max(*number);
///     }
/// }
///
/// impl Undo for Largest {
///     fn undo(&self, largest: &mut u64, _number: &u64, kept: &mut Kept<'_>) {
///         *largest = kept.word();
///     }
/// }
/// ```
#[derive(Debug)]
pub struct Kept<'a> {
    words: &'a [u64],
    lp: LpId,
    now: Time,
    /// As it stood before the event.
    rng: Rng,
}

impl<'a> Kept<'a> {
    /// Gives `words` back, the last first, for an event of `lp` at `now` before which its random numbers
    /// stood at `rng`. The kernel does this; models' authors do, to test an `undo`.
    ///
    /// ```
    /// use paceline_kernel::{Kept, LpId, Rng, Time};
    /// let mut kept = Kept::new(LpId(3), Time::secs(5), Rng::new(1, 3), &[7]);
    /// assert_eq!((kept.lp(), kept.now(), kept.word()), (LpId(3), Time::secs(5), 7));
    /// ```
    pub fn new(lp: LpId, now: Time, rng: Rng, words: &'a [u64]) -> Self {
        Self { words, lp, now, rng }
    }

    /// For an event before which its LP stood at `core`.
    #[inline(always)]
    pub(crate) fn of<E>(event: &Event<E>, core: LpCore, rules: &Rules, words: &'a [u64]) -> Self {
        let lp = event.to();
        Self { words, lp, now: event.time(), rng: Rng::at(rules.seed, u64::from(lp.0), core.draws) }
    }

    /// The LP that had handled the event, as [`Context::lp`](crate::Context::lp) said it.
    #[inline(always)]
    pub fn lp(&self) -> LpId {
        self.lp
    }

    /// The simulated time of the event, as [`Context::now`](crate::Context::now) said it.
    #[inline(always)]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The random numbers as they stood before the event: the same draws give the same numbers as they gave
    /// while it was handled.
    #[inline(always)]
    pub fn rng(&self) -> Rng {
        self.rng
    }

    /// The word kept last, of those not yet given back. Panics if there is none: `undo` asks for more than
    /// was kept.
    #[inline(always)]
    pub fn word(&mut self) -> u64 {
        let (last, rest) = self.words.split_last().expect("`undo` takes back no more words than were kept");
        self.words = rest;
        *last
    }

    /// The id kept last ([`Context::keep_id`](crate::Context::keep_id)): three words.
    pub fn id(&mut self) -> EventId {
        let [last, middle, first] = [self.word(), self.word(), self.word()];
        EventId::new(Key::of_words([first, middle, last]))
    }

    /// Whether all words have been given back.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }
}
