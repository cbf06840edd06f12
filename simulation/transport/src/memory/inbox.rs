//! Everything in transit to one receiver: a lane for each sender, and the step at which each frame arrives.
//!
//! Invariants: steps of arrival never decrease in a lane, so nothing overtakes. A loss is found once, at a
//! step of its own, and nothing comes from that sender after it.

use std::collections::VecDeque;

use fastrand::Rng;

use super::{FRAMES, LIMIT};
use crate::frame::{self, HEADER_BYTES};
use crate::{PeerError, PeerErrorKind};

/// The most frames received at a time.
const BATCH: usize = 64;

/// A frame that has arrived, with its header.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) from: u32,
    pub(super) bytes: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Inbox {
    lanes: Vec<Lane>,
    /// The random delays of frames, if there are any.
    random: Option<Rng>,
    step: u64,
    /// Something has happened since the last call of `wait`.
    awake: bool,
    /// Senders that had no room for a frame and have room now.
    relieved: Vec<u32>,
}

/// Everything in transit from one sender.
#[derive(Debug, Default)]
struct Lane {
    /// Frames with the step at which they arrive.
    frames: VecDeque<(u64, Vec<u8>)>,
    /// When the last of them arrives.
    last: u64,
    /// The loss of the sender, and the step at which the receiver finds it.
    loss: Option<(u64, PeerErrorKind)>,
    reported: bool,
    /// The sender has announced its end.
    closed: bool,
    /// The receiver has ended.
    abandoned: bool,
    /// The sender had no room for a frame since the receiver last received something.
    refused: bool,
    /// The next frame is to be damaged, at this bit or at a random one.
    corrupt: Option<Option<u64>>,
    sent: (u64, u64),
    received: (u64, u64),
}

impl Lane {
    /// The step at which the next item of this lane is due.
    fn due(&self) -> Option<u64> {
        let loss = self.loss.as_ref().filter(|_| !self.reported).map(|(step, _)| *step);
        self.frames.front().map(|(step, _)| *step).or(loss)
    }

    /// The number of items due.
    fn pending(&self) -> usize {
        self.frames.len() + usize::from(self.loss.is_some() && !self.reported)
    }
}

impl Inbox {
    pub(super) fn new(ranks: u32, random: Option<Rng>) -> Self {
        let lanes = (0..ranks).map(|_| Lane::default()).collect();
        Self { lanes, random, step: 0, awake: false, relieved: Vec::new() }
    }

    /// The number of frames and losses due.
    pub(super) fn pending(&self) -> usize {
        self.lanes.iter().map(Lane::pending).sum()
    }

    /// When the next item in `from`'s lane arrives: mostly at once, sometimes after some steps, rarely after
    /// many.
    fn arrival(&mut self, from: u32) -> u64 {
        let delay = self.random.as_mut().map_or(0, |random| match random.u32(..16) {
            0..8 => 0,
            8..15 => random.u64(1..8),
            _ => random.u64(8..64),
        });
        (self.step + delay).max(self.lanes[from as usize].last)
    }

