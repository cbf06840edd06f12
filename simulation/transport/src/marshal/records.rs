//! The records of a frame: their layout, and how they are read.
//!
//! One byte of flags, then for each record its length and its bytes. The length is encoded with seven bits
//! per byte, low bits first; the highest bit of a byte says that more follow (LEB128). A flag says that the
//! last record continues with the first of the next frame. `docs/wire-format.md` describes it too.

use thiserror::Error;

/// Bytes before the first record.
pub(super) const OPENING_BYTES: usize = 1;

/// The flag that says that the frame's sender waits for its receiver.
pub(super) const WAITING: u8 = 1;

/// The flag that says that the last record of the frame continues with the first one of the next frame.
pub(super) const CONTINUES: u8 = 2;

/// The most bytes of a length.
pub(super) const PREFIX_BYTES_MAX: usize = 5;

/// The bytes of an encoded length.
#[inline]
pub(super) fn prefix_bytes(length: usize) -> usize {
    match length {
        0..0x80 => 1,
        0x80..0x4000 => 2,
        0x4000..0x20_0000 => 3,
        0x20_0000..0x1000_0000 => 4,
        _ => PREFIX_BYTES_MAX,
    }
}

/// Appends the length of a record.
#[inline]
pub(super) fn put_prefix(length: usize, to: &mut Vec<u8>) {
    let mut rest = length;
    while rest >= 0x80 {
        to.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    to.push(rest as u8);
}

/// Why bytes are not records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RecordError {
    /// There is not even the byte of flags.
    #[error("an empty frame")]
    Empty,
    /// There are flags that this version does not know.
    #[error("unknown flags {0:#04x}")]
    Flags(u8),
    /// A record does not end within the frame, or its length has too many bytes.
    #[error("a record that does not end, at byte {0}")]
    Length(usize),
}

/// The records of a frame built by [`super::Gather`], in order.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    frame: &'a [u8],
    /// Where the next record begins.
    next: usize,
}

impl<'a> Records<'a> {
    /// Reads a frame. All its records are checked here, so that no part of an invalid frame is used.
    pub fn read(frame: &'a [u8]) -> Result<Self, RecordError> {
        let flags = *frame.first().ok_or(RecordError::Empty)?;
        if flags & !(WAITING | CONTINUES) != 0 {
            return Err(RecordError::Flags(flags));
        }
        let mut next = OPENING_BYTES;
        while next < frame.len() {
            next = record(frame, next).ok_or(RecordError::Length(next))?.1;
        }
        Ok(Self { frame, next: OPENING_BYTES })
    }

    /// Whether the sender of the frame waits for its receiver.
    pub fn is_waiting(&self) -> bool {
        self.frame[0] & WAITING != 0
    }

    /// Whether the last record of the frame continues with the first one of the next frame: see
    /// [`super::Gather::hand_over_long`].
    pub fn continues(&self) -> bool {
        self.frame[0] & CONTINUES != 0
    }

    /// Whether there is no further record in the frame.
    pub fn is_empty(&self) -> bool {
        self.next >= self.frame.len()
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let (record, next) = record(self.frame, self.next)?;
        self.next = next;
        Some(record)
    }
}

/// The record that begins at byte `at`, and the start of the next one.
#[inline]
fn record(frame: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let (length, start) = length(frame, at)?;
    let end = start.checked_add(length)?;
    Some((frame.get(start..end)?, end))
}

/// The length that is encoded at byte `at`, and where its record begins.
#[inline]
pub(super) fn length(frame: &[u8], at: usize) -> Option<(usize, usize)> {
    let (mut length, mut start) = (0_usize, at);
    for shift in (0..7 * PREFIX_BYTES_MAX).step_by(7) {
        let byte = *frame.get(start)?;
        start += 1;
        length |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some((length, start));
        }
    }
    None
}
