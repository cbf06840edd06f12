//! [`Memory`]: all ranks in one process, for tests; the smallest implementation of [`Transport`], and the
//! first one to read.
//!
//! [`Memory::mesh`] delivers at once. [`Memory::simulated`] simulates a network from a seed: each frame is in
//! transit for a random number of steps but never overtakes one of the same pair, so that arrivals of
//! different pairs interleave at random. A step is a call of `receive`; a call of `wait` advances to the next
//! arrival. There is no clock. [`Memory::inject`] injects faults into either of them.
//!
//! Built with `--cfg paceline_shuttle` it runs under shuttle. `wait` then has no time limit, so that a lost
//! wake-up shows as a deadlock.
//!
//! Invariants: one lock per receiver ([`inbox::Inbox`]); a thread never holds two, and none while frames are
//! handed to the caller. `pending` of a receiver is computed from its inbox under that lock.

mod inbox;
#[cfg(all(test, not(paceline_shuttle)))]
mod test;

use std::time::Duration;

use crate::sync::{Arc, AtomicUsize, Condvar, Mutex, Ordering, lock, try_lock};
use crate::{Handed, Path, PeerError, PeerErrorKind, Transport, frame};
use inbox::{Inbox, Taken};

/// The number of frames that a pair holds when it is full.
const FRAMES: usize = 64;

/// The most bytes of a frame.
const LIMIT: usize = 64 << 10;

/// The unit reported for a path: an Ethernet frame minus headers.
const UNIT: usize = 1_448;

/// A fault of the network or of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants say what their fields are")]
pub enum Fault {
    /// The connection of two processes breaks: frames in transit are lost, and each process finds the other
    /// gone.
    Cut(u32, u32),
    /// A process ends without announcing it. Frames that it has sent still arrive.
    Kill(u32),
    /// A process is stopped, or the network around it fails: nothing arrives from it or at it. It and each
    /// other process find each other silent; the error reports this duration.
    Stop(u32, Duration),
    /// One bit of the next frame between two processes is flipped: the bit with this number, counted from the
    /// beginning of the frame's header and wrapping around, or a random one.
    Corrupt { from: u32, to: u32, bit: Option<u64> },
}

/// One process of a run whose processes are all in this one. Dropping it ends that process.
///
/// ```
/// use paceline_transport::{Handed, Memory, Transport};
///
/// let ranks = Memory::mesh(2);
/// assert_eq!(ranks[0].send(1, b"hello")?, Handed::Over);
/// assert!(ranks[1].is_pending());
/// ranks[1].receive(&mut |from, frame| assert_eq!((from, frame), (0, &b"hello"[..])))?;
/// # Ok::<(), paceline_transport::PeerError>(())
/// ```
#[derive(Debug)]
pub struct Memory {
    rank: u32,
    ends: Arc<[End]>,
}

/// The state of one receiver.
#[derive(Debug)]
struct End {
    inbox: Mutex<Inbox>,
    /// The number of frames and losses to receive, readable without a lock.
    pending: AtomicUsize,
    arrived: Condvar,
    /// Frames between the inbox and the caller; the thread that holds this lock is the one that receives.
    taken: Mutex<Vec<Taken>>,
}

impl Memory {
    /// This many processes; a frame arrives as soon as it is sent.
    pub fn mesh(ranks: u32) -> Vec<Self> {
        Self::new(ranks, None)
    }

    /// This many processes, with a network between them that delays frames at random.
    pub fn simulated(ranks: u32, seed: u64) -> Vec<Self> {
        Self::new(ranks, Some(seed))
    }

    fn new(ranks: u32, seed: Option<u64>) -> Vec<Self> {
        let mut seeds = seed.map(fastrand::Rng::with_seed);
        let end = |_| {
            let random = seeds.as_mut().map(fastrand::Rng::fork);
            End {
                inbox: Mutex::new(Inbox::new(ranks, random)),
                pending: AtomicUsize::new(0),
                arrived: Condvar::new(),
                taken: Mutex::new(Vec::new()),
            }
        };
        let ends: Arc<[End]> = (0..ranks).map(end).collect::<Vec<_>>().into();
        (0..ranks).map(|rank| Self { rank, ends: ends.clone() }).collect()
    }

