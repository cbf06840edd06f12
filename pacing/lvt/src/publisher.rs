//! Publishers: the side of the program that simulates.
//!
//! A publisher belongs to the thread that has claimed it, is the only writer of its slot, and frees the slot
//! when it is dropped. Where a child process is forked, the publisher in the child is absent; the child
//! claims a slot of its own.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::bell::Bell;
use crate::error::Error;
use crate::fork::ForkFlag;
use crate::layout::{DONE, LVT_MAX, SIMULATION, Slot, WAITING};
use crate::mapping::Mapping;
use crate::owner::Owner;
use crate::page::{Page, PageId};
use crate::slot::Name;

/// In the place of the LVT written last: whatever comes next is to be written. As far from every LVT, counted
/// round, as from [`LVT_MAX`].
const NOTHING_YET: u64 = LVT_MAX + 1;

/// How many slots a claimer, who finds none free, looks up in /proc: enough to get by where ids are used
/// again, little enough to give up soon on a page that is full of the living.
const LOOKED_UP_MAX: usize = 64;

thread_local! {
    /// The slots that the calling thread publishes in.
    static HELD: RefCell<Vec<Held>> = const { RefCell::new(Vec::new()) };
}

/// A slot that a thread publishes in. A forked child finds its parent's list, with another `tid`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Held {
    page: PageId,
    index: u32,
    tid: u32,
}

/// Publishes the LVT of the thread that has made it.
#[derive(Debug)]
pub struct Publisher {
    /// What was written last, or [`NOTHING_YET`].
    last_ns: u64,
    /// An LVT is written if it differs by more than this, counted round. All there is for an absent
    /// publisher.
    lookahead_ns: u64,
    backwards: u64,
    seat: Option<Seat>,
    /// A slot belongs to a thread, and so does this.
    of_thread: PhantomData<*const ()>,
}

/// A slot that is ours.
#[derive(Debug)]
struct Seat {
    mapping: Arc<Mapping>,
    held: Held,
    flags: u32,
    here: ForkFlag,
}

impl Publisher {
    /// A publisher that does nothing.
    pub const fn absent() -> Self {
        let lookahead_ns = u64::MAX;
        Self { last_ns: NOTHING_YET, lookahead_ns, backwards: 0, seat: None, of_thread: PhantomData }
    }