    /// Accepts a frame if there is room for it.
    pub(super) fn push(&mut self, from: u32, payload: &[u8]) -> bool {
        let arrival = self.arrival(from);
        let lane = &mut self.lanes[from as usize];
        if lane.frames.len() >= FRAMES {
            lane.refused = true;
            return false;
        }
        let number = lane.sent.0;
        lane.sent = (number + 1, lane.sent.1 + payload.len() as u64);
        if lane.abandoned || lane.loss.is_some() {
            return true;
        }
        let mut bytes = Vec::with_capacity(HEADER_BYTES + payload.len());
        frame::encode(number, payload, &mut bytes)
            .expect("the limit of this transport is below that of frames");
        if let Some(place) = lane.corrupt.take() {
            let bits = 8 * bytes.len() as u64;
            let mut random = Rng::with_seed(number);
            let bit = place
                .map_or_else(|| self.random.as_mut().unwrap_or(&mut random).u64(..bits), |bit| bit % bits);
            bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
        lane.last = arrival;
        lane.frames.push_back((arrival, bytes));
        true
    }

    /// Moves frames that have arrived to `taken`; the order across senders is random if the network is.
    /// Returns the first loss found.
    pub(super) fn take(&mut self, taken: &mut Vec<Taken>) -> Option<PeerError> {
        self.step += 1;
        let mut lanes: Vec<u32> = (0..self.lanes.len() as u32).collect();
        while taken.len() < BATCH {
            lanes.retain(|from| self.lanes[*from as usize].due().is_some_and(|due| due <= self.step));
            if lanes.is_empty() {
                break;
            }
            let next =
                self.random.as_mut().map_or(taken.len() % lanes.len(), |random| random.usize(..lanes.len()));
            let from = lanes[next];
            let lane = &mut self.lanes[from as usize];
            let Some((_, bytes)) = lane.frames.pop_front() else {
                lane.reported = true;
                self.awake = true;
                return lane.loss.clone().map(|(_, kind)| PeerError::new(from, kind));
            };
            if let Err(error) = check(&bytes, lane.received.0) {
                let kind = PeerErrorKind::Damaged(error);
                lane.frames.clear();
                lane.loss = Some((self.step, kind.clone()));
                lane.reported = true;
                self.awake = true;
                return Some(PeerError::new(from, kind));
            }
            if std::mem::take(&mut lane.refused) {
                self.relieved.push(from);
            }
            lane.received.0 += 1;
            lane.received.1 += (bytes.len() - HEADER_BYTES) as u64;
            taken.push(Taken { from, bytes });
        }
        self.awake |= !taken.is_empty();
        None
    }

    pub(super) fn relieved(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.relieved)
    }

    pub(super) fn lost(&self, from: u32) -> Option<PeerErrorKind> {
        self.lanes[from as usize]
            .loss
            .as_ref()
            .filter(|(step, _)| *step <= self.step)
            .map(|(_, kind)| kind.clone())
    }

    /// `from` is lost, unless it has announced its end or was lost before. `arrives`: frames in transit still
    /// arrive.
    pub(super) fn lose(&mut self, from: u32, kind: PeerErrorKind, arrives: bool) {
        if from as usize >= self.lanes.len() {
            return;
        }
        let step = self.arrival(from);
        let lane = &mut self.lanes[from as usize];
        if lane.loss.is_none() && !lane.closed {
            lane.loss = Some((step, kind));
            if !arrives {
                lane.frames.clear();
            }
        }
    }

    /// The next frame from `from` is to be damaged.
    pub(super) fn corrupt(&mut self, from: u32, bit: Option<u64>) {
        if let Some(lane) = self.lanes.get_mut(from as usize) {
            lane.corrupt = Some(bit);
        }
    }

    /// `from` announces its end.
    pub(super) fn close(&mut self, from: u32) {
        self.lanes[from as usize].closed = true;
    }

    /// The receiver has ended: frames from `from` are dropped.
    pub(super) fn abandon(&mut self, from: u32) {
        let lane = &mut self.lanes[from as usize];
        lane.abandoned = true;
        lane.frames.clear();
    }

    /// Ends a call of `wait`.
    pub(super) fn wake(&mut self) {
        self.awake = true;
    }

    /// Whether `wait` has to return.
    pub(super) fn is_worth_a_look(&self) -> bool {
        self.awake || self.lanes.iter().any(|lane| lane.due().is_some())
    }

    /// Ends a call of `wait`: advances to the next arrival.
    pub(super) fn go_on(&mut self) {
        self.awake = false;
        let next = self.lanes.iter().filter_map(Lane::due).min();
        self.step = self.step.max(next.unwrap_or(0));
    }

    /// Frames that `from` has sent, and bytes in them.
    pub(super) fn sent(&self, from: u32) -> (u64, u64) {
        self.lanes[from as usize].sent
    }

    /// Frames received from `from`, and bytes in them.
    pub(super) fn received(&self, from: u32) -> (u64, u64) {
        self.lanes[from as usize].received
    }
}

/// Checks that a frame is undamaged and has the number `expected`.
fn check(bytes: &[u8], expected: u64) -> Result<(), String> {
    let (header, payload) = bytes.split_first_chunk().ok_or("no header")?;
    let header = frame::Header::read(header, LIMIT).map_err(|error| error.to_string())?;
    header.check(expected, payload).map_err(|error| error.to_string())
}
