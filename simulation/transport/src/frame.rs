//! The frame format: a header of fixed size, then the payload. `docs/wire-format.md` describes it.
//!
//! A writer sends [`Header::new`] before the payload. A reader reads [`HEADER_BYTES`] and passes them to
//! [`Header::read`], which checks the length before anything is allocated; then it reads the payload and
//! checks it with [`Header::check`]. If all bytes are at hand, [`encode`] and [`decode`] do this in one step.
//! Over MPI there is no header. Most paths take frames of far less than [`PAYLOAD_LIMIT`]: see
//! [`Transport::frame_limit`](crate::Transport::frame_limit).
//!
//! Invariants: any bytes can be read without a panic: they are a frame, the beginning of one, or a
//! [`FrameError`]. A single flipped bit in the header or the payload is always detected.
//!
//! ```
//! use paceline_transport::frame;
//!
//! let mut bytes = Vec::new();
//! frame::encode(7, b"twelve o'clock", &mut bytes)?;
//! let (header, payload) = frame::decode(&bytes, 1_024)?.expect("the frame is complete");
//! assert_eq!((header.sequence(), payload), (7, &b"twelve o'clock"[..]));
//!
//! bytes[30] ^= 1;
//! assert!(frame::decode(&bytes, 1_024).is_err());
//! assert_eq!(frame::decode(&bytes[..20], 1_024)?, None, "more has to come");
//! # Ok::<(), frame::FrameError>(())
//! ```

#[cfg(test)]
mod test;

use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;

/// The version of the frame format that this crate writes and reads.
pub const VERSION: u8 = 1;

/// Bytes of a header.
pub const HEADER_BYTES: usize = 24;

/// The most bytes that a payload may have on any path.
pub const PAYLOAD_LIMIT: usize = 64 << 20;

/// The first three bytes of every frame; the fourth is the version.
const MAGIC: [u8; 3] = *b"PLF";

/// Why bytes are not a frame.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum FrameError {
    /// The bytes do not begin like a frame.
    #[error("no frame begins with {0:02x?}")]
    Magic([u8; 3]),
    /// The frame has another version.
    #[error("a frame of version {theirs}, this is version {VERSION}")]
    Version { theirs: u8 },
    /// The frame is longer than allowed.
    #[error("a payload of {length} bytes, {limit} are allowed")]
    Length {
        /// The length of the payload, as given or as found in the header.
        length: u64,
        limit: usize,
    },
    /// A frame before this one is missing, or this frame came twice.
    #[error("frame {found} where {expected} is next")]
    Sequence { expected: u64, found: u64 },
    /// The frame's content is not what was sent.
    #[error("the checksum does not fit")]
    Checksum,
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    length: u32,
    sequence: u64,
    checksum: u64,
}

impl Header {
    /// The header of a frame with this payload. `sequence` is its number among the frames from its sender to
    /// its receiver, from 0.
    pub fn new(sequence: u64, payload: &[u8]) -> Result<Self, FrameError> {
        if payload.len() > PAYLOAD_LIMIT {
            return Err(FrameError::Length { length: payload.len() as u64, limit: PAYLOAD_LIMIT });
        }
        let mut header = Self { length: payload.len() as u32, sequence, checksum: 0 };
        header.checksum = header.sum(payload);
        Ok(header)
    }

    /// The header in its wire format.
    pub fn bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..16].copy_from_slice(&self.summed());
        bytes[16..].copy_from_slice(&self.checksum.to_le_bytes());
        bytes
    }

    /// Reads the header of a frame whose payload may have up to `limit` bytes, but at most [`PAYLOAD_LIMIT`].
    pub fn read(bytes: &[u8; HEADER_BYTES], limit: usize) -> Result<Self, FrameError> {
        let [m0, m1, m2, version, l0, l1, l2, l3, rest @ ..] = *bytes;
        let magic = [m0, m1, m2];
        if magic != MAGIC {
            return Err(FrameError::Magic(magic));
        }
        if version != VERSION {
            return Err(FrameError::Version { theirs: version });
        }
        let (length, limit) = (u32::from_le_bytes([l0, l1, l2, l3]), limit.min(PAYLOAD_LIMIT));
        if length as usize > limit {
            return Err(FrameError::Length { length: u64::from(length), limit });
        }
        let both = u128::from_le_bytes(rest);
        Ok(Self { length, sequence: both as u64, checksum: (both >> 64) as u64 })
    }

    /// Bytes of the payload.
    pub fn length(&self) -> usize {
        self.length as usize
    }

    /// The number of the frame, counted from 0 for each sender and receiver.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Checks that the frame has the number `expected`, and that `payload` is what was sent.
    pub fn check(&self, expected: u64, payload: &[u8]) -> Result<(), FrameError> {
        if payload.len() != self.length() || self.checksum != self.sum(payload) {
            return Err(FrameError::Checksum);
        }
        if self.sequence != expected {
            return Err(FrameError::Sequence { expected, found: self.sequence });
        }
        Ok(())
    }

    /// The part of the header that the checksum covers.
    #[inline]
    fn summed(&self) -> [u8; 16] {
        let [m0, m1, m2] = MAGIC;
        let opening = u32::from_le_bytes([m0, m1, m2, VERSION]);
        (u128::from(opening) | u128::from(self.length) << 32 | u128::from(self.sequence) << 64).to_le_bytes()
    }

    #[inline]
    fn sum(&self, payload: &[u8]) -> u64 {
        xxh3_64(&self.summed()) ^ xxh3_64(payload)
    }
}

/// Appends a frame to `to`.
pub fn encode(sequence: u64, payload: &[u8], to: &mut Vec<u8>) -> Result<(), FrameError> {
    let header = Header::new(sequence, payload)?;
    to.extend_from_slice(&header.bytes());
    to.extend_from_slice(payload);
    Ok(())
}

/// The frame at the beginning of `bytes`, whose payload may have up to `limit` bytes: its checked header and
/// its payload. `None` means that more bytes are needed. The frame is [`HEADER_BYTES`] plus the length of its
/// payload long.
pub fn decode(bytes: &[u8], limit: usize) -> Result<Option<(Header, &[u8])>, FrameError> {
    let Some((header, rest)) = bytes.split_first_chunk() else {
        return Ok(None);
    };
    let header = Header::read(header, limit)?;
    let Some(payload) = rest.get(..header.length()) else {
        return Ok(None);
    };
    header.check(header.sequence, payload)?;
    Ok(Some((header, payload)))
}
