//! What processes ask of resources, and what they are answered.
//!
//! A *claim* is what a process asks of a resource: a number that the process gives it, and that stays until
//! the claim is answered, or until the units that it holds are released. A process may have several claims
//! open at once, and waits for the first that is answered.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use paceline_kernel::Time;

use super::ids::ProcessId;

pub use super::statistics::{ClaimCounts, ResourceStatistics, Spans};

/// A resource: who made it, and its number among all that this one made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceId {
    /// The process that made it; [`ResourceId::SETUP`] where it was made before the run.
    pub owner: u32,
    /// Its number among the resources of its owner.
    pub number: u32,
    /// The host that it is at. On federates only processes of this host may use it.
    pub host: u32,
}

impl ResourceId {
    /// The owner of what was made before the run.
    pub const SETUP: u32 = u32::MAX;
    /// No resource.
    pub(crate) const NONE: Self = Self { owner: u32::MAX, number: u32::MAX, host: u32::MAX };
}

/// A value that processes hand each other, of whatever type they agree on.
#[derive(Clone)]
pub struct Value(pub Arc<dyn Any + Send + Sync>);

impl Value {
    /// A value of any type.
    pub fn new<T: Send + Sync + 'static>(value: T) -> Self {
        Self(Arc::new(value))
    }

    /// The value, if it is of type `T`.
    pub fn get<T: 'static>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Value")
    }
}

impl PartialEq for Value {
    /// Values are equal to their clones only: their types need not compare.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A condition on a value. It must depend on nothing else: the core evaluates it when it needs to.
#[derive(Clone)]
pub struct Test(pub Arc<dyn Fn(&Value) -> bool + Send + Sync>);

/// What computes the next value of a state from its present one.
#[derive(Clone)]
pub struct Update(pub Arc<dyn Fn(&Value) -> Value + Send + Sync>);

impl fmt::Debug for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Test")
    }
}

impl PartialEq for Test {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Update {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Update")
    }
}

impl PartialEq for Update {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// What a resource is made as.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceSpec {
    /// What it is called in reports and statistics.
    pub name: Option<Arc<str>>,
    /// Whether statistics of it are kept.
    pub is_sampled: bool,
    /// Whether quantiles of waits are kept as well.
    pub has_quantiles: bool,
    /// What kind of resource it is.
    pub kind: ResourceKind,
}

/// The kinds of resources.
#[derive(Clone, Debug, PartialEq)]
pub enum ResourceKind {
    /// Units that processes hold.
    Units {
        /// How many there are; without shifts, at all times.
        capacity: u32,
        /// How many there are at which time, if that changes.
        shifts: Option<Shifts>,
        /// What becomes of processes that hold units which a shift takes away.
        closing: Closing,
    },
    /// Items that are put in and taken out.
    Store {
        /// How many there is room for.
        capacity: u64,
    },
    /// An amount that is put in and taken out.
    Container {
        /// How much there is room for.
        capacity: f64,
        /// How much is in it at first.
        level: f64,
    },
    /// Something that happens once.
    Event,
    /// A value that changes.
    State(Value),
}

/// What becomes of processes that hold units which are taken away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Closing {
    /// They keep them until they release them; nobody gets those units after them.
    #[default]
    Finish,
    /// They are preempted, the least urgent and latest first.
    Preempt,
}

/// How many units there are at which time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shifts {
    /// Times, ascending, and how many units there are from then on. Before the first there are as many as
    /// after the last.
    pub changes: Vec<(Time, u32)>,
    /// After how long the times repeat; all are below it. They do not repeat without it.
    pub period: Option<Time>,
}

/// What a claim is for.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the variants say what their fields are")]
pub enum Want {
    /// To hold units.
    Seize(Seizure),
    /// To put an item into a store; items of lesser priority numbers are taken out first.
    Put { item: Value, priority: i64 },
    /// To take `least` to `most` items out of a store that pass a test.
    Get { test: Option<Test>, least: u32, most: u32 },
    /// To put an amount into a container.
    Fill(f64),
    /// To take an amount out of a container.
    Draw(f64),
    /// To wait for an event.
    Await,
    /// To wait until the value of a state passes a test.
    Until(Test),
    /// To know how a resource is now.
    Look(Look),
}

/// How units are seized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seizure {
    /// Lesser numbers come first; among equals, who came first.
    pub priority: i64,
    /// How long the units are held, from when the process gets them; [`Time::MAX`]: until it releases them.
    pub service: Time,
    /// How many units, at least one.
    pub amount: u32,
    /// The request is refused where this number of others, or more, wait already.
    pub balks_at: u32,
    /// Whether it takes units away from processes of greater priority numbers.
    pub preempts: bool,
    /// What becomes of a service that is preempted.
    pub preempted: Preempted,
}

