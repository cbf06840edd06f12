//! Which frames left a machine and arrived at it since somebody looked.
//!
//! Invariant: a frame is named by what no router changes, so that it is known again where it arrives.

use std::mem;

use paceline_packets::FrameBody;

/// What a frame has on its whole way: when it was sent in picoseconds, its number among the frames of its
/// card, and the IPv4 address that it is from.
pub(super) type FrameKey = (u64, u32, [u8; 4]);

/// The frames of a machine.
#[derive(Debug, Default)]
pub(super) struct FrameLog {
    left: Vec<FrameKey>,
    /// On their way to it, with their times in nanoseconds.
    coming: Vec<(u64, FrameKey)>,
    arrived: Vec<(u64, FrameKey)>,
}

impl FrameLog {
    /// It has sent a frame.
    pub(super) fn leaves(&mut self, body: &FrameBody) {
        self.left.extend(key(body));
    }

    /// A frame will arrive at it.
    pub(super) fn comes(&mut self, time_ns: u64, body: &FrameBody) {
        self.coming.extend(key(body).map(|key| (time_ns, key)));
    }

    /// It is granted the time up to `until_ns`.
    pub(super) fn granted(&mut self, until_ns: u64) {
        let (arrived, coming): (Vec<_>, Vec<_>) =
            mem::take(&mut self.coming).into_iter().partition(|(time_ns, _)| *time_ns < until_ns);
        self.arrived.extend(arrived);
        self.coming = coming;
    }

    /// The frames that left.
    pub(super) fn take_left(&mut self) -> Vec<FrameKey> {
        mem::take(&mut self.left)
    }

    /// The frames that arrived, with their times in nanoseconds.
    pub(super) fn take_arrived(&mut self) -> Vec<(u64, FrameKey)> {
        mem::take(&mut self.arrived)
    }
}

/// Nothing for frames other than IPv4, which nobody forwards.
fn key(body: &FrameBody) -> Option<FrameKey> {
    let source = body.bytes.get(26..30).filter(|_| body.bytes[12..14] == [8, 0])?;
    Some((body.sent_ps, body.number, source.try_into().expect("four bytes")))
}
