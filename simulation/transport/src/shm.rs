//! [`SharedMemory`]: links between processes of one host through a file mapped as shared memory.
//!
//! For each ordered pair of processes there is a ring of bytes ([`ring`]). Each process has a doorbell
//! ([`bell`]) that others ring only while it sleeps, and a lock that shows others that it is alive
//! ([`region`], which also describes the layout of the file). If all processes of a run are on one host, this
//! is their only transport. If only some are, these form a [`Group`], and another transport reaches the
//! others; it uses [`Transport::wake`] to end a wait here.
//!
//! A process that ends without announcing it is found by checking its lock, at most every 40 ms, mostly when
//! there is nothing else to do. Frames that it has sent completely are still received first. One that is
//! stopped is found by missing signs of life (`signs.rs`), where a `Mesh` gives them.
//!
//! Invariants: one thread at a time receives (a lock taken with `try_lock`), one at a time writes to a peer
//! (a lock per peer). Data written by other processes is copied first, then checked, then used.

mod bell;
mod group;
#[cfg(paceline_shuttle)]
mod heap;
mod link;
#[cfg(not(paceline_shuttle))]
mod region;
mod ring;
#[cfg(all(feature = "rendezvous", not(paceline_shuttle)))]
pub(crate) mod signs;
#[cfg(all(test, not(paceline_shuttle)))]
mod test;

#[cfg(not(paceline_shuttle))]
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::frame::HEADER_BYTES;
use crate::sync::{Arc, AtomicBool, AtomicU32, Mutex, Ordering, try_lock};
use crate::{Handed, PeerError, Transport};
use bell::Bell;
pub use group::{Group, SharedMemoryError};
#[cfg(paceline_shuttle)]
use heap::Region;
use link::{Link, Watch};
#[cfg(not(paceline_shuttle))]
use region::Region;
use ring::{Consumer, Ring};

/// How often locks are checked: a lost process is found within about twice this time.
const WATCH_EVERY: Duration = Duration::from_millis(40);

/// Frames received from one sender before the next one's turn.
const TURN: usize = 64;

/// Calls of `receive` between two reads of the clock while there is always something to receive.
const CALLS: u32 = 256;

/// A frame of this size fills a memory page together with its header.
const UNIT: usize = 4_096 - HEADER_BYTES;

/// The states of a [`Post`].
const ABSENT: u32 = 0;
const JOINED: u32 = 1;
const CLOSED: u32 = 2;

/// The state that a process publishes in the shared memory. Initially all zero.
#[derive(Debug, Default)]
#[repr(C, align(128))]
struct Post {
    state: AtomicU32,
    bell: Bell,
    /// Its signs of life, counted.
    signs: AtomicU32,
}

/// The links of one process to the other members of its [`Group`]. Dropping it ends them; see
/// [`Transport::close`].
///
/// ```
/// use paceline_transport::{Group, Handed, SharedMemory, Transport};
///
/// let group = Group::all(2);
/// let first = SharedMemory::create(0, &group)?;
/// let second = SharedMemory::open(&first.path(), 1, &group)?; // in another process, as a rule
/// assert_eq!(first.send(1, b"hello")?, Handed::Over);
/// second.receive(&mut |from, frame| assert_eq!((from, frame), (0, &b"hello"[..])))?;
/// first.close();
/// second.close();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SharedMemory {
    rank: u32,
    member: usize,
    group: Group,
    region: Arc<Region>,
    /// One for each member, itself included.
    links: Vec<Link>,
    receiving: Mutex<Receiving>,
    watch: Watch,
    /// Something has happened since the last call of `wait`.
    awake: AtomicBool,
}

/// The data of the thread that receives.
#[derive(Debug, Default)]
struct Receiving {
    consumers: Vec<Consumer>,
    payload: Vec<u8>,
    /// Calls so far; determines which sender comes first.
    calls: u32,
}

