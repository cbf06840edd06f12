//! [`Mesh`]: one transport over shared memory and TCP.
//!
//! If a process has links of both kinds, a waiting thread sleeps on the doorbell of the shared memory, which
//! is faster, so that a sender by shared memory makes no more system calls than without TCP. The helper
//! thread of [`Tcp`] passes on TCP arrivals: before each sleep it is asked to watch the sockets for one
//! event, and it rings the doorbell on that event. So it runs at most once per sleep. The alternative, one
//! eventfd for both, would cost each sender by shared memory a system call; now it only reads a word.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Refusals, Settings};
use crate::shm::signs::Signs;
use crate::silence::Limits;
use crate::tcp::Tcp;
use crate::tcp::link::Link;
use crate::{Handed, Path, PeerError, SharedMemory, Transport};

/// The links of one process to all others, each of the kind chosen by [`super::Prefer`] and the hosts.
#[derive(Debug)]
pub struct Mesh {
    rank: u32,
    ranks: u32,
    tcp: Option<Tcp>,
    /// Ends before the memory that it uses is left.
    _signs: Option<Signs>,
    shared: Option<Arc<SharedMemory>>,
    refusals: Refusals,
}

impl Mesh {
    /// What the others have not said by `by`, until which they may take to find each other, they will not
    /// say: whoever is silent from the start is lost then.
    pub(super) fn new(
        rank: u32,
        ranks: u32,
        shared: Option<SharedMemory>,
        links: Vec<(u32, Link)>,
        settings: &Settings,
        by: Instant,
        refusals: Refusals,
    ) -> io::Result<Self> {
        let left = by.saturating_duration_since(Instant::now()).max(settings.time_limit / 4);
        let limits = Limits::new(settings.silence_limit, left);
        let shared = shared.map(Arc::new);
        // A run of one process has no links, but its waiting thread must still be woken.
        let needs_tcp = !links.is_empty() || shared.is_none();
        let tcp = || Tcp::new(rank, ranks, links, limits, settings.unit);
        let tcp = needs_tcp.then(tcp).transpose()?;
        if let (Some(tcp), Some(shared)) = (&tcp, &shared) {
            let shared = shared.clone();
            tcp.on_arrival(Box::new(move || shared.wake()));
        }
        let signs = shared.as_ref().map(|shared| Signs::start(shared, limits)).transpose()?;
        Ok(Self { rank, ranks, tcp, _signs: signs, shared, refusals })
    }

    /// The connections that were refused while the processes were gathered, and why.
    pub fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    fn kinds(&self) -> impl Iterator<Item = &dyn Transport> {
        let shared = self.shared.as_deref().map(|shared| shared as &dyn Transport);
        shared.into_iter().chain(self.tcp.as_ref().map(|tcp| tcp as &dyn Transport))
    }

    #[inline]
    fn to(&self, rank: u32) -> &dyn Transport {
        match (&self.tcp, &self.shared) {
            (Some(tcp), Some(shared)) if !tcp.reaches(rank) => &**shared,
            (Some(tcp), _) => tcp,
            (None, Some(shared)) => &**shared,
            (None, None) => unreachable!("a mesh has one kind of links at least"),
        }
    }
}

impl Transport for Mesh {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn frame_limit(&self, to: u32) -> usize {
        self.to(to).frame_limit(to)
    }

    fn unit(&self, to: u32) -> usize {
        self.to(to).unit(to)
    }

    fn send(&self, to: u32, frame: &[u8]) -> Result<Handed, PeerError> {
        self.to(to).send(to, frame)
    }

    fn send_quietly(&self, to: u32, frame: &[u8]) -> Result<Handed, PeerError> {
        self.to(to).send_quietly(to, frame)
    }

    fn receive(&self, take: &mut dyn FnMut(u32, &[u8])) -> Result<bool, PeerError> {
        self.kinds().try_fold(false, |any, kind| Ok(any | kind.receive(take)?))
    }

    fn is_pending(&self) -> bool {
        self.kinds().any(Transport::is_pending)
    }

    fn wait(&self, most: Duration) {
        match (&self.tcp, &self.shared) {
            (Some(tcp), Some(shared)) => {
                if !tcp.is_worth_a_look() {
                    tcp.arm();
                    shared.wait(most);
                }
            }
            (Some(tcp), None) => tcp.wait(most),
            (None, Some(shared)) => shared.wait(most),
            (None, None) => {}
        }
    }

    fn wake(&self) {
        match (&self.tcp, &self.shared) {
            (_, Some(shared)) => shared.wake(),
            (Some(tcp), None) => tcp.wake(),
            (None, None) => {}
        }
    }

    fn paths(&self) -> Vec<Path> {
        let mut paths: Vec<_> = self.kinds().flat_map(Transport::paths).collect();
        paths.sort_by_key(|path| path.peer);
        paths
    }

    fn close(&self) {
        self.kinds().for_each(Transport::close);
    }
}
