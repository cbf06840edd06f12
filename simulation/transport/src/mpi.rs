//! [`Mpi`]: the links of an MPI library, in processes started by mpirun or srun.
//!
//! All calls of the library are made under one lock, so the library has to allow calls from any thread, one
//! at a time (MPI_THREAD_SERIALIZED; MPI-4.0, section 11.6). A frame is sent from a buffer of our own
//! (MPI_Isend) that is kept until the library no longer needs it; each peer has a bounded number of them.
//! Frames are probed for and received one by one (MPI_Improbe, MPI_Mrecv).
//!
//! MPI does not report lost peers: a process that ends too early ends the run, which is the library's default
//! (MPI_ERRORS_ARE_FATAL). It does not wake sleeping threads either, so [`Transport::wait`] polls, with
//! pauses that grow to tens of microseconds.
//!
//! Invariants: a buffer is neither changed nor freed before MPI_Test says that its request is complete.

#![allow(unsafe_code)] // requests on buffers that outlive the call, for which the wrapper asks for a scope

use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, Instant};

use mpi::environment::Universe;
use mpi::ffi::{MPI_Isend, MPI_Request, MPI_Test, RSMPI_COMM_WORLD, RSMPI_UINT8_T};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Equivalence, Source};
use mpi::{Tag, Threading};
use thiserror::Error;

use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering, lock, try_lock};
use crate::{Handed, Path, PeerError, Transport};

/// The most frames in transit to one peer.
const UNDER_WAY: usize = 64;

/// The most frames that one call receives.
const TURN: usize = 64;

/// The most bytes of a frame.
const LIMIT: usize = 64 << 10;

/// Below this size MPI libraries send eagerly, without asking the receiver, and a copy is cheap.
const UNIT: usize = 4 << 10;

/// The tag of all frames.
const TAG: Tag = 17;

/// The longest pause between two polls.
const PAUSE: Duration = Duration::from_micros(50);

/// The time after the last poll from which on [`Transport::is_pending`] polls again.
const LOOK_EVERY: Duration = Duration::from_micros(2);

/// How long an ending process waits for its frames to be received.
const LINGER: Duration = Duration::from_secs(10);

/// Why there are no MPI links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MpiError {
    /// MPI can be initialized only once in a process.
    #[error("MPI has been begun in this process before")]
    Begun,
    /// The library allows calls from one thread only.
    #[error("this MPI library allows calls from one thread only")]
    Threads,
}

/// Whether mpirun, mpiexec or srun has started this process, according to its environment.
pub fn is_started_by_mpi() -> bool {
    let is_set = |name| std::env::var_os(name).is_some();
    // srun sets its variables for any program; the processes are connected only if it uses a plug-in for MPI.
    let by_slurm = is_set("SLURM_PROCID") && is_set("SLURM_MPI_TYPE");
    ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"].into_iter().any(is_set) || by_slurm
}

/// The links of this process to all others that MPI has started. Must be dropped by the thread that created
/// it.
pub struct Mpi {
    rank: u32,
    ranks: u32,
    calls: Mutex<Calls>,
    /// Held by the thread that receives: the frame that it hands on.
    receiving: Mutex<Vec<u8>>,
    awake: AtomicBool,
    start: Instant,
    looked_ns: AtomicU64,
}

/// What is only used under the lock.
struct Calls {
    world: SimpleCommunicator,
    peers: Vec<Peer>,
    /// Buffers that are not in use.
    spare: Vec<Vec<u8>>,
    /// Finalizes MPI when it is dropped, last.
    universe: Option<Universe>,
}

// SAFETY: the handles in it may be used by any thread as long as calls are not made at the same time, which
// MPI_THREAD_SERIALIZED grants and the lock around it ensures.
unsafe impl Send for Calls {}

#[derive(Default)]
struct Peer {
    under_way: VecDeque<(MPI_Request, Vec<u8>)>,
    is_refused: bool,
    frames_sent: u64,
    bytes_sent: u64,
    frames_received: u64,
    bytes_received: u64,
}