impl SharedMemory {
    /// Creates a file in memory and joins its group as process `rank`. One process of each group does this
    /// before the others call [`SharedMemory::open`]. The file has no name in any folder, and its size is
    /// sealed.
    #[cfg(not(paceline_shuttle))]
    pub fn create(rank: u32, group: &Group) -> Result<Self, SharedMemoryError> {
        let member = group.member(rank)?;
        let region = Region::create(group, member)?;
        let path = region.path();
        Self::join(region, rank, member, group, &path)
    }

    /// Opens the file that another process has created with [`SharedMemory::create`], at its
    /// [`SharedMemory::path`], and joins its group as process `rank`.
    #[cfg(not(paceline_shuttle))]
    pub fn open(path: &Path, rank: u32, group: &Group) -> Result<Self, SharedMemoryError> {
        let member = group.member(rank)?;
        Self::join(Region::open(path, group, member)?, rank, member, group, path)
    }

    /// Where other processes of the same user on this host open the file, as long as this process has it.
    #[cfg(not(paceline_shuttle))]
    pub fn path(&self) -> PathBuf {
        self.region.path()
    }

    #[cfg(not(paceline_shuttle))]
    fn join(
        region: Region,
        rank: u32,
        member: usize,
        group: &Group,
        path: &Path,
    ) -> Result<Self, SharedMemoryError> {
        let state = &region.post(member).state;
        if state.compare_exchange(ABSENT, JOINED, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return Err(SharedMemoryError::Taken { path: path.into(), rank });
        }
        Ok(Self::new(Arc::new(region), rank, member, group))
    }

    /// All members of a group, in this process.
    #[cfg(paceline_shuttle)]
    pub fn in_process(group: &Group) -> Result<Vec<Self>, SharedMemoryError> {
        let region = Arc::new(Region::new(group));
        let end = |rank: &u32| Ok(Self::new(region.clone(), *rank, group.member(*rank)?, group));
        group.members.iter().map(end).collect()
    }

    fn new(region: Arc<Region>, rank: u32, member: usize, group: &Group) -> Self {
        let members = group.members.len();
        Self {
            rank,
            member,
            group: group.clone(),
            region,
            links: group.members.iter().map(|_| Link::default()).collect(),
            receiving: Mutex::new(Receiving {
                consumers: (0..members).map(|_| Consumer::default()).collect(),
                ..Receiving::default()
            }),
            watch: Watch::default(),
            awake: AtomicBool::new(false),
        }
    }

    /// The number of the file's descriptor in this process.
    #[cfg(all(feature = "rendezvous", not(paceline_shuttle)))]
    pub(crate) fn descriptor(&self) -> u32 {
        self.region.descriptor()
    }

    /// Whether all processes of the group have joined.
    pub fn is_complete(&self) -> bool {
        (0..self.links.len()).all(|member| self.region.post(member).state.load(Ordering::Acquire) != ABSENT)
    }

    /// The numbers of the other members.
    fn others(&self) -> impl Iterator<Item = usize> {
        (0..self.links.len()).filter(|member| *member != self.member)
    }

    fn other(&self, rank: u32) -> usize {
        let member = self.group.members.binary_search(&rank).ok().filter(|member| *member != self.member);
        member.unwrap_or_else(|| panic!("a frame goes to another process of the group, not to {rank}"))
    }

