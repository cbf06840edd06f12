//! What the core knows of a process.
//!
//! Invariant: a process that has not ended either waits for one thing (`blocked`), or has an answer, or is running.

use std::ops::{Index, IndexMut};
use std::sync::Arc;

use paceline_kernel::Time;
use smallvec::SmallVec;

use super::cpu::Task;
use super::request::{Answer, ObjectId, ProcessId};

/// A communication or a computation in progress.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Going {
    /// A communication, as its sender or its receiver.
    Message {
        comm: u32,
        sends: bool,
    },
    Computation {
        host: u32,
        task: Task,
    },
    /// A parcel, as its sender.
    Parcel(u32),
}

/// What a process waits for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Blocked {
    /// For nothing.
    No,
    Sleep,
    /// The end of this, which is no activity.
    On(Going),
    /// A computation that stands still, with what is left of it.
    Paused {
        host: u32,
        flops: f64,
    },
    /// An activity of its own.
    Activity(u32),
    /// Activities of its own.
    Activities(Box<Several>),
    Acquire(ObjectId),
    Notice {
        condition: ObjectId,
        mutex: ObjectId,
    },
    Meet(ObjectId),
    Get(ObjectId),
    Join(ProcessId),
}

/// Activities that a process waits for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Several {
    pub(super) numbers: Vec<u32>,
    /// For all of them, or for the first.
    pub(super) all: bool,
    /// How many are not over.
    pub(super) left: usize,
}

/// An activity that a process began and still holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Held<P> {
    /// It was asked for in this round, and is not begun.
    Asked,
    Going(Going),
    /// It is over, with this result.
    Over(Answer<P>),
}

/// Who hears of the end of a communication or a computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// It has no partner yet.
    Absent,
    /// No process waits for the result.
    Detached,
    /// A process that waits for just this.
    Waiting(ProcessId),
    /// A process, as an activity of this number.
    Holding(ProcessId, u32),
}

/// All processes that a core has had, by number. In a part of a world numbers begin elsewhere than at 0, so that no other part has
/// the same.
#[derive(Clone, Debug)]
pub(super) struct Processes<P> {
    first: u32,
    list: Vec<Process<P>>,
}

impl<P> Default for Processes<P> {
    fn default() -> Self {
        Self { first: 0, list: Vec::new() }
    }
}

impl<P> Processes<P> {
    /// Numbers begin at `first`; there are no processes yet.
    pub(super) fn begin(&mut self, first: u32) {
        assert!(self.list.is_empty(), "a process keeps its number");
        self.first = first;
    }

    fn place(&self, id: ProcessId) -> usize {
        id.0.wrapping_sub(self.first) as usize
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn push(&mut self, process: Process<P>) -> ProcessId {
        let number = u32::try_from(self.list.len()).ok().and_then(|place| self.first.checked_add(place));
        self.list.push(process);
        ProcessId(number.expect("there are fewer than 2^32 processes"))
    }

    pub(super) fn get(&self, id: ProcessId) -> Option<&Process<P>> {
        self.list.get(self.place(id))
    }

    pub(super) fn get_mut(&mut self, id: ProcessId) -> Option<&mut Process<P>> {
        let place = self.place(id);
        self.list.get_mut(place)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (ProcessId, &Process<P>)> {
        (self.first..).map(ProcessId).zip(&self.list)
    }
}

impl<P> Index<ProcessId> for Processes<P> {
    type Output = Process<P>;

    fn index(&self, id: ProcessId) -> &Process<P> {
        &self.list[self.place(id)]
    }
}

impl<P> IndexMut<ProcessId> for Processes<P> {
    fn index_mut(&mut self, id: ProcessId) -> &mut Process<P> {
        let place = self.place(id);
        &mut self.list[place]
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Process<P> {
    pub(super) name: Arc<str>,
    pub(super) host: u32,
    /// Where it stands in the tree of who spawned whom: the same however the world is dealt.
    pub(super) identity: u64,
    pub(super) children: u32,
    /// Parcels sent.
    pub(super) parcels: u32,
    /// Changes whenever it resumes.
    pub(super) stamp: u32,
    pub(super) blocked: Blocked,
    /// Until when it waits at most.
    pub(super) limit: Time,
    /// When the calendar wakes it: not after `limit` while it waits. Entries for another time are out of date.
    pub(super) entered: Time,
    pub(super) answer: Option<Answer<P>>,
    pub(super) ended: bool,
    pub(super) daemon: bool,
    pub(super) suspended: bool,
    pub(super) restarts: bool,
    /// It waited for a notice longer than it wanted, and locks its mutex again.
    pub(super) late: bool,
    /// Most have one at a time.
    pub(super) held: SmallVec<[(u32, Held<P>); 1]>,
    /// The processes that wait for its end.
    #[expect(clippy::box_collection, reason = "there is next to never anything, and then it is one word")]
    pub(super) joiners: Option<Box<Vec<ProcessId>>>,
}

impl<P> Process<P> {
    pub(super) fn new(name: Arc<str>, host: u32, identity: u64) -> Self {
        Self {
            name,
            host,
            identity,
            children: 0,
            parcels: 0,
            stamp: 0,
            blocked: Blocked::No,
            limit: Time::MAX,
            entered: Time::MAX,
            answer: Some(Answer::Done),
            ended: false,
            daemon: false,
            suspended: false,
            restarts: false,
            late: false,
            held: SmallVec::new(),
            joiners: None,
        }
    }

    /// The activity of this number.
    pub(super) fn held(&mut self, number: u32) -> Option<&mut Held<P>> {
        self.held.iter_mut().find(|(own, _)| *own == number).map(|(_, held)| held)
    }

    /// Drops the activity of this number.
    pub(super) fn let_go(&mut self, number: u32) -> Option<Held<P>> {
        let place = self.held.iter().position(|(own, _)| *own == number)?;
        Some(self.held.swap_remove(place).1)
    }

    /// The result of the activity of this number, which is over; the activity is dropped.
    pub(super) fn take_over(&mut self, number: u32) -> Option<Answer<P>> {
        match self.held(number) {
            Some(Held::Over(_)) => match self.let_go(number) {
                Some(Held::Over(answer)) => Some(answer),
                _ => None,
            },
            _ => None,
        }
    }
}
