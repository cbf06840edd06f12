//! What clients get: parts of the page's data, each with a number that rises when it changes.
//!
//! Invariant: a client that has missed frames has all that matters with the next one.

use std::sync::Arc;

use axum::response::sse::Event;

/// The parts of a frame, by the name of their events. `now` changes with each frame.
pub(super) const PARTS: [&str; 8] =
    ["now", "layout", "loads", "curves", "matrix", "lanes", "tables", "parameters"];

/// The places in [`PARTS`].
pub(super) mod part {
    pub(in crate::live) const NOW: usize = 0;
    pub(in crate::live) const LAYOUT: usize = 1;
    pub(in crate::live) const LOADS: usize = 2;
    pub(in crate::live) const CURVES: usize = 3;
    pub(in crate::live) const MATRIX: usize = 4;
    pub(in crate::live) const LANES: usize = 5;
    pub(in crate::live) const TABLES: usize = 6;
    pub(in crate::live) const PARAMETERS: usize = 7;
}

/// Makes frames for all clients.
pub(super) trait Frames {
    /// Whether anybody watches.
    fn is_watched(&mut self, is_watched: bool);

    /// The frame of now; the last one where what is shown has ended.
    fn sample(&mut self, is_last: bool) -> Frame;
}

/// A part of the data, as it is sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    /// How often it has changed; 0 where there is none.
    pub(super) number: u64,
    pub(super) text: Arc<str>,
}

impl Part {
    /// Replaces it, unless the text is the same.
    pub(super) fn set(&mut self, text: String) {
        if self.number == 0 || *self.text != *text {
            self.number += 1;
            self.text = text.into();
        }
    }
}

/// What is known of the run at an instant.
#[derive(Clone, Debug, Default)]
pub(super) struct Frame {
    /// In the order of [`PARTS`].
    pub(super) parts: [Part; PARTS.len()],
    /// Whether the run has ended.
    pub(super) is_last: bool,
}

/// What a client has got.
#[derive(Debug, Default)]
pub(super) struct Sent {
    numbers: [u64; PARTS.len()],
    /// Nothing more will come.
    pub(super) is_over: bool,
}

impl Frame {
    /// What is new to a client that has got `sent`.
    pub(super) fn news(&self, sent: &mut Sent) -> Vec<Event> {
        let mut events = Vec::new();
        for ((part, name), known) in self.parts.iter().zip(PARTS).zip(&mut sent.numbers) {
            if *known != part.number {
                *known = part.number;
                events.push(Event::default().event(name).data(&*part.text));
            }
        }
        if self.is_last {
            sent.is_over = true;
            events.push(Event::default().event("end").data("end"));
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_each_part_once_until_it_changes() {
        let mut frame = Frame::default();
        frame.parts[0].set("1".into());
        frame.parts[3].set("curve".into());
        let mut sent = Sent::default();
        assert_eq!((frame.news(&mut sent).len(), frame.news(&mut sent).len()), (2, 0));
        frame.parts[0].set("2".into());
        frame.parts[3].set("curve".into());
        assert_eq!(frame.news(&mut sent).len(), 1, "the curve is the same");
        assert_eq!(frame.news(&mut Sent::default()).len(), 2, "a new client gets all");
        frame.is_last = true;
        assert_eq!((frame.news(&mut sent).len(), sent.is_over), (1, true));
    }
}
