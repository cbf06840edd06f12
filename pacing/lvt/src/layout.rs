//! The bytes of the page, which the C header, the Python module and the kernel's policy know too.
//!
//! Native endian, naturally aligned. Record 0 is the header, records 1 to `slots` are slots. A change of
//! anything here is a new [`VERSION`].
//!
//! To change a byte, raise `VERSION` and change `include/paceline_lvt_slot.h`,
//! `outside/python/python/paceline/lvt.py` and `struct slot` in `pacing/linux/state.bpf.h`;
//! `tests/lvt/languages.rs` compares them. All 64 bytes of a slot are in use: a new field needs a shorter
//! name or longer records.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

use crate::owner::Owner;

/// The first eight bytes of a page.
pub const MAGIC: [u8; 8] = *b"PACELVT\0";
/// The version of this layout.
pub const VERSION: u32 = 2;
/// Bytes of a record: of the header, and of every slot.
pub const RECORD_BYTES: usize = 64;
/// The most slots a page can have.
pub const MAX_SLOTS: u32 = 65_536;
/// Bytes of a name; a shorter one is padded with NUL.
pub const NAME_BYTES: usize = 24;

/// In `flags`: the owner publishes its LVT and is to be run by it. Without this flag its LVT means nothing
/// for now.
pub const SIMULATION: u32 = 1;
/// In `flags`: the owner waits for others, and has nothing to do until they get on.
pub const WAITING: u32 = 2;

/// In `library`: the communication library of the owner yields the core whenever it waits, and publishes that
/// in [`LIBRARY_WAITING`]. Such an owner can share a scheduling class with others, and can be paced without
/// an LVT.
pub const LIBRARY_YIELDS: u32 = 1;
/// In `library`: the owner waits inside its communication library.
pub const LIBRARY_WAITING: u32 = 2;

/// The greatest LVT.
pub const LVT_MAX: u64 = i64::MAX as u64;
/// In the place of an LVT: the owner is done or idle, and holds back no thread.
pub const DONE: u64 = u64::MAX;

/// A slot as it lies in memory. The header has the same size, and is only ever seen as bytes.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Slot {
    /// The owner's LVT in ns, or [`DONE`].
    pub lvt_ns: AtomicU64,
    /// [`SIMULATION`] and [`WAITING`].
    pub flags: AtomicU32,
    /// The owner's thread id; 0 in a free slot.
    pub tid: AtomicU32,
    /// When the owner's thread was started, in clock ticks since the system was, against reuse of its id. 0
    /// while the slot changes hands.
    pub start_time: AtomicU64,
    /// The owner's process id. In the header, the bell: a futex that a thread rings when it begins to wait.
    pub pid: AtomicU32,
    /// [`LIBRARY_YIELDS`] and [`LIBRARY_WAITING`]. In the header, whether the pacer wants to hear the bell.
    pub library: AtomicU32,
    /// UTF-8, padded with NUL.
    pub name: [AtomicU64; NAME_BYTES / 8],
    /// How many messages the owner's communication library has passed, collectives included: the progress of
    /// a thread without an LVT.
    pub messages: AtomicU64,
}

const _: () = assert!(size_of::<Slot>() == RECORD_BYTES);

impl Slot {
    /// The bytes of the slot. Each member is whole; several of them may be of different moments, but not its
    /// owner's.
    pub fn bytes(&self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        // A slot that is just changing hands is shown as that: with a `start_time` of 0.
        let owner = self.owner().unwrap_or_else(|tid| Owner { tid, pid: 0, start_time: 0 });
        bytes[0..8].copy_from_slice(&self.lvt_ns.load(Relaxed).to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.flags.load(Relaxed).to_ne_bytes());
        bytes[12..16].copy_from_slice(&owner.tid.to_ne_bytes());
        bytes[16..24].copy_from_slice(&owner.start_time.to_ne_bytes());
        bytes[24..28].copy_from_slice(&owner.pid.to_ne_bytes());
        bytes[28..32].copy_from_slice(&self.library.load(Relaxed).to_ne_bytes());
        for (word, place) in self.name.iter().zip(bytes[32..56].chunks_exact_mut(8)) {
            place.copy_from_slice(&word.load(Relaxed).to_ne_bytes());
        }
        bytes[56..64].copy_from_slice(&self.messages.load(Relaxed).to_ne_bytes());
        bytes
    }

