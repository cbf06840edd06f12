//! [`Tcp`]: one TCP connection for each pair of processes, plain or with TLS.
//!
//! [`stream`] is the connection as a stream of bytes; [`buffer`] cuts it into frames; [`link`] holds
//! everything about one peer; [`poller`] is what threads sleep on; [`helper`] is the thread that sends and
//! checks signs of life; [`handshake`] is how two processes find out that they belong to the same run.
//! `docs/wire-format.md` describes the protocol.
//!
//! If the network is slow, frames to a peer wait in a bounded buffer; later calls of `send`, `receive` and
//! `wait` send the rest. A peer that ends is found by the end of its connection; one that is stopped or cut
//! off is found by missing signs of life. Everything that has arrived from a peer is received before its loss
//! is reported.
//!
//! Invariants: one thread at a time receives (a lock taken with `try_lock`). The system reports a readiness
//! once; the link remembers it until a read has found nothing more. No call except `wait` sleeps, except that
//! dropping a transport after [`Transport::close`] waits up to two seconds for the last bytes to leave.

mod buffer;
pub(crate) mod handshake;
mod helper;
pub(crate) mod link;
mod poller;
mod socket;
pub(crate) mod stream;
#[cfg(test)]
mod test;
pub(crate) mod tls;

use std::io;
use std::ops::RangeInclusive;
use std::sync::OnceLock;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::frame::HEADER_BYTES;
use crate::silence::Limits;
use crate::sync::{Arc, AtomicBool, AtomicU64, Mutex, Ordering, lock, try_lock};
use crate::{Handed, Path, PeerError, Transport};
use link::Link;
use poller::Poller;

pub(crate) const FRAME_LIMIT: usize = (64 << 10) - HEADER_BYTES;

/// The plausible range of a path's MTU in bytes.
const UNITS: RangeInclusive<usize> = 1_000..=9_000;

/// The time after the last poll of the sockets from which on [`Transport::is_pending`] polls them again.
/// Whoever waits asks that many times a microsecond; it must get a definite answer, because a thread that
/// gets "perhaps" looks, finds nothing, asks again, and never sleeps.
const LOOK_EVERY: Duration = Duration::from_micros(20);

/// The connections of one process to the others, or to some of them. [`crate::Coordinator`] and
/// [`crate::join`] create them. Dropping it ends them; see [`Transport::close`].
#[derive(Debug)]
pub(crate) struct Tcp {
    core: Arc<Core>,
    helper: Option<JoinHandle<()>>,
}

/// What the threads of the process share.
pub(crate) struct Core {
    rank: u32,
    /// By rank; `None` for ranks that are not reached by TCP.
    links: Box<[Option<Link>]>,
    poller: Poller,
    /// There was a wake-up or an arrival since the last call of `wait`.
    awake: AtomicBool,
    /// The number of calls of `receive`; locked by the thread that receives.
    receiving: Mutex<usize>,
    start: Instant,
    /// Nanoseconds from `start` to the last poll of the sockets.
    looked_ns: AtomicU64,
    limits: Limits,
    unit: Option<usize>,
    stopping: AtomicBool,
    closed: AtomicBool,
    on_arrival: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Tcp {
    /// Takes over connections, each with the rank of the peer. Peers have to give signs of life within
    /// `limits`.
    pub(crate) fn new(
        rank: u32,
        ranks: u32,
        connected: Vec<(u32, Link)>,
        limits: Limits,
        unit: Option<usize>,
    ) -> io::Result<Self> {
        let poller = Poller::new()?;
        let mut links: Vec<_> = (0..ranks).map(|_| None).collect();
        for (peer, link) in connected {
            poller.add(peer, link.stream())?;
            link.count_anew();
            link.heard();
            links[peer as usize] = Some(link);
        }
        let core = Arc::new(Core {
            rank,
            links: links.into(),
            poller,
            awake: AtomicBool::new(false),
            receiving: Mutex::new(0),
            start: Instant::now(),
            looked_ns: AtomicU64::new(0),
            limits,
            unit: unit.map(|unit| unit.clamp(*UNITS.start(), *UNITS.end())),
            stopping: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            on_arrival: OnceLock::new(),
        });
        let shared = core.clone();
        let helper = std::thread::Builder::new().name("signs of life".to_owned());
        let helper = helper.spawn(move || helper::run(&shared))?;
        Ok(Self { core, helper: Some(helper) })
    }

    /// Sets what the helper thread does at the first arrival after [`Tcp::arm`]. To be called once.
    pub(crate) fn on_arrival(&self, action: Box<dyn Fn() + Send + Sync>) {
        assert!(self.core.on_arrival.set(action).is_ok(), "it is said once what an arrival does");
    }

    /// Announces that a thread of this process is about to sleep on something else and must be woken at an
    /// arrival.
    pub(crate) fn arm(&self) {
        self.core.poller.arm();
    }

    /// Whether the waiting thread has to return: a frame that was refused has room, or there is something to
    /// receive.
    pub(crate) fn is_worth_a_look(&self) -> bool {
        self.core.awake.swap(false, Ordering::AcqRel) || self.core.is_ready()
    }

    pub(crate) fn reaches(&self, peer: u32) -> bool {
        self.core.links.get(peer as usize).is_some_and(Option::is_some)
    }
}

impl Core {
    fn links(&self) -> impl Iterator<Item = (u32, &Link)> {
        self.links.iter().enumerate().filter_map(|(peer, link)| Some((peer as u32, link.as_ref()?)))
    }

