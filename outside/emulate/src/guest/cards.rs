//! The frames of a guest's cards: which arrive, and what left in a grant.

use super::settings::{Card, GuestSettings};
use super::wire::Frame;

pub(super) struct Cards {
    /// The longest frame that each card takes.
    longest: Vec<usize>,
    /// How many frames were longer.
    pub too_long: u64,
    /// How many frames the guest says were lost at its cards.
    pub dropped: u64,
    left: Vec<Frame>,
    left_bytes: u64,
    pub most_bytes: u64,
}

impl Cards {
    pub(super) fn new(settings: &GuestSettings) -> Self {
        Self {
            longest: settings.cards.iter().map(Card::longest_frame).collect(),
            too_long: 0,
            dropped: 0,
            left: Vec::new(),
            left_bytes: 0,
            most_bytes: settings.most_bytes,
        }
    }

    /// Those of the frames that arrive: their cards take them. Counts the others.
    pub(super) fn arriving<'a>(
        &mut self,
        frames: &'a [Frame],
    ) -> impl Iterator<Item = &'a Frame> + Clone + use<'a, '_> {
        let longest = &self.longest;
        let fits = move |frame: &&Frame| frame.bytes.len() <= longest[frame.card];
        self.too_long += frames.iter().filter(|frame| !fits(frame)).count() as u64;
        frames.iter().filter(fits)
    }

    /// Keeps a frame that left until the grant's end; gives whether that is allowed.
    #[must_use]
    pub(super) fn keep(&mut self, frame: Frame) -> bool {
        self.left_bytes += frame.bytes.len() as u64;
        self.left.push(frame);
        self.left_bytes <= self.most_bytes
    }

    /// What left in the grant that has ended.
    pub(super) fn take(&mut self) -> Vec<Frame> {
        self.left_bytes = 0;
        std::mem::take(&mut self.left)
    }
}