    /// Injects a fault for all ranks of this mesh. Has no effect on ranks that do not exist.
    pub fn inject(&self, fault: Fault) {
        let peers = |rank| (0..self.ranks()).filter(move |peer| *peer != rank);
        match fault {
            Fault::Cut(a, b) => {
                self.change(a, |inbox| inbox.lose(b, PeerErrorKind::Gone, false));
                self.change(b, |inbox| inbox.lose(a, PeerErrorKind::Gone, false));
            }
            Fault::Kill(rank) => {
                for peer in peers(rank) {
                    self.change(peer, |inbox| inbox.lose(rank, PeerErrorKind::Gone, true));
                    self.change(rank, |inbox| inbox.lose(peer, PeerErrorKind::Gone, false));
                }
            }
            Fault::Stop(rank, silent) => {
                for peer in peers(rank) {
                    self.change(peer, |inbox| inbox.lose(rank, PeerErrorKind::Silent(silent), false));
                    self.change(rank, |inbox| inbox.lose(peer, PeerErrorKind::Silent(silent), false));
                }
            }
            Fault::Corrupt { from, to, bit } => self.change(to, |inbox| inbox.corrupt(from, bit)),
        }
    }

    /// Changes the inbox of `rank` and wakes the thread that waits there.
    fn change<T: Default>(&self, rank: u32, change: impl FnOnce(&mut Inbox) -> T) -> T {
        let Some(end) = self.ends.get(rank as usize) else {
            return T::default();
        };
        let mut inbox = lock(&end.inbox);
        let result = change(&mut inbox);
        end.pending.store(inbox.pending(), Ordering::Release);
        drop(inbox);
        end.arrived.notify_all();
        result
    }

    fn end(&self) -> &End {
        &self.ends[self.rank as usize]
    }
}

impl Transport for Memory {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn ranks(&self) -> u32 {
        self.ends.len() as u32
    }

    fn frame_limit(&self, _to: u32) -> usize {
        LIMIT
    }

    fn unit(&self, _to: u32) -> usize {
        UNIT
    }

    fn send(&self, to: u32, frame: &[u8]) -> Result<Handed, PeerError> {
        assert!(
            to != self.rank && to < self.ranks(),
            "a frame goes to another process of the run, not to {to}"
        );
        assert!(frame.len() <= LIMIT, "a frame of {} bytes is above the limit", frame.len());
        if let Some(kind) = lock(&self.end().inbox).lost(to) {
            return Err(PeerError::new(to, kind));
        }
        let end = &self.ends[to as usize];
        let mut inbox = lock(&end.inbox);
        if !inbox.push(self.rank, frame) {
            return Ok(Handed::Full);
        }
        end.pending.store(inbox.pending(), Ordering::Release);
        drop(inbox);
        end.arrived.notify_all();
        Ok(Handed::Over)
    }

    fn receive(&self, take: &mut dyn FnMut(u32, &[u8])) -> Result<bool, PeerError> {
        let end = self.end();
        let Some(mut taken) = try_lock(&end.taken) else {
            return Ok(false);
        };
        let (lost, relieved) = {
            let mut inbox = lock(&end.inbox);
            let lost = inbox.take(&mut taken);
            end.pending.store(inbox.pending(), Ordering::Release);
            (lost, inbox.relieved())
        };
        for sender in relieved {
            self.change(sender, Inbox::wake);
        }
        let any = !taken.is_empty();
        for Taken { from, bytes } in taken.drain(..) {
            take(from, &bytes[frame::HEADER_BYTES..]);
        }
        lost.map_or(Ok(any), Err)
    }

    fn is_pending(&self) -> bool {
        self.end().pending.load(Ordering::Acquire) > 0
    }

    fn wait(&self, most: Duration) {
        let end = self.end();
        let inbox = lock(&end.inbox);
        let sleep = end.arrived.wait_timeout_while(inbox, most, |inbox| !inbox.is_worth_a_look());
        let (mut inbox, _) = sleep.unwrap_or_else(std::sync::PoisonError::into_inner);
        inbox.go_on();
    }

    fn wake(&self) {
        self.change(self.rank, Inbox::wake);
    }

    fn paths(&self) -> Vec<Path> {
        let peers = (0..self.ranks()).filter(|peer| *peer != self.rank);
        let path = |peer| {
            let (frames_sent, bytes_sent) = lock(&self.ends[peer as usize].inbox).sent(self.rank);
            let (frames_received, bytes_received) = lock(&self.end().inbox).received(peer);
            Path { peer, kind: "memory", frames_sent, bytes_sent, frames_received, bytes_received }
        };
        peers.map(path).collect()
    }

    fn close(&self) {
        for peer in (0..self.ranks()).filter(|peer| *peer != self.rank) {
            self.change(peer, |inbox| inbox.close(self.rank));
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        for peer in (0..self.ranks()).filter(|peer| *peer != self.rank) {
            self.change(peer, |inbox| inbox.lose(self.rank, PeerErrorKind::Gone, true));
            self.change(self.rank, |inbox| inbox.abandon(peer));
        }
    }
}