impl Default for Seizure {
    /// One unit, in the order of coming, until it is released.
    fn default() -> Self {
        let preempted = Preempted::Resume;
        Self { priority: 0, service: Time::MAX, amount: 1, balks_at: u32::MAX, preempts: false, preempted }
    }
}

/// What becomes of a service that is preempted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preempted {
    /// It waits before others of its priority, and then takes what was left of it.
    #[default]
    Resume,
    /// It waits before others of its priority, and then begins again.
    Repeat,
    /// It ends: the process learns what was left.
    Leave,
}

/// What a process can ask of the present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// How many wait, how much is in use or in it, how much there is room for.
    Levels,
    /// The value of a state, or of an event that has happened.
    Value,
    /// Its statistics so far.
    Statistics,
}

/// How full a resource is, and how many wait.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Levels {
    /// Processes that wait for units, for items or amounts, or for what is to happen.
    pub waiting: u32,
    /// Processes that wait for room in a store or container.
    pub waiting_for_room: u32,
    /// Units in use, items in a store, the amount in a container.
    pub level: f64,
    /// How many units there are now, or how much there is room for.
    pub capacity: f64,
}

/// What is done to a resource, without an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// An event happens, with this value.
    Succeed(Value),
    /// An event fails, for this reason.
    Fail(Arc<String>),
    /// A state gets this value.
    Set(Value),
    /// A state gets the value that is computed from its present one.
    Update(Update),
    /// There are this many units from now on, those that are broken included.
    Capacity(u32),
    /// Units break down; what becomes of their holders.
    BreakDown(u32, Closing),
    /// Units that were broken down are there again.
    Repair(u32),
    /// Statistics begin anew.
    Reset,
    /// Nobody will use it again.
    Forget,
}

/// What a process is answered to a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It is done, and there is nothing to say of it.
    Done,
    /// It holds the units, after a wait that took so long.
    Granted(Time),
    /// The service is over.
    Served {
        /// How long it waited until the service first began.
        waited: Time,
        /// How often the service was preempted.
        preemptions: u32,
    },
    /// The item that it took out of the store at this place of the core.
    Item(u32, Value),
    /// The same, of several items.
    Items(u32, Box<Vec<Value>>),
    /// The value of an event that has happened, or of a state; none of an event that has not happened.
    Value(Option<Value>),
    /// The amount that it took out of the container at this place of the core.
    Drawn(u32, f64),
    /// How full the resource is.
    Levels(Levels),
    /// Statistics of the resource.
    Statistics(Box<ResourceStatistics>),
    /// It did not come about.
    Failed(Failure),
}

/// Why a claim did not come about.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// The time that it was to wait at most is over.
    TimedOut,
    /// Too many others waited.
    Balked,
    /// There are never so many units, or there is never so much room.
    TooMuch,
    /// There is no such resource, or it is of another kind.
    Unknown,
    /// The event failed, for this reason.
    Failed(Arc<String>),
    /// Another process interrupted the wait.
    Interrupted(Box<Interruption>),
    /// The units that the process held were taken away.
    Preempted(Box<Preemption>),
}

/// The interruption of a wait by another process.
#[derive(Clone, Debug, PartialEq)]
pub struct Interruption {
    /// The process that interrupted.
    pub by: ProcessId,
    /// Its reason.
    pub cause: Value,
    /// What was left of the time that the process wanted to hold or to be served; zero in other waits.
    pub left: Time,
}

/// The loss of units that a process held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preemption {
    /// The process that has the units now; `None` where they broke down or a shift ended.
    pub by: Option<ProcessId>,
    /// Since when the process had held them.
    pub since: Time,
    /// What was left of the time that the process wanted to hold or to be served; zero in other waits.
    pub left: Time,
}

impl Outcome {
    /// What enters the digest of it.
    pub(super) fn code(&self) -> u64 {
        0x80 + match self {
            Self::Done => 0,
            Self::Granted(_) => 1,
            Self::Served { .. } => 2,
            Self::Item(..) | Self::Items(..) | Self::Value(_) => 3,
            Self::Drawn(..) => 4,
            Self::Levels(_) => 5,
            Self::Statistics(_) => 6,
            Self::Failed(failure) => match failure {
                Failure::TimedOut => 8,
                Failure::Balked => 9,
                Failure::TooMuch => 10,
                Failure::Unknown => 11,
                Failure::Failed(_) => 12,
                Failure::Interrupted(_) => 13,
                Failure::Preempted(_) => 14,
            },
        }
    }
}