impl Mpi {
    /// Initializes MPI in this process, which must not have been done before. All processes have to call it.
    pub fn begin() -> Result<Self, MpiError> {
        let (universe, threads) =
            mpi::initialize_with_threading(Threading::Serialized).ok_or(MpiError::Begun)?;
        if !matches!(threads, Threading::Serialized | Threading::Multiple) {
            return Err(MpiError::Threads);
        }
        let world = universe.world();
        let (rank, ranks) = (world.rank() as u32, world.size() as u32);
        let peers = (0..ranks).map(|_| Peer::default()).collect();
        let calls = Mutex::new(Calls { world, peers, spare: Vec::new(), universe: Some(universe) });
        let (awake, looked_ns) = (AtomicBool::new(false), AtomicU64::new(0));
        Ok(Self { rank, ranks, calls, receiving: Mutex::default(), awake, start: Instant::now(), looked_ns })
    }
}

impl Calls {
    /// Takes back the buffers of frames that have been sent. Returns whether a frame that was refused has
    /// room now.
    fn reap(&mut self, to: usize) -> bool {
        let peer = &mut self.peers[to];
        while let Some((request, _)) = peer.under_way.front_mut() {
            if !is_complete(request) {
                break;
            }
            self.spare.extend(peer.under_way.pop_front().map(|(_, buffer)| buffer));
        }
        peer.under_way.len() < UNDER_WAY && std::mem::take(&mut peer.is_refused)
    }

    fn reap_all(&mut self) -> bool {
        (0..self.peers.len()).fold(false, |room, to| room | self.reap(to))
    }

    fn send(&mut self, to: u32, frame: &[u8]) -> Handed {
        self.reap(to as usize);
        let peer = &mut self.peers[to as usize];
        if peer.under_way.len() >= UNDER_WAY {
            peer.is_refused = true;
            return Handed::Full;
        }
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(frame);
        let mut request = std::mem::MaybeUninit::<MPI_Request>::uninit();
        // SAFETY: MPI is initialized as long as `universe` is there. The bytes of `buffer` stay where they
        // are when it is moved into `under_way`, and it is taken out there only after the request is
        // complete, or never freed. The call writes the request, since an error would end the
        // process.
        let request = unsafe {
            let (bytes, count) = (buffer.as_ptr().cast(), buffer.len() as i32);
            MPI_Isend(bytes, count, RSMPI_UINT8_T, to as i32, TAG, RSMPI_COMM_WORLD, request.as_mut_ptr());
            request.assume_init()
        };
        peer.under_way.push_back((request, buffer));
        peer.frames_sent += 1;
        peer.bytes_sent += frame.len() as u64;
        Handed::Over
    }

    /// Receives one frame, if there is one. Returns its sender.
    fn take(&mut self, frame: &mut Vec<u8>) -> Option<u32> {
        let (message, status) = self.world.any_process().immediate_matched_probe_with_tag(TAG)?;
        frame.resize(status.count(u8::equivalent_datatype()) as usize, 0);
        message.matched_receive_into(&mut frame[..]);
        let from = status.source_rank() as u32;
        let peer = &mut self.peers[from as usize];
        peer.frames_received += 1;
        peer.bytes_received += frame.len() as u64;
        Some(from)
    }
}

fn is_complete(request: &mut MPI_Request) -> bool {
    let mut flag = 0;
    let mut status = std::mem::MaybeUninit::uninit();
    // SAFETY: the request is one that MPI_Isend gave and that was not complete before; the call writes both
    // flag and status.
    unsafe { MPI_Test(request, &raw mut flag, status.as_mut_ptr()) };
    flag != 0
}

impl fmt::Debug for Mpi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mpi").field("rank", &self.rank).field("ranks", &self.ranks).finish_non_exhaustive()
    }
}