    #[inline]
    fn to(&self, member: usize) -> Ring<'_> {
        self.region.ring(self.member, member)
    }

    #[inline]
    fn from(&self, member: usize) -> Ring<'_> {
        self.region.ring(member, self.member)
    }

    /// Writes a frame into the ring of `to`. Wakes `to` if it sleeps and the frame `wakes` or there is no
    /// room for the frame.
    fn push(&self, to: u32, frame: &[u8], wakes: bool) -> Result<Handed, PeerError> {
        let limit = self.frame_limit(to);
        assert!(frame.len() <= limit, "a frame has at most {limit} bytes, not {}", frame.len());
        let member = self.other(to);
        let (link, post) = (&self.links[member], self.region.post(member));
        if let Some(kind) = link.lost() {
            return Err(PeerError::new(to, kind));
        }
        match link.push(self.to(member), frame) {
            Ok(true) => {
                if wakes {
                    post.bell.ring();
                }
                Ok(Handed::Over)
            }
            // A process that has announced its end and is gone receives nothing, and misses nothing.
            Ok(false) if post.state.load(Ordering::Acquire) == CLOSED && !self.region.is_alive(member) => {
                Ok(Handed::Over)
            }
            Ok(false) => {
                // The receiver may sleep although frames are there that did not wake it.
                post.bell.ring();
                Ok(Handed::Full)
            }
            Err(damage) => {
                link.lose(damage.clone());
                Err(PeerError::new(to, damage))
            }
        }
    }

    /// Whether `wait` has to return.
    fn is_worth_a_look(&self) -> bool {
        self.awake.swap(false, Ordering::AcqRel)
            || self.is_pending()
            || self.others().any(|member| self.links[member].has_room(self.to(member)))
    }
}

impl Transport for SharedMemory {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn ranks(&self) -> u32 {
        self.group.ranks
    }

    fn frame_limit(&self, _to: u32) -> usize {
        Ring::frame_limit(self.group.ring_bytes as u64)
    }

    fn unit(&self, to: u32) -> usize {
        UNIT.min(self.frame_limit(to))
    }

    fn send(&self, to: u32, frame: &[u8]) -> Result<Handed, PeerError> {
        self.push(to, frame, true)
    }

    fn send_quietly(&self, to: u32, frame: &[u8]) -> Result<Handed, PeerError> {
        self.push(to, frame, false)
    }

    fn receive(&self, take: &mut dyn FnMut(u32, &[u8])) -> Result<bool, PeerError> {
        let Some(mut receiving) = try_lock(&self.receiving) else {
            return Ok(false);
        };
        let Receiving { consumers, payload, calls } = &mut *receiving;
        *calls = calls.wrapping_add(1);
        let (members, mut any) = (self.links.len(), false);
        for turn in 0..members {
            let member = (turn + *calls as usize) % members;
            if member == self.member || self.links[member].is_over() {
                continue;
            }
            let (ring, rank) = (self.from(member), self.group.members[member]);
            let (link, bell) = (&self.links[member], &self.region.post(member).bell);
            let some = link.pull(&mut consumers[member], ring, bell, payload, &mut |frame| take(rank, frame));
            any |= some.map_err(|kind| PeerError::new(rank, kind))?;
        }
        if any {
            self.awake.store(true, Ordering::Release);
        }
        if !any || calls.is_multiple_of(CALLS) {
            self.watch.look(self.others(), &self.links, &self.region);
        }
        Ok(any)
    }

    fn is_pending(&self) -> bool {
        self.others().any(|member| self.links[member].is_pending(self.from(member)))
    }

    fn wait(&self, most: Duration) {
        if self.is_worth_a_look() {
            return;
        }
        let bell = &self.region.post(self.member).bell;
        let mut left = most;
        loop {
            bell.arm();
            if self.is_worth_a_look() {
                break bell.disarm();
            }
            let nap = left.min(WATCH_EVERY);
            bell.sleep(nap);
            let rung = bell.has_rung();
            bell.disarm();
            self.watch.look(self.others(), &self.links, &self.region);
            left -= nap;
            if rung || left.is_zero() || self.is_worth_a_look() {
                break self.awake.store(false, Ordering::Relaxed);
            }
        }
    }

    fn wake(&self) {
        self.awake.store(true, Ordering::Release);
        self.region.post(self.member).bell.ring();
    }

    fn paths(&self) -> Vec<crate::Path> {
        self.others().map(|member| self.links[member].path(self.group.members[member])).collect()
    }

    fn close(&self) {
        self.region.post(self.member).state.store(CLOSED, Ordering::Release);
    }
}
