//! What a process keeps of each other one in its own memory: its sides of the two rings, and whether the other is lost.
//!
//! A loss goes through three states: none, found, reported. Between the last two, what has arrived is still taken in.

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
    /// A frame has been refused, and no room found since.
    refused: AtomicBool,
    loss: AtomicU32,
    kind: Mutex<Option<PeerErrorKind>>,
    incoming: Apart<Incoming>,
}

/// What the thread that writes has.
#[derive(Debug, Default)]
struct Outgoing {
    producer: Producer,
    frames: u64,
    bytes: u64,
}

/// What has been taken in; written by one thread at a time.
#[derive(Debug, Default)]
struct Incoming {
    frames: AtomicU64,
    bytes: AtomicU64,
}

impl Link {
    /// Why the other process is lost, if it is.
    #[inline]
    pub(super) fn lost(&self) -> Option<PeerErrorKind> {
        if self.loss.load(Ordering::Acquire) == NONE { None } else { lock(&self.kind).clone() }
    }

    /// The other process is lost, for the first reason found, and it will be reported.
    pub(super) fn lose(&self, kind: PeerErrorKind) {
        let mut known = lock(&self.kind);
        if known.is_none() {
            *known = Some(kind);
            self.loss.store(FOUND, Ordering::Release);
        }
    }

    /// Whether the loss of the other process has been reported: nothing more comes from it.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.loss.load(Ordering::Acquire) == REPORTED
    }

    /// Whether something is to be taken in or reported.
    #[inline]
    pub(super) fn is_pending(&self, from: Ring<'_>) -> bool {
        match self.loss.load(Ordering::Acquire) {
            NONE => from.is_pending(),
            loss => loss == FOUND,
        }
    }

    /// Writes a frame; whether there was room for it.
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

    /// Whether there is room again for a frame that was refused. Says so once.
    pub(super) fn has_room(&self, to: Ring<'_>) -> bool {
        self.refused.load(Ordering::Acquire) && !to.is_refused() && self.refused.swap(false, Ordering::AcqRel)
    }

    /// Takes in up to a turn's frames; whether there were any. A loss is reported when nothing is left. `bell` is the sender's, who is woken
    /// if it had no room.
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
        // What comes before the end is complete once the end has been found.
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

    /// What has gone this way.
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

/// Looks from time to time whether the others are alive. There is no time under shuttle, where all are.
#[derive(Debug, Default)]
pub(super) struct Watch {
    #[cfg(not(paceline_shuttle))]
    last: Mutex<Option<Instant>>,
}

impl Watch {
    /// Looks, if it is time to.
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
            // Its lock is free only after it has said that it takes leave, if it does so at all.
            if state() == super::JOINED && !region.is_alive(member) && state() == super::JOINED {
                links[member].lose(PeerErrorKind::Gone);
            }
        }
    }

    #[cfg(paceline_shuttle)]
    pub(super) fn look(&self, _others: impl Iterator<Item = usize>, _links: &[Link], _region: &Region) {}
}