impl Transport for Mpi {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn frame_limit(&self, _to: u32) -> usize {
        LIMIT
    }

    fn unit(&self, _to: u32) -> usize {
        UNIT
    }

    fn send(&self, to: u32, frame: &[u8]) -> Result<Handed, PeerError> {
        let ranks = self.ranks;
        assert!(to != self.rank && to < ranks, "a frame goes to another process of the run, not to {to}");
        assert!(frame.len() <= LIMIT, "a frame has at most {LIMIT} bytes, not {}", frame.len());
        Ok(lock(&self.calls).send(to, frame))
    }

    fn receive(&self, take: &mut dyn FnMut(u32, &[u8])) -> Result<bool, PeerError> {
        let Some(mut frame) = try_lock(&self.receiving) else {
            return Ok(false);
        };
        let mut any = false;
        for _ in 0..TURN {
            // The lock is free while the frame is handed on, so that the caller can answer it.
            let from = lock(&self.calls).take(&mut frame);
            let Some(from) = from else {
                break;
            };
            any = true;
            take(from, &frame);
        }
        if any {
            self.awake.store(true, Ordering::Release);
        }
        self.looked_ns.store(self.start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        Ok(any)
    }

    fn is_pending(&self) -> bool {
        let looked = Duration::from_nanos(self.looked_ns.load(Ordering::Relaxed));
        if self.start.elapsed().saturating_sub(looked) <= LOOK_EVERY {
            return false;
        }
        // Whoever makes a call of MPI now is about to receive or to send, and looks again itself.
        let Some(calls) = try_lock(&self.calls) else { return false };
        let has_arrived = calls.world.any_process().immediate_probe_with_tag(TAG).is_some();
        if !has_arrived {
            self.looked_ns.store(self.start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
        has_arrived
    }

    fn wait(&self, most: Duration) {
        let (start, mut pause) = (Instant::now(), Duration::ZERO);
        while !self.awake.swap(false, Ordering::AcqRel) {
            let mut calls = lock(&self.calls);
            let room = calls.reap_all();
            if room || calls.world.any_process().immediate_probe_with_tag(TAG).is_some() {
                return;
            }
            drop(calls);
            let left = most.saturating_sub(start.elapsed());
            if left.is_zero() {
                return;
            }
            if pause.is_zero() {
                std::thread::yield_now();
            } else {
                std::thread::sleep(pause.min(left));
            }
            pause = (2 * pause + Duration::from_micros(1)).min(PAUSE);
        }
    }

    fn wake(&self) {
        self.awake.store(true, Ordering::Release);
    }

    fn paths(&self) -> Vec<Path> {
        let calls = lock(&self.calls);
        let others = (0_u32..).zip(&calls.peers).filter(|(rank, _)| *rank != self.rank);
        let path = |(peer, of): (u32, &Peer)| Path {
            peer,
            kind: "MPI",
            frames_sent: of.frames_sent,
            bytes_sent: of.bytes_sent,
            frames_received: of.frames_received,
            bytes_received: of.bytes_received,
        };
        others.map(path).collect()
    }

    /// Does nothing: MPI ends when all processes have finalized it.
    fn close(&self) {}
}

impl Drop for Mpi {
    /// Waits a while for the sent frames to be received, then finalizes MPI, which all processes have to do.
    fn drop(&mut self) {
        let by = Instant::now() + LINGER;
        let calls = self.calls.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        loop {
            calls.reap_all();
            if calls.peers.iter().all(|peer| peer.under_way.is_empty()) {
                break;
            }
            if Instant::now() > by {
                // A peer does not receive them: the buffers stay allocated, and MPI is not finalized, which
                // mpirun reports.
                calls.peers.drain(..).for_each(|peer| std::mem::forget(peer.under_way));
                std::mem::forget(calls.universe.take());
                break;
            }
            std::thread::sleep(PAUSE);
        }
    }
}
