//! What a process stores about each other process in its own memory: its ends of the two rings, and whether
//! the other is lost.
//!
//! A loss has three states: none, found, reported. Between found and reported, frames that have arrived are
//! still received.

#[cfg(not(paceline_shuttle))]
use std::time::Instant;

use super::Region;
use super::TURN;
use super::bell::Bell;
use super::ring::{Consumer, Producer, Ring};
use crate::sync::{Apart, AtomicBool, AtomicU32, AtomicU64, Mutex, Ordering, lock};
use crate::{Path, PeerErrorKind};

/// States of a loss.
const NONE: u32 = 0;
const FOUND: u32 = 1;
const REPORTED: u32 = 2;

/// One other process.
#[derive(Debug, Default)]
pub(super) struct Link {
    outgoing: Apart<Mutex<Outgoing>>,
    /// A frame has been refused, and no room has been found since.
    refused: AtomicBool,
    loss: AtomicU32,
    kind: Mutex<Option<PeerErrorKind>>,
    incoming: Apart<Incoming>,
}

/// The data of the thread that writes.
#[derive(Debug, Default)]
struct Outgoing {
    producer: Producer,
    frames: u64,
    bytes: u64,
}

/// Counts of what has been received; written by one thread at a time.
#[derive(Debug, Default)]
struct Incoming {
    frames: AtomicU64,
    bytes: AtomicU64,
}

impl Link {
    #[inline]
    pub(super) fn lost(&self) -> Option<PeerErrorKind> {
        if self.loss.load(Ordering::Acquire) == NONE { None } else { lock(&self.kind).clone() }
    }

    /// Records the loss of the other process; the first reason counts, and will be reported.
    pub(super) fn lose(&self, kind: PeerErrorKind) {
        let mut known = lock(&self.kind);
        if known.is_none() {
            *known = Some(kind);
            self.loss.store(FOUND, Ordering::Release);
        }
    }

    /// Whether a frame has come from the other process.
    #[cfg(all(feature = "rendezvous", not(paceline_shuttle)))]
    pub(super) fn has_spoken(&self) -> bool {
        self.incoming.frames.load(Ordering::Relaxed) > 0
    }

    /// Whether the loss of the other process has been reported: nothing more will come from it.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.loss.load(Ordering::Acquire) == REPORTED
    }

    /// Whether there is something to receive or to report.
    #[inline]
    pub(super) fn is_pending(&self, from: Ring<'_>) -> bool {
        match self.loss.load(Ordering::Acquire) {
            NONE => from.is_pending(),
            loss => loss == FOUND,
        }
    }

    /// Writes a frame. Returns whether there was room for it.
    #[inline]
    pub(super) fn push(&self, to: Ring<'_>, frame: &[u8]) -> Result<bool, PeerErrorKind> {
        let mut outgoing = lock(&self.outgoing);
        let over =
            outgoing.producer.push(to, frame).map_err(|damage| PeerErrorKind::Damaged(damage.to_string()))?;
        if over {
            outgoing.frames += 1;
            outgoing.bytes += frame.len() as u64;
        } else {
            self.refused.store(true, Ordering::Release);
        }
        Ok(over)
    }

    /// Whether there is room again for a frame that was refused. Returns `true` once.
    pub(super) fn has_room(&self, to: Ring<'_>) -> bool {
        self.refused.load(Ordering::Acquire) && !to.is_refused() && self.refused.swap(false, Ordering::AcqRel)
    }

    /// Receives up to a turn's frames. Returns whether there were any. Reports a loss when no frame is left.
    /// `bell` is the sender's; it is rung if the sender had no room.
    #[inline]
    pub(super) fn pull(
        &self,
        consumer: &mut Consumer,
        from: Ring<'_>,
        bell: &Bell,
        payload: &mut Vec<u8>,
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<bool, PeerErrorKind> {
        let (mut frames, mut bytes) = (0, 0);
        // Load the loss first: if it has been found, everything sent before the end is in the ring by now.
        let loss = self.loss.load(Ordering::Acquire);
        let mut damage = None;
        while frames < TURN {
            match consumer.pop(from, payload) {
                Ok(true) => {
                    frames += 1;
                    bytes += payload.len();
                    take(payload);
                    if consumer.is_to_release(from) {
                        consumer.release(from, bell);
                    }
                }
                Ok(false) => break,
                Err(found) => {
                    damage = Some(PeerErrorKind::Damaged(found.to_string()));
                    break;
                }
            }
        }
        if frames > 0 {
            consumer.release(from, bell);
            self.incoming.frames.fetch_add(frames as u64, Ordering::Relaxed);
            self.incoming.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        }
        if damage.is_none() && (loss == NONE || frames > 0) {
            return Ok(frames > 0);
        }
        let mut known = lock(&self.kind);
        let kind = damage.or(known.clone()).expect("a loss has a reason");
        *known = Some(kind.clone());
        self.loss.store(REPORTED, Ordering::Release);
        Err(kind)
    }

    /// The path to the peer and its traffic.
    pub(super) fn path(&self, peer: u32) -> Path {
        let outgoing = lock(&self.outgoing);
        Path {
            peer,
            kind: "shared memory",
            frames_sent: outgoing.frames,
            bytes_sent: outgoing.bytes,
            frames_received: self.incoming.frames.load(Ordering::Relaxed),
            bytes_received: self.incoming.bytes.load(Ordering::Relaxed),
        }
    }
}

/// Checks from time to time whether the other processes are alive. Does nothing under shuttle, where all are.
#[derive(Debug, Default)]
pub(super) struct Watch {
    #[cfg(not(paceline_shuttle))]
    last: Mutex<Option<Instant>>,
}

impl Watch {
    /// Checks if it is time to.
    #[cfg(not(paceline_shuttle))]
    pub(super) fn look(&self, others: impl Iterator<Item = usize>, links: &[Link], region: &Region) {
        let now = Instant::now();
        let Some(mut last) = crate::sync::try_lock(&self.last) else {
            return;
        };
        if last.is_some_and(|last| now.duration_since(last) < super::WATCH_EVERY) {
            return;
        }
        *last = Some(now);
        for member in others {
            let state = || region.post(member).state.load(Ordering::Acquire);
            // The lock becomes free only after the process has announced its end, if it does so at all; so
            // check the state again.
            if state() == super::JOINED && !region.is_alive(member) && state() == super::JOINED {
                links[member].lose(PeerErrorKind::Gone);
            }
        }
    }

    #[cfg(paceline_shuttle)]
    pub(super) fn look(&self, _others: impl Iterator<Item = usize>, _links: &[Link], _region: &Region) {}
}