    /// Claims a slot for the calling thread on the page that [`ENV`](crate::ENV) names; where it names none,
    /// the publisher is absent.
    ///
    /// A program that cannot be paced runs on all the same:
    ///
    /// ```
    /// # use paceline_lvt::Publisher;
    /// let mut publisher = Publisher::from_env("rank 3").unwrap_or_else(|error| {
    ///     eprintln!("running unpaced: {error}");
    ///     Publisher::absent()
    /// });
    /// publisher.publish(1_000);
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Page::open`] and [`Publisher::claim`].
    pub fn from_env(name: &str) -> Result<Self, Error> {
        Page::from_env()?.map_or_else(|| Ok(Self::absent()), |page| Self::claim(&page, name))
    }

    /// Claims a slot of `page` for the calling thread: LVT 0, in simulation mode, not waiting. The first
    /// characters of `name`, up to 24 bytes, are shown to readers.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] where all slots have owners that live; [`Error::Claimed`] where this thread has one
    /// already; [`Error::NoProc`]; [`Error::System`]; and what [`Page::slots`] says of a page that is
    /// none any more.
    pub fn claim(page: &Page, name: &str) -> Result<Self, Error> {
        let owner = Owner::of_this_thread().map_err(|error| Error::NoProc(error.to_string()))?;
        let ours = |held: &&Held| (held.page, held.tid) == (page.id(), owner.tid);
        if let Some(held) = HELD.with_borrow(|list| list.iter().find(ours).copied()) {
            return Err(Error::Claimed { path: page.path().to_owned(), index: held.index });
        }
        let here = ForkFlag::new().map_err(|error| Error::system(page.path(), "claiming a slot", error))?;
        let mapping = page.mapping()?;
        let full = || Error::Full { path: page.path().to_owned(), slots: page.capacity() };
        let index = find(mapping.slots(), owner).ok_or_else(full)?;
        mapping.slots()[index as usize].settle(owner, Name::new(name).bytes(), SIMULATION);
        let held = Held { page: page.id(), index, tid: owner.tid };
        HELD.with_borrow_mut(|list| list.push(held));
        let seat = Seat { mapping, held, flags: SIMULATION, here };
        Ok(Self { lookahead_ns: 0, seat: Some(seat), ..Self::absent() })
    }

    /// Thins updates: an LVT is written only if it is more than `lookahead_ns` ahead of the one written last.
    /// A lookahead of at most the least delay of this thread's messages to others does not affect them. 0
    /// unless set.
    #[must_use]
    pub fn with_lookahead(mut self, lookahead_ns: u64) -> Self {
        if self.seat.is_some() {
            self.lookahead_ns = lookahead_ns.min(LVT_MAX);
        }
        self
    }

    /// Whether there is a slot: `false` for an absent publisher, and for one that a forked child has from its
    /// parent.
    pub fn is_present(&self) -> bool {
        self.seat.as_ref().is_some_and(|seat| seat.here.is_set())
    }

    /// Publishes that all events before `lvt_ns` are done. The greatest value is 2^63 - 1 ns; a greater one
    /// counts as that. An LVT that goes backwards, however little, is written at once, since its owner
    /// may now be the furthest behind; such updates are counted.
    #[inline]
    pub fn publish(&mut self, lvt_ns: u64) {
        let lvt_ns = lvt_ns.min(LVT_MAX);
        if lvt_ns.wrapping_sub(self.last_ns) > self.lookahead_ns {
            self.write(lvt_ns);
        }
    }

    /// Publishes that this thread has nothing to do, and so holds back no other, until it publishes an LVT
    /// again.
    pub fn publish_done(&mut self) {
        if let Some(slot) = self.slot() {
            slot.lvt_ns.store(DONE, Relaxed);
            self.last_ns = NOTHING_YET;
        }
    }

    /// Publishes whether this thread waits for others: then it need not run before they have advanced.
    pub fn set_waiting(&mut self, waiting: bool) {
        self.set_flag(WAITING, waiting);
    }

    /// Publishes whether this thread simulates and is scheduled by its LVT; it is so from the start. Set it
    /// to `false`, for example, while the thread loads a model or writes results: then its LVT means
    /// nothing.
    pub fn set_simulation(&mut self, simulation: bool) {
        self.set_flag(SIMULATION, simulation);
    }

    /// How many updates went backwards.
    pub const fn backwards(&self) -> u64 {
        self.backwards
    }

    #[inline]
    fn write(&mut self, lvt_ns: u64) {
        let Some(slot) = self.slot() else { return };
        slot.lvt_ns.store(lvt_ns, Relaxed);
        self.backwards += u64::from(lvt_ns < self.last_ns && self.last_ns != NOTHING_YET);
        self.last_ns = lvt_ns;
    }

    fn set_flag(&mut self, flag: u32, on: bool) {
        let Some(seat) = self.seat.as_mut().filter(|seat| seat.here.is_set()) else { return };
        let flags = if on { seat.flags | flag } else { seat.flags & !flag };
        if flags != seat.flags {
            seat.flags = flags;
            seat.mapping.slots()[seat.held.index as usize].flags.store(flags, Relaxed);
            if on && flag == WAITING {
                Bell::ring(&seat.mapping);
            }
        }
    }

    #[inline]
    fn slot(&self) -> Option<&Slot> {
        let seat = self.seat.as_ref().filter(|seat| seat.here.is_set())?;
        Some(&seat.mapping.slots()[seat.held.index as usize])
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        if let (Some(slot), Some(seat)) = (self.slot(), &self.seat) {
            slot.release(seat.held.tid);
            // While the thread ends, its list may have been dropped already, and is not needed any more.
            let _ = HELD.try_with(|list| list.borrow_mut().retain(|held| *held != seat.held));
        }
    }
}

/// Finds a slot and makes it `owner`'s: one that is free, or that it had before it executed another program,
/// or whose owner is gone.
pub(crate) fn find(slots: &[Slot], owner: Owner) -> Option<u32> {
    let take_if = |index: &usize, may: &dyn Fn(&Owner) -> bool| -> bool {
        slots[*index].owner().is_ok_and(|found| may(&found) && slots[*index].take_over(found, owner.tid))
    };
    let all = || 0..slots.len();
    // Claimers begin to look things up at different places.
    let some = || all().cycle().skip(owner.tid as usize % slots.len()).take(slots.len().min(LOOKED_UP_MAX));
    // Our own thread id stands in slots that were ours, or that of a thread that is gone.
    let found = all().find(|index| take_if(index, &|found| found.tid == owner.tid));
    let found = found.or_else(|| all().find(|index| take_if(index, &|found| found.tid == 0)));
    let found = found.or_else(|| all().find(|index| take_if(index, &Owner::has_no_thread)));
    found.or_else(|| some().find(|index| take_if(index, &Owner::is_gone))).map(|index| index as u32)
}
