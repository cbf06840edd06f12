//! The bytes of one connection to be sent, and those that have arrived: bounded, in order, cut into frames.

use std::io;

use crate::frame::{self, FrameError, HEADER_BYTES, Header};

/// The most bytes that wait to be sent, and the most that are read before they are handed on.
const CAPACITY: usize = 256 << 10;

/// Additional room for notices.
const NOTICES: usize = 4 * (HEADER_BYTES + 1);

/// The number of the first notice.
const NOTICE: u64 = 1 << 63;

/// The content of a notice.
pub(super) const ALIVE: u8 = 0;
pub(super) const LEAVE: u8 = 1;

/// What is to be sent.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    buffer: Vec<u8>,
    /// The start of the unsent bytes in `buffer`.
    start: usize,
    sequence: u64,
    notices: u64,
    /// Frames and bytes before counting began, and since then.
    uncounted: u64,
    bytes: u64,
}

impl Outgoing {
    fn waiting(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// Whether a frame of this many bytes still fits. An empty buffer has room for any allowed frame.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.waiting() + HEADER_BYTES + bytes <= CAPACITY
    }

    pub(super) fn push(&mut self, payload: &[u8]) -> Result<(), FrameError> {
        self.make_room(payload.len());
        frame::encode(self.sequence, payload, &mut self.buffer)?;
        self.sequence += 1;
        self.bytes += payload.len() as u64;
        Ok(())
    }

    /// Appends a notice, if there is room.
    pub(super) fn notify(&mut self, notice: u8) {
        if self.waiting() + HEADER_BYTES < CAPACITY + NOTICES {
            self.make_room(1);
            frame::encode(NOTICE + self.notices, &[notice], &mut self.buffer).expect("one byte is allowed");
            self.notices += 1;
        }
    }

    /// Moves waiting bytes to the front if the buffer would otherwise grow.
    fn make_room(&mut self, bytes: usize) {
        if self.start > 0 && self.buffer.len() + HEADER_BYTES + bytes > CAPACITY + NOTICES {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
    }

    /// Writes waiting bytes. Returns whether none is left.
    pub(super) fn send(&mut self, mut write: impl FnMut(&[u8]) -> io::Result<usize>) -> io::Result<bool> {
        while self.start < self.buffer.len() {
            self.start += write(&self.buffer[self.start..])?;
        }
        self.clear();
        Ok(true)
    }

    pub(super) fn clear(&mut self) {
        self.buffer.clear();
        self.start = 0;
    }

    pub(super) fn counted(&self) -> (u64, u64) {
        (self.sequence - self.uncounted, self.bytes)
    }

    pub(super) fn count_anew(&mut self) {
        (self.uncounted, self.bytes) = (self.sequence, 0);
    }
}

/// What has arrived.
#[derive(Debug)]
pub(super) struct Incoming {
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    limit: usize,
    sequence: u64,
    notices: u64,
    uncounted: u64,
    bytes: u64,
    left: bool,
}

impl Incoming {
    pub(super) fn new(limit: usize) -> Self {
        let buffer = vec![0; CAPACITY].into();
        Self { buffer, start: 0, end: 0, limit, sequence: 0, notices: 0, uncounted: 0, bytes: 0, left: false }
    }

    pub(super) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Whether the peer has announced that nothing will follow.
    pub(super) fn has_left(&self) -> bool {
        self.left
    }

    /// The buffer to read bytes into; afterwards [`Incoming::add`] takes the number of bytes read.
    pub(super) fn free(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.start > 0 && self.buffer.len() - self.end < self.buffer.len() / 2 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        &mut self.buffer[self.end..]
    }

    pub(super) fn add(&mut self, bytes: usize) {
        self.end += bytes;
    }

