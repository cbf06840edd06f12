//! Frames: a header of 24 bytes, the greatest byte of each number first, and a body.
//!
//! The header has the size with itself (4 bytes), the frame's number (4), the session (8), the number of the
//! last frame that its sender has received (4), and the kind (4). Numbers have 31 bits; the 32nd says that
//! there is none.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use thiserror::Error;

/// Bytes of a header.
pub const HEADER: usize = 24;
/// The most bytes of a frame, if a host sets no other limit. Modules of object models are the greatest.
pub const FRAME_MAX: usize = 16 << 20;
/// The most bytes of a frame before there is a session: an opening or a resumption, from whomever.
pub const OPENING_MAX: usize = 64;

/// Says that there is no number.
const NO_NUMBER: u32 = 1 << 31;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $number:literal),* $(,)?) => {
        /// What a frame is for. The numbers are the standard's.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $($(#[$doc])* $name = $number),*
        }

        impl Kind {
            fn read(number: u32) -> Option<Self> {
                match number {
                    $($number => Some(Self::$name),)*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    /// A client opens a session; the body is the protocol's version.
    NewSession = 1,
    /// Whether it is open: a reason.
    NewSessionStatus = 2,
    /// Wants an answer, so that silence is noticed.
    Heartbeat = 3,
    /// The number of the heartbeat.
    HeartbeatResponse = 4,
    /// A client ends its session.
    TerminateSession = 5,
    /// The session is ended. Some clients end theirs with it.
    SessionTerminated = 6,
    /// What those clients take for the answer.
    OtherSessionTerminated = 7,
    /// A client comes back: the last number that it has received, and the first that it could send again.
    ResumeRequest = 10,
    /// A reason, and the last number that has been received.
    ResumeStatus = 11,
    /// A call of a federate.
    CallRequest = 20,
    /// The number of the call, and the response.
    CallResponse = 21,
    /// A callback to a federate.
    CallbackRequest = 22,
    /// The number of the callback, and whether the federate took it.
    CallbackResponse = 23,
}

/// What is sent as one piece: a header, and what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Of this frame; 31 bits.
    pub number: Option<u32>,
    /// 0 if there is none yet.
    pub session: u64,
    /// Of the last frame that its sender has received; 31 bits.
    pub last_received: Option<u32>,
    /// What it is for.
    pub kind: Kind,
    /// What stands behind the header.
    pub body: Bytes,
}

/// A connection that brings no frames. It cannot be read any further.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum FrameError {
    /// The size is below a header's.
    #[error("a frame of {size} bytes is shorter than its header of {HEADER}")]
    Short { size: usize },
    /// The size is above the limit.
    #[error("a frame of {size} bytes is longer than the limit of {limit}")]
    Long { size: usize, limit: usize },
    /// The kind has no meaning.
    #[error("kind {kind} is none of 1 to 7, 10, 11 and 20 to 23")]
    Kind { kind: u32 },
}

fn put_number(number: Option<u32>, out: &mut impl BufMut) {
    out.put_u32(number.unwrap_or(NO_NUMBER));
}

pub(crate) fn read_number(number: u32) -> Option<u32> {
    (number < NO_NUMBER).then_some(number)
}

impl Frame {
    /// Adds its bytes to `out`.
    pub fn write(&self, out: &mut impl BufMut) {
        out.put_u32((HEADER + self.body.len()) as u32);
        put_number(self.number, out);
        out.put_u64(self.session);
        put_number(self.last_received, out);
        out.put_u32(self.kind as u32);
        out.put_slice(&self.body);
    }
}

/// Cuts what comes along one connection into frames.
///
/// ```
/// use paceline_fedpro::{Frame, FrameReader, Kind};
///
/// let body = vec![0, 0, 0, 1].into();
/// let opening = Frame { number: Some(0), session: 0, last_received: None, kind: Kind::NewSession, body };
/// let mut bytes = Vec::new();
/// opening.write(&mut bytes);
/// let mut reader = FrameReader::default();
/// reader.push(&bytes[..27]);
/// assert_eq!(reader.next_frame(), Ok(None), "a byte is missing");
/// reader.push(&bytes[27..]);
/// assert_eq!(reader.next_frame(), Ok(Some(opening)));
/// ```
#[derive(Debug)]
pub struct FrameReader {
    buffered: BytesMut,
    limit: usize,
}

impl Default for FrameReader {
    /// For a connection that has no session yet.
    fn default() -> Self {
        Self { buffered: BytesMut::new(), limit: OPENING_MAX }
    }
}

impl FrameReader {
    /// From now on a frame has at most this many bytes.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Takes in what has come.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffered.extend_from_slice(bytes);
    }

    /// The next frame, if it is there whole.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        let Some(size) = self.buffered.first_chunk().map(|size| u32::from_be_bytes(*size) as usize) else {
            return Ok(None);
        };
        // Before anything is kept for it, whoever sends it.
        if size > self.limit {
            return Err(FrameError::Long { size, limit: self.limit });
        }
        if size < HEADER {
            return Err(FrameError::Short { size });
        }
        if self.buffered.len() < size {
            return Ok(None);
        }
        let mut bytes = self.buffered.split_to(size).freeze();
        bytes.advance(4);
        let (number, session, last_received, kind) =
            (bytes.get_u32(), bytes.get_u64(), bytes.get_u32(), bytes.get_u32());
        Ok(Some(Frame {
            number: read_number(number),
            session,
            last_received: read_number(last_received),
            kind: Kind::read(kind).ok_or(FrameError::Kind { kind })?,
            body: bytes,
        }))
    }
}
