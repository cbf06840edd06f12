//! What waits to be sent to another process.
//!
//! Messages are gathered into frames as large as the path carries at best. A message may continue in the next frame: to the receiver
//! frames are pieces of one sequence of bytes.
//!
//! Invariant: what is sent off leaves in the order in which it was added; whoever waits for room takes in what arrives meanwhile, so that
//! two processes that send to each other never wait for each other, and nobody waits once the run has gone wrong.

use std::time::Duration;

use paceline_transport::{Handed, PeerError, Transport};

use super::rounds::COLOURS;
use crate::sync::thread;

/// Bytes of the length in front of each message.
pub(super) const LENGTH_BYTES: usize = 4;
/// Frames are gathered up to this many units of the path.
const UNITS: usize = 8;
/// Tries without a pause, and the longest pause after them.
const TRIES: u32 = 64;
const LONGEST_PAUSE: Duration = Duration::from_micros(200);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    bytes: Vec<u8>,
    /// The round in which messages are sent now, modulo [`COLOURS`], and how many have been.
    round: u8,
    sent: u64,
}

impl Outgoing {
    /// Adds a message of the round in which it is sent: `encode` gets that. The same as [`Outgoing::record`] otherwise.
    pub(super) fn message(
        &mut self,
        encode: impl FnOnce(&mut Vec<u8>, u8) -> Result<(), postcard::Error>,
    ) -> Result<(), postcard::Error> {
        let round = self.round;
        self.record(|out| encode(out, round))?;
        self.sent += 1;
        Ok(())
    }

    /// From now on messages are of the next round. Gives how many were sent in the last one.
    pub(super) fn next_round(&mut self) -> u64 {
        self.round = (self.round + 1) % COLOURS as u8;
        std::mem::take(&mut self.sent)
    }

    /// Adds something that is of no round, unless it cannot be encoded, or is longer than its length can say.
    pub(super) fn record(
        &mut self,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<(), postcard::Error>,
    ) -> Result<(), postcard::Error> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; LENGTH_BYTES]);
        if let Err(error) = encode(&mut self.bytes) {
            self.bytes.truncate(start);
            return Err(error);
        }
        let Ok(length) = u32::try_from(self.bytes.len() - start - LENGTH_BYTES) else {
            self.bytes.truncate(start);
            return Err(postcard::Error::SerializeBufferFull);
        };
        self.bytes[start..start + LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
        Ok(())
    }

    pub(super) fn is_full(&self, unit: usize) -> bool {
        self.bytes.len() >= UNITS * unit
    }

    /// Sends a sign of life, unless something waits or there is no room: then others see anyway that this process is there.
    pub(super) fn give_sign(
        &mut self,
        rank: u32,
        transport: &dyn Transport,
        sign: impl FnOnce(&mut Vec<u8>) -> Result<(), postcard::Error>,
    ) -> Result<(), PeerError> {
        if self.bytes.is_empty() && self.record(sign).is_ok() {
            let sent = transport.send(rank, &self.bytes);
            self.bytes.clear();
            sent.map(drop)?;
        }
        Ok(())
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Sends off all that waits; the receiver is woken for it only if it `wakes`. Where there is no room for it, `goes_on` is asked again and again whether it is still worth it; what is not
    /// is lost.
    pub(super) fn send_off(
        &mut self,
        rank: u32,
        transport: &dyn Transport,
        wakes: bool,
        mut goes_on: impl FnMut() -> bool,
    ) -> Result<(), PeerError> {
        let limit = transport.frame_limit(rank);
        let send = |frame| {
            if wakes { transport.send(rank, frame) } else { transport.send_quietly(rank, frame) }
        };
        for frame in self.bytes.chunks(limit) {
            let mut tries = 0;
            while send(frame)? == Handed::Full {
                if !goes_on() {
                    self.bytes.clear();
                    return Ok(());
                }
                tries += 1;
                pause(tries);
            }
        }
        self.bytes.clear();
        Ok(())
    }
}

/// Lets others run before the next try: longer and longer, but never for long.
fn pause(tries: u32) {
    if tries <= TRIES {
        thread::yield_now();
    } else {
        thread::sleep(LONGEST_PAUSE.min(Duration::from_micros(u64::from(tries - TRIES))));
    }
}
