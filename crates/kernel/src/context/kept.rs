//! The words that a model keeps for its `undo`, as they are given back to it.

use crate::{EventId, Key};

/// The words that [`Context::keep`](crate::Context::keep) kept while an event was handled, for its `undo`.
///
/// ```
/// use paceline_kernel::{Context, Kept, LpId, Model, Time, Undo, UndoFn};
///
/// /// LPs that remember the largest number they were told.
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
///     fn handle(&self, largest: &mut u64, told: &u64, cx: &mut Context<Self>) {
///         cx.keep(*largest);
///         *largest = (*largest).max(*told);
///     }
/// }
///
/// impl Undo for Largest {
///     fn undo(&self, largest: &mut u64, _told: &u64, kept: &mut Kept<'_>) {
///         *largest = kept.word();
///     }
/// }
/// ```
#[derive(Debug)]
pub struct Kept<'a> {
    words: &'a [u64],
}

impl<'a> Kept<'a> {
    /// Gives `words` back, the last first. The kernel does this; models' authors do, to test an `undo`.
    pub fn new(words: &'a [u64]) -> Self {
        Self { words }
    }

    /// The word kept last, of those not yet given back. Panics if there is none: `undo` asks for more than was kept.
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