    /// Hands on up to `most` complete frames. Returns how many there were.
    pub(super) fn take(&mut self, most: usize, take: &mut dyn FnMut(&[u8])) -> Result<usize, FrameError> {
        let mut frames = 0;
        while frames < most {
            let bytes = &self.buffer[self.start..self.end];
            let Some(header) = bytes.first_chunk() else {
                break;
            };
            let header = Header::read(header, self.limit)?;
            let Some(payload) = bytes[HEADER_BYTES..].get(..header.length()) else {
                break;
            };
            // A damaged frame stays in the buffer, so that nothing after it is handed on.
            let is_notice = header.sequence() >= NOTICE;
            header.check(if is_notice { NOTICE + self.notices } else { self.sequence }, payload)?;
            self.start += HEADER_BYTES + header.length();
            if is_notice {
                self.notices += 1;
                self.left |= payload == [LEAVE];
                continue;
            }
            self.sequence += 1;
            self.bytes += payload.len() as u64;
            frames += 1;
            take(payload);
        }
        Ok(frames)
    }

    pub(super) fn counted(&self) -> (u64, u64) {
        (self.sequence - self.uncounted, self.bytes)
    }

    pub(super) fn count_anew(&mut self) {
        (self.uncounted, self.bytes) = (self.sequence, 0);
    }
}

#[cfg(test)]
mod test {
    use proptest::prelude::*;

    use super::{Incoming, Outgoing};
    use crate::frame::FrameError;

    proptest! {
        /// Whatever pieces the system writes and reads, the frames come out as they went in.
        #[test]
        fn pieces_make_the_same_frames(
            frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..3_000), 1..40),
            pieces in prop::collection::vec(1_usize..5_000, 1..50),
        ) {
            let (mut outgoing, mut incoming) = (Outgoing::default(), Incoming::new(3_000));
            let (mut wire, mut found) = (Vec::new(), Vec::new());
            let mut pieces = pieces.into_iter().cycle();
            for frame in &frames {
                outgoing.notify(super::ALIVE);
                outgoing.push(frame).expect("allowed");
                let piece = pieces.next().expect("a cycle");
                let _ = outgoing.send(|bytes| {
                    // One piece, and then no room.
                    if wire.len() >= piece { return Err(std::io::ErrorKind::WouldBlock.into()); }
                    let some = bytes.len().min(piece);
                    wire.extend_from_slice(&bytes[..some]);
                    Ok(some)
                });
                let free = incoming.free();
                let some = wire.len().min(free.len());
                free[..some].copy_from_slice(&wire[..some]);
                incoming.add(some);
                wire.drain(..some);
                incoming.take(7, &mut |bytes| found.push(bytes.to_vec())).expect("undamaged");
            }
            outgoing.send(|bytes| { wire.extend_from_slice(bytes); Ok(bytes.len()) }).expect("there is room");
            for piece in wire.chunks(1_000) {
                incoming.free()[..piece.len()].copy_from_slice(piece);
                incoming.add(piece.len());
                incoming.take(usize::MAX, &mut |bytes| found.push(bytes.to_vec())).expect("undamaged");
            }
            prop_assert_eq!(found, frames);
        }
    }

    #[test]
    fn a_frame_above_the_limit_is_an_error_before_it_is_there() {
        let (mut outgoing, mut incoming) = (Outgoing::default(), Incoming::new(10));
        outgoing.push(&[0; 11]).expect("allowed");
        let mut wire = Vec::new();
        outgoing
            .send(|bytes| {
                wire.extend_from_slice(bytes);
                Ok(bytes.len())
            })
            .expect("there is room");
        incoming.free()[..30].copy_from_slice(&wire[..30]);
        incoming.add(30);
        let refused = incoming.take(1, &mut |_| {}).expect_err("11 are more than 10");
        assert!(matches!(refused, FrameError::Length { length: 11, .. }), "{refused}");
    }

    #[test]
    fn a_full_buffer_has_no_room_and_an_empty_one_has() {
        let mut outgoing = Outgoing::default();
        let frame = vec![7; 60_000];
        let mut pushed = 0;
        while outgoing.has_room(frame.len()) {
            outgoing.push(&frame).expect("allowed");
            pushed += 1;
        }
        assert!((2..10).contains(&pushed));
        outgoing.clear();
        assert!(outgoing.has_room(frame.len()));
    }
}