    fn link(&self, to: u32) -> &Link {
        let link = self.links.get(to as usize).and_then(Option::as_ref);
        link.unwrap_or_else(|| panic!("a frame goes to another process of the run, not to {to}"))
    }

    /// The sleep of the thread that wake-ups are for: looks, and takes the wake-ups so far.
    fn sleep(&self, most: Duration) -> bool {
        let worth = self.look(most);
        self.poller.hush();
        worth
    }

    /// Polls the sockets, sleeping up to `most`, and records their events. Returns whether a waiting thread
    /// has to return.
    fn look(&self, most: Duration) -> bool {
        let mut worth = false;
        self.poller.wait(most, |event| {
            let Some(link) = &self.links[event.peer as usize] else {
                return;
            };
            if event.is_readable {
                link.note(event.is_ending);
                worth = true;
            }
            if event.is_writable {
                link.go_on();
                if link.has_room() {
                    // Also set if no thread waits now: the caller may be about to wait with a frame that was
                    // refused.
                    self.awake.store(true, Ordering::Release);
                    worth = true;
                }
            }
        });
        self.looked_ns.store(self.start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        worth
    }

    fn is_ready(&self) -> bool {
        self.links().any(|(_, link)| link.is_pending())
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    fn wake(&self) {
        if !self.awake.swap(true, Ordering::AcqRel) {
            self.poller.wake();
        }
    }

    /// Wakes the thread that sleeps on something else.
    fn pass_on(&self) {
        if let Some(action) = self.on_arrival.get() {
            self.sleep(Duration::ZERO);
            action();
        }
    }
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core").field("rank", &self.rank).field("links", &self.links).finish_non_exhaustive()
    }
}

impl Transport for Tcp {
    fn rank(&self) -> u32 {
        self.core.rank
    }

    fn ranks(&self) -> u32 {
        self.core.links.len() as u32
    }

    fn frame_limit(&self, _to: u32) -> usize {
        FRAME_LIMIT
    }

    fn unit(&self, to: u32) -> usize {
        let path = || self.core.link(to).stream().segment_bytes().clamp(*UNITS.start(), *UNITS.end());
        self.core.unit.unwrap_or_else(path) - HEADER_BYTES
    }

    fn send(&self, to: u32, frame: &[u8]) -> Result<Handed, PeerError> {
        assert!(frame.len() <= FRAME_LIMIT, "a frame has at most {FRAME_LIMIT} bytes, not {}", frame.len());
        self.core.link(to).push(frame).map_err(|kind| PeerError::new(to, kind))
    }

    fn receive(&self, take: &mut dyn FnMut(u32, &[u8])) -> Result<bool, PeerError> {
        let core = &*self.core;
        let Some(mut calls) = try_lock(&core.receiving) else {
            return Ok(false);
        };
        *calls = calls.wrapping_add(1);
        core.look(Duration::ZERO);
        let (ranks, mut any) = (core.links.len(), false);
        for turn in 0..ranks {
            let peer = (turn + *calls) % ranks;
            let Some(link) = core.links[peer].as_ref().filter(|link| link.is_pending()) else {
                continue;
            };
            let some = link.pull(&mut |frame| take(peer as u32, frame));
            any |= some.map_err(|kind| PeerError::new(peer as u32, kind))?;
        }
        if any {
            core.awake.store(true, Ordering::Release);
        }
        Ok(any)
    }

    fn is_pending(&self) -> bool {
        let core = &*self.core;
        if core.is_ready() {
            return true;
        }
        let looked = Duration::from_nanos(core.looked_ns.load(Ordering::Relaxed));
        if core.start.elapsed().saturating_sub(looked) <= LOOK_EVERY {
            return false;
        }
        core.look(Duration::ZERO);
        core.is_ready()
    }

    fn wait(&self, most: Duration) {
        let core = &*self.core;
        let start = Instant::now();
        loop {
            if self.is_worth_a_look() {
                return;
            }
            let left = most.saturating_sub(start.elapsed());
            if left.is_zero() || core.sleep(left) {
                return core.awake.store(false, Ordering::Release);
            }
        }
    }

    fn wake(&self) {
        self.core.wake();
    }

    fn paths(&self) -> Vec<Path> {
        self.core.links().map(|(peer, link)| link.path(peer)).collect()
    }

    fn close(&self) {
        if !self.core.closed.swap(true, Ordering::AcqRel) {
            self.core.links().for_each(|(_, link)| link.notify(buffer::LEAVE));
        }
    }
}

impl Drop for Tcp {
    /// Ends the helper thread and the connections. After announcing the end, waits a little for the
    /// announcement to get through: closing a connection with unread data resets it, and the reset can
    /// destroy what was sent last.
    fn drop(&mut self) {
        self.core.stopping.store(true, Ordering::Release);
        self.core.poller.stop();
        if let Some(helper) = self.helper.take() {
            // It panics only if an invariant is broken, which has been reported then.
            let _ = helper.join();
        }
        if !self.core.closed.load(Ordering::Acquire) {
            return;
        }
        let by = Instant::now() + helper::LINGER;
        let _receiving = lock(&self.core.receiving);
        // Who gives no sign of life takes nothing in either.
        let there = || self.core.links().map(|(_, link)| link).filter(|link| !link.is_late(self.core.limits));
        for link in there() {
            while !link.is_over() && !link.flush() && link.stream().wait(true, by).is_ok() {}
            link.stream().finish();
        }
        for link in there() {
            while !link.is_over() && !link.is_done() && !link.is_late(self.core.limits) {
                link.set_ready();
                if matches!(link.pull(&mut |_| {}), Ok(false)) && link.stream().wait(false, by).is_err() {
                    break;
                }
            }
        }
    }
}
