//! What the core knows of a process.
//!
//! Invariant: a process that has not ended either waits for one thing (`blocked`), or has an answer, or is
//! running.

use std::ops::{Index, IndexMut};
use std::sync::Arc;

use paceline_kernel::Time;
use smallvec::SmallVec;

use super::cpu::Task;
use super::moment::Moment;
use super::numbered::Numbered;
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
    /// A computation that stands still, with what is left of it.
    Paused {
        host: u32,
        flops: f64,
    },
    /// A parcel, as its sender.
    Parcel(u32),
}

/// What a process waits for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Blocked {
    /// It waits for nothing: it runs, or is ready to.
    No,
    Sleep,
    /// The end of this, which is no activity.
    On(Going),
    /// An activity of its own.
    Activity(u32),
    /// Activities of its own.
    Activities(Box<Several>),
    Acquire(ObjectId),
    /// It was notified, and locks its mutex again.
    LockAgain(ObjectId),
    Condition {
        condition: ObjectId,
        mutex: ObjectId,
    },
    Barrier(ObjectId),
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
    /// It is over, with this result, since this moment.
    Over(Answer<P>, Moment),
}

/// The process that is informed of the end of a communication or a computation.
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

/// The processes of a core, by number. In a part of a world numbers begin elsewhere than at 0, so that no
/// other part has the same. One that has ended stays until the instant is over, and is forgotten then.
#[derive(Clone, Debug)]
pub(super) struct Processes<P> {
    first: u32,
    /// How many there have been.
    given: u32,
    there: Numbered<Process<P>>,
    /// Those that have ended in this instant.
    over: Vec<ProcessId>,
    /// In a part of a world: the host of every process that there has been, as nobody there may act on one
    /// of another host, be it over or not.
    hosts: Option<Vec<u32>>,
}

impl<P> Default for Processes<P> {
    fn default() -> Self {
        Self { first: 0, given: 0, there: Numbered::default(), over: Vec::new(), hosts: None }
    }
}

impl<P> Processes<P> {
    /// This is a part of a world: numbers begin at `first`; there are no processes yet.
    pub(super) fn begin(&mut self, first: u32) {
        assert!(self.given == 0, "a process keeps its number");
        (self.first, self.there, self.hosts) = (first, Numbered::from(first), Some(Vec::new()));
    }

    pub(super) fn given(&self) -> u32 {
        self.given
    }

    /// Whether there has been one of this number.
    pub(super) fn knows(&self, id: ProcessId) -> bool {
        id.0.wrapping_sub(self.first) < self.given
    }

    /// On which host a process is or was; only in a part of a world.
    pub(super) fn host_of(&self, id: ProcessId) -> Option<u32> {
        self.hosts.as_ref()?.get(id.0.wrapping_sub(self.first) as usize).copied()
    }

    pub(super) fn push(&mut self, process: Process<P>) -> ProcessId {
        let number = self.first.checked_add(self.given).expect("there are fewer than 2^32 processes");
        self.given += 1;
        self.hosts.iter_mut().for_each(|hosts| hosts.push(process.host));
        self.there.put(number, process);
        ProcessId(number)
    }

    /// A process has ended.
    pub(super) fn is_over(&mut self, id: ProcessId) {
        self.over.push(id);
    }

    /// Forgets those that have ended.
    pub(super) fn forget(&mut self) {
        for id in self.over.drain(..) {
            self.there.take(id.0);
        }
    }

    pub(super) fn get(&self, id: ProcessId) -> Option<&Process<P>> {
        self.there.get(id.0)
    }

    pub(super) fn get_mut(&mut self, id: ProcessId) -> Option<&mut Process<P>> {
        self.there.get_mut(id.0)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (ProcessId, &Process<P>)> {
        self.there.iter().map(|(number, process)| (ProcessId(number), process))
    }
}

/// Of a process that has been forgotten nothing is asked.
const THERE: &str = "whoever acts on a process has seen that it is there";

impl<P> Index<ProcessId> for Processes<P> {
    type Output = Process<P>;

    fn index(&self, id: ProcessId) -> &Process<P> {
        self.there.get(id.0).expect(THERE)
    }
}

impl<P> IndexMut<ProcessId> for Processes<P> {
    fn index_mut(&mut self, id: ProcessId) -> &mut Process<P> {
        self.there.get_mut(id.0).expect(THERE)
    }
}

/// A process: who it is, what it waits for, and the activities that it holds.
#[derive(Clone, Debug)]
pub(super) struct Process<P> {
    pub(super) name: Arc<str>,
    pub(super) host: u32,
    /// When exactly it resumed last: in the present instant while it runs.
    pub(super) moment: Moment,
    /// Where it stands in the tree of who spawned whom: the same however the world is dealt.
    pub(super) identity: u64,
    pub(super) children: u32,
    /// How many parcels it has sent so far.
    pub(super) parcels: u32,
    /// Changes whenever it resumes.
    pub(super) stamp: u32,
    pub(super) blocked: Blocked,
    /// Until when it waits at most.
    pub(super) limit: Time,
    /// When the calendar wakes it: not after `limit` while it waits. Entries for another time are out of
    /// date.
    pub(super) entered: Time,
    pub(super) answer: Option<Answer<P>>,
    /// The object of which its latest answer gives it something.
    pub(super) granted: Option<ObjectId>,
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
            moment: Moment::default(),
            identity,
            children: 0,
            parcels: 0,
            stamp: 0,
            blocked: Blocked::No,
            limit: Time::MAX,
            entered: Time::MAX,
            answer: Some(Answer::Done),
            granted: None,
            ended: false,
            daemon: false,
            suspended: false,
            restarts: false,
            late: false,
            held: SmallVec::new(),
            joiners: None,
        }
    }

    pub(super) fn held(&mut self, number: u32) -> Option<&mut Held<P>> {
        self.held.iter_mut().find(|(activity, _)| *activity == number).map(|(_, held)| held)
    }

    pub(super) fn remove_held(&mut self, number: u32) -> Option<Held<P>> {
        let place = self.held.iter().position(|(activity, _)| *activity == number)?;
        Some(self.held.swap_remove(place).1)
    }

    /// The result of the activity of this number, which is over, and since when; the activity is dropped.
    pub(super) fn take_over(&mut self, number: u32) -> Option<(Answer<P>, Moment)> {
        match self.held(number) {
            Some(Held::Over(..)) => match self.remove_held(number) {
                Some(Held::Over(answer, since)) => Some((answer, since)),
                _ => None,
            },
            _ => None,
        }
    }
}
