//! What the core knows of a process.
//!
//! Invariant: a process that has not ended either waits for one thing (`blocked`), or has an answer, or is
//! running.

use std::ops::{Index, IndexMut};

use paceline_kernel::Time;
use smallvec::SmallVec;

use super::cpu::Task;
use super::moment::Moment;
use super::numbered::Numbered;
use super::request::{Answer, Name, ObjectId, ProcessId};

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
    /// The same, and its latest answer gives it something of this object.
    Given(ObjectId),
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
    /// A notice of a condition variable.
    Condition(Box<Notice>),
    Barrier(ObjectId),
    Get(ObjectId),
    Join(ProcessId),
}

/// The condition variable of which a process waits for a notice, and the mutex that it locks again after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Notice {
    pub(super) condition: ObjectId,
    pub(super) mutex: ObjectId,
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
    /// of another host, be it over or not. In lists of [`HOSTS`], so that they are not copied as they grow.
    hosts: Option<Vec<Vec<u32>>>,
}

/// How many hosts stand in a list.
const HOSTS: usize = 1 << 14;

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
        let place = id.0.wrapping_sub(self.first) as usize;
        self.hosts.as_ref()?.get(place / HOSTS)?.get(place % HOSTS).copied()
    }

    pub(super) fn push(&mut self, process: Process<P>) -> ProcessId {
        let number = self.first.checked_add(self.given).expect("there are fewer than 2^32 processes");
        self.given += 1;
        if let Some(hosts) = &mut self.hosts {
            if hosts.last().is_none_or(|last| last.len() == HOSTS) {
                hosts.push(Vec::new());
            }
            hosts.last_mut().expect("there is one with room").push(process.host);
        }
        self.there.put(number, process);
        ProcessId(number)
    }

    /// A process has ended.
    pub(super) fn is_over(&mut self, id: ProcessId) {
        self.over.push(id);
    }

    /// Whether some have ended in this instant.
    #[inline]
    pub(super) fn have_ended(&self) -> bool {
        !self.over.is_empty()
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

/// A process: who it is, what it waits for, and the activities that it holds. A world may have millions, so
/// what few of them have stands [beside](Beside) it.
#[derive(Clone, Debug)]
pub(super) struct Process<P> {
    pub(super) name: Name,
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
    pub(super) ended: bool,
    pub(super) daemon: bool,
    pub(super) suspended: bool,
    pub(super) restarts: bool,
    /// It waited for a notice longer than it wanted, and locks its mutex again.
    pub(super) late: bool,
    pub(super) beside: Option<Box<Beside<P>>>,
}

/// What a process has once it has begun an activity, or another process has waited for its end.
#[derive(Clone, Debug)]
pub(super) struct Beside<P> {
    /// Most have one at a time.
    held: SmallVec<[(u32, Held<P>); 1]>,
    joiners: Vec<ProcessId>,
}

impl<P> Default for Beside<P> {
    fn default() -> Self {
        Self { held: SmallVec::new(), joiners: Vec::new() }
    }
}

impl<P> Process<P> {
    pub(super) fn new(name: Name, host: u32, identity: u64) -> Self {
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
            ended: false,
            daemon: false,
            suspended: false,
            restarts: false,
            late: false,
            beside: None,
        }
    }

    /// Whether it waits, and neither runs nor is ready to.
    pub(super) fn waits(&self) -> bool {
        !matches!(self.blocked, Blocked::No | Blocked::Given(_))
    }

    /// The object of which its latest answer gives it something; once.
    pub(super) fn take_granted(&mut self) -> Option<ObjectId> {
        let Blocked::Given(object) = self.blocked else { return None };
        self.blocked = Blocked::No;
        Some(object)
    }

    /// The activities that it holds, by number.
    pub(super) fn each_held(&self) -> impl Iterator<Item = &(u32, Held<P>)> {
        self.beside.iter().flat_map(|beside| &beside.held)
    }

    /// What it waits for, and the activities that it holds, by number.
    pub(super) fn each_held_mut(&mut self) -> (&mut Blocked, impl Iterator<Item = &mut (u32, Held<P>)>) {
        (&mut self.blocked, self.beside.iter_mut().flat_map(|beside| &mut beside.held))
    }

    pub(super) fn held(&mut self, number: u32) -> Option<&mut Held<P>> {
        let held = &mut self.beside.as_mut()?.held;
        held.iter_mut().find(|(activity, _)| *activity == number).map(|(_, held)| held)
    }

    /// It holds an activity from now on, of which this is known.
    pub(super) fn hold(&mut self, number: u32, held: Held<P>) {
        match self.held(number) {
            Some(place) => *place = held,
            None => self.beside.get_or_insert_default().held.push((number, held)),
        }
    }

    pub(super) fn remove_held(&mut self, number: u32) -> Option<Held<P>> {
        let held = &mut self.beside.as_mut()?.held;
        let place = held.iter().position(|(activity, _)| *activity == number)?;
        Some(held.swap_remove(place).1)
    }

    /// Another process waits for its end.
    pub(super) fn add_joiner(&mut self, joiner: ProcessId) {
        self.beside.get_or_insert_default().joiners.push(joiner);
    }

    /// Another process does not wait for its end any more.
    pub(super) fn remove_joiner(&mut self, joiner: ProcessId) {
        if let Some(beside) = &mut self.beside {
            beside.joiners.retain(|other| *other != joiner);
        }
    }

    /// It has ended: what was left of its activities, and the processes that wait for its end.
    pub(super) fn clear(&mut self) -> (impl Iterator<Item = Held<P>> + use<P>, Vec<ProcessId>) {
        let Beside { held, joiners } = self.beside.take().map_or_else(Beside::default, |beside| *beside);
        (held.into_iter().map(|(_, held)| held), joiners)
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

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_process_is_small() {
        // With what is kept of its code, 200 bytes is all that one may cost: `tests/memory.rs`.
        assert!(size_of::<Process<u64>>() <= 120, "{}", size_of::<Process<u64>>());
        assert!(size_of::<Blocked>() <= 24, "{}", size_of::<Blocked>());
    }
}