    /// The owner; where the slot has changed hands meanwhile, only the new owner's thread id.
    pub(crate) fn owner(&self) -> Result<Owner, u32> {
        // A new owner writes `tid`, then `pid`, then `start_time`: who sees its `start_time` sees the others
        // too.
        let tid = self.tid.load(Acquire);
        let start_time = self.start_time.load(Acquire);
        let pid = self.pid.load(Relaxed);
        match self.tid.load(Relaxed) {
            now if now == tid => Ok(Owner { pid, tid, start_time }),
            now => Err(now),
        }
    }

    /// Makes `tid` (0: no thread) the holder of a slot whose `owner` has ended. `false` if another thread was
    /// quicker.
    pub(crate) fn take_over(&self, owner: Owner, tid: u32) -> bool {
        // `start_time` is set first: from then on the slot changes hands, and only the thread that has set it
        // to 0 may continue.
        let known = owner.start_time != 0;
        if known && self.start_time.compare_exchange(owner.start_time, 0, AcqRel, Relaxed).is_err() {
            return false;
        }
        let taken = self.tid.compare_exchange(owner.tid, tid, AcqRel, Relaxed).is_ok();
        // A thread that claims its own slot again keeps what its communication library says.
        if taken && owner.tid != tid {
            self.library.store(0, Relaxed);
            self.messages.store(0, Relaxed);
        }
        taken
    }

    /// Makes the slot, whose `tid` is `owner`'s already, its own: LVT 0, with these flags.
    pub(crate) fn settle(&self, owner: Owner, name: [u8; NAME_BYTES], flags: u32) {
        self.lvt_ns.store(0, Relaxed);
        self.flags.store(flags, Relaxed);
        self.pid.store(owner.pid, Relaxed);
        self.set_name(name);
        self.start_time.store(owner.start_time, Release);
    }

    /// Frees the slot, if it is still `tid`'s.
    pub(crate) fn release(&self, tid: u32) {
        if self.tid.load(Relaxed) == tid {
            self.start_time.store(0, Release);
            // A slot that was overwritten meanwhile is left as it is.
            let _ = self.tid.compare_exchange(tid, 0, AcqRel, Relaxed);
        }
    }

    fn set_name(&self, name: [u8; NAME_BYTES]) {
        for (word, bytes) in self.name.iter().zip(name.as_chunks().0) {
            word.store(u64::from_ne_bytes(*bytes), Relaxed);
        }
    }
}

/// What is wrong with a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeaderError {
    /// It does not begin with [`MAGIC`].
    Magic,
    /// Another version of the layout.
    Version(u32),
    /// Records of another size.
    RecordBytes(u32),
}

/// The header of a page with `slots` slots.
pub fn header(slots: u32) -> [u8; RECORD_BYTES] {
    let mut bytes = [0; RECORD_BYTES];
    bytes[0..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_ne_bytes());
    bytes[12..16].copy_from_slice(&(RECORD_BYTES as u32).to_ne_bytes());
    bytes[16..20].copy_from_slice(&slots.to_ne_bytes());
    bytes
}

/// The number of slots according to a header.
///
/// # Errors
///
/// [`HeaderError`] where it is not the header of a page that this crate reads.
pub fn slots_of(header: &[u8; RECORD_BYTES]) -> Result<u32, HeaderError> {
    if header[0..8] != MAGIC {
        return Err(HeaderError::Magic);
    }
    match (u32_at(header, 8), u32_at(header, 12)) {
        (VERSION, bytes) if bytes as usize == RECORD_BYTES => Ok(u32_at(header, 16)),
        (VERSION, bytes) => Err(HeaderError::RecordBytes(bytes)),
        (version, _) => Err(HeaderError::Version(version)),
    }
}

/// The bytes of a page with `slots` slots.
pub const fn page_bytes(slots: u32) -> usize {
    RECORD_BYTES * (slots as usize + 1)
}

/// The number at byte `at` of a record.
pub(crate) fn u32_at(record: &[u8; RECORD_BYTES], at: usize) -> u32 {
    u32::from_ne_bytes(record[at..at + 4].try_into().expect("four bytes"))
}

/// The number at byte `at` of a record.
pub(crate) fn u64_at(record: &[u8; RECORD_BYTES], at: usize) -> u64 {
    u64::from_ne_bytes(record[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const NAME: [u8; NAME_BYTES] = [0; NAME_BYTES];

    fn free() -> Slot {
        // A free slot is one that nothing has been written to.
        Slot {
            lvt_ns: AtomicU64::new(0),
            flags: AtomicU32::new(0),
            tid: AtomicU32::new(0),
            start_time: AtomicU64::new(0),
            pid: AtomicU32::new(0),
            library: AtomicU32::new(0),
            name: [const { AtomicU64::new(0) }; NAME_BYTES / 8],
            messages: AtomicU64::new(0),
        }
    }

    #[test]
    fn who_acts_on_an_old_look_gets_nothing() {
        let slot = free();
        let nobody = slot.owner().expect("nothing changes");
        assert!(slot.take_over(nobody, 5));
        assert!(!slot.take_over(nobody, 6), "it was free, and is so no longer");
        let first = Owner { pid: 4, tid: 5, start_time: 77 };
        slot.settle(first, NAME, SIMULATION);
        assert_eq!(slot.owner(), Ok(first));
        assert!(slot.take_over(first, 8), "its owner is gone");
        assert_eq!(slot.owner(), Ok(Owner { pid: 4, tid: 8, start_time: 0 }), "it changes hands");
        let second = Owner { pid: 8, tid: 8, start_time: 78 };
        slot.settle(second, NAME, SIMULATION);
        assert!(!slot.take_over(first, 9) && !slot.take_over(first, 0));
        slot.library.store(LIBRARY_YIELDS, Relaxed);
        assert!(slot.take_over(second, 8), "its own, again");
        assert_eq!(slot.library.load(Relaxed), LIBRARY_YIELDS, "its library goes on");
        slot.settle(second, NAME, SIMULATION);
        assert!(slot.take_over(second, 10));
        assert_eq!(slot.library.load(Relaxed), 0, "another thread, another library");
        let second = Owner { pid: 10, tid: 10, start_time: 79 };
        slot.settle(second, NAME, SIMULATION);
        assert_eq!(slot.owner(), Ok(second));
        slot.release(5);
        assert_eq!(slot.owner(), Ok(second), "only its owner frees it");
        slot.release(10);
        assert_eq!(slot.owner().map(|owner| (owner.tid, owner.start_time)), Ok((0, 0)));
    }

    #[test]
    fn of_many_who_take_a_slot_at_once_one_gets_it() {
        for round in 1..200 {
            let slot = free();
            let gone = Owner { pid: 1, tid: 1, start_time: round };
            slot.take_over(slot.owner().expect("nothing changes"), 1);
            slot.settle(gone, NAME, SIMULATION);
            let taken = thread::scope(|scope| {
                let take = |tid| {
                    scope.spawn({
                        let slot = &slot;
                        move || slot.take_over(gone, tid)
                    })
                };
                let threads = [2, 3, 4].map(take);
                threads.map(|thread| thread.join().expect("taking does not panic"))
            });
            assert_eq!(taken.into_iter().filter(|taken| *taken).count(), 1, "round {round}");
        }
    }
}
