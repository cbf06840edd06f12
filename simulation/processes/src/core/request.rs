//! The requests of processes to the core, and its answers.
//!
//! Invariants: a process has at most one request open that it waits for; requests of one process are answered
//! in the order in which it made them.

use std::fmt;
use std::sync::Arc;

use paceline_kernel::Time;
use paceline_network::HostId;
use paceline_results::Note;
use thiserror::Error;

use super::wants::{Change, Outcome, ResourceId, ResourceSpec, Value, Want};

pub use super::ids::ProcessId;

/// The name of a process, in messages to people. Clones share the text, and a name is one word.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<Text>);

#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Text(Box<str>);

impl std::ops::Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0.0
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Self {
        Self(Arc::new(Text(name.into())))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// Where messages are sent to and received from. A mailbox is there from its first use.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mailbox {
    /// By number: the faster way.
    Number(u64),
    /// By name, as in SimGrid.
    Name(Arc<str>),
    /// By receiver, sender and tag, numbers on which the processes agree. Who receives may leave sender and
    /// tag open ([`Mailbox::ANY`]): it gets the message that was sent first among those that fit, and a
    /// message goes to the receiver that came first among those that it fits, as MPI matches messages.
    Matched {
        /// The number of the one that receives, among those that match by sender and tag (a rank, for MPI);
        /// never open.
        to: u32,
        /// The number of the one that sends; `Mailbox::ANY` in a receive that takes from anybody.
        from: u32,
        /// The tag of the message; `Mailbox::ANY` in a receive that takes any tag that is not of a
        /// collective action.
        tag: u32,
    },
}

impl Mailbox {
    /// For a receiver: any sender, or any tag below 2^31.
    pub const ANY: u32 = u32::MAX;

    /// Whether it leaves the sender or the tag open.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Matched { from: Self::ANY, .. } | Self::Matched { tag: Self::ANY, .. })
    }

    /// The mailbox of this name.
    pub fn named(name: &str) -> Self {
        Self::Name(name.into())
    }
}

impl From<u64> for Mailbox {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Mailbox {
    fn from(name: &str) -> Self {
        Self::named(name)
    }
}

impl From<&Mailbox> for Mailbox {
    fn from(mailbox: &Mailbox) -> Self {
        mailbox.clone()
    }
}

impl fmt::Display for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "mailbox {number}"),
            Self::Name(name) => write!(f, "mailbox `{name}`"),
            Self::Matched { to, from, tag } => {
                write!(f, "the mailbox of {to} for messages from ")?;
                if *from == Self::ANY {
                    write!(f, "anybody")?
                } else {
                    write!(f, "{from}")?
                }
                // As MPI libraries write the tags that they keep for themselves.
                if *tag == Self::ANY {
                    write!(f, " with any tag")
                } else {
                    write!(f, " with tag {}", tag.cast_signed())
                }
            }
        }
    }
}

/// An object that processes share - a semaphore, a mutex, ... - by who made it and its number among all made
/// by that one. It is there from its first use, and takes no memory while it is as it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// The process that made it.
    pub owner: ProcessId,
    /// Its number among the objects of its owner.
    pub number: u32,
    /// What it is, with what it was made for.
    pub kind: ObjectKind,
}

/// What an object is made as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    /// A semaphore with this many permits.
    Semaphore(u32),
    /// A mutex, unlocked.
    Mutex,
    /// A condition variable.
    Condition,
    /// A barrier for this many processes, at least one.
    Barrier(u32),
    /// A message queue, empty.
    Queue,
}

/// What a process asks for. `P` is what messages carry.
///
/// A `limit` is the longest span of simulated time that the process waits; then the answer is
/// [`RequestError::TimedOut`], and `None` waits without end. Sizes are bytes on the network, finite and not
/// negative. An activity has a number that its process gives it, and that no other activity held by that
/// process has.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the variants say what their fields are")]
pub enum Request<P> {
    /// To resume in the next round of the same instant.
    Yield,
    /// To resume after this span.
    Sleep(Time),
    /// To resume at this time, or in the next round of this instant if it is over.
    SleepUntil(Time),
    /// To have this many flops computed (finite, not negative) on its host, and to wait for that.
    Compute(f64),
    /// To send, and to wait until the message has arrived.
    Send {
        to: Mailbox,
        payload: P,
        bytes: f64,
        /// The longest wait for a receiver and for the arrival together.
        limit: Option<Time>,
    },
    /// To wait for a message.
    Receive {
        from: Mailbox,
        /// The longest wait until the message is there.
        limit: Option<Time>,
    },
    /// To send without ever hearing of it again.
    Detach { to: Mailbox, payload: P, bytes: f64 },
    /// To begin to send.
    StartSend { activity: u32, to: Mailbox, payload: P, bytes: f64 },
    /// To begin to receive.
    StartReceive { activity: u32, from: Mailbox },
    /// To begin to compute.
    StartCompute {
        activity: u32,
        /// The work (finite, not negative), done at the speed of a core of its host.
        flops: f64,
    },
    /// To wait for an activity that it began itself.
    Await {
        activity: u32,
        /// The longest wait; the activity itself proceeds after it.
        limit: Option<Time>,
    },
    /// To wait for activities that it began itself.
    Wait {
        /// Their numbers. The answer names them by their places in this list.
        activities: Vec<u32>,
        /// Whether for all of them, and not for the first that is over.
        all: bool,
        /// The longest wait; the activities themselves proceed after it.
        limit: Option<Time>,
    },
    /// To know whether an activity is over.
    Test(u32),
    /// To give up an activity; nothing is heard of it again.
    Cancel(u32),
    /// To drop the handle of an activity, which proceeds.
    ReleaseActivity(u32),
    /// To have another process; it starts in the next round.
    Spawn {
        /// The host that it runs on, which must be on.
        host: HostId,
        /// Its name in messages to people; others may have the same.
        name: Name,
    },
    /// To wait until another process has ended.
    Join { process: ProcessId, limit: Option<Time> },
    /// To end another process, or itself.
    Kill(ProcessId),
    /// To stop another process, or itself, until it is resumed.
    Suspend(ProcessId),
    /// To resume a suspended process.
    Resume(ProcessId),
    /// Not to count any more: a run ends when all processes but such have ended. Whom it spawns from then on
    /// does not count either.
    Daemonize,
    /// To be started again, from the beginning, when its host comes back.
    RestartWithHost,
    /// To take a permit of a semaphore, or to lock a mutex.
    Acquire {
        object: ObjectId,
        /// The longest wait; zero does not wait at all.
        limit: Option<Time>,
    },
    /// To give a permit back, or to unlock a mutex.
    Release(ObjectId),
    /// To unlock a mutex, to wait for a notification, and to lock it again.
    ConditionWait {
        condition: ObjectId,
        /// The mutex, which this process has locked.
        mutex: ObjectId,
        /// The longest wait for the notification. Locking again is not limited.
        limit: Option<Time>,
    },
    /// To wake one of the processes that wait for a notification, or all.
    Notify {
        condition: ObjectId,
        /// Whether all of them, and not the one that has waited longest.
        all: bool,
    },
    /// To wait until as many as a barrier is for have come.
    BarrierWait(ObjectId),
    /// To put something into a message queue.
    Put(ObjectId, P),
    /// To take something out of a message queue.
    Get {
        queue: ObjectId,
        /// The longest wait for something to be put in.
        limit: Option<Time>,
    },
    /// To switch a host off, with everything on it.
    SwitchOff(HostId),
    /// To switch a host off, and on again after this span.
    SwitchOffFor(HostId, Time),
    /// To switch a host on again.
    SwitchOn(HostId),
    /// To cancel its last request; with the answer to it, where that has come and was not looked at.
    Abandon(Option<Answer<P>>),
    /// To have a number enter the digest of the run.
    Record(u64),
    /// To have something taken in for the output of this name.
    Measure(&'static str, Note),
    /// To make a resource.
    Make(Box<(ResourceId, ResourceSpec)>),
    /// To make a claim on a resource.
    Claim {
        /// Its number, which no other open claim of the process has; below 2^31 - 1.
        claim: u32,
        resource: ResourceId,
        want: Want,
        /// The longest wait; [`Time::MAX`] waits without end, zero not at all.
        limit: Time,
    },
    /// To wait for a span, as a claim of this number.
    Hold { claim: u32, span: Time },
    /// To give up a claim for this resource; with the answer to it, where that has come and was not looked
    /// at.
    Withdraw { claim: u32, resource: ResourceId, unseen: Option<Outcome> },
    /// To give units of this resource back that a process holds by this claim, or all of them.
    ReleaseUnits { holder: ProcessId, claim: u32, resource: ResourceId, units: u32 },
    /// To do something to a resource.
    Change(ResourceId, Change),
    /// To interrupt the wait of another process, for this reason.
    Interrupt(ProcessId, Value),
    /// To know why its latest wait was interrupted, as a claim of this number.
    Interruption(u32),
    /// To have answers to claims again that it did not look at.
    Keep(Answer<P>),
}

/// What the core answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer<P> {
    /// It is done, and there is nothing to say of it.
    Done,
    /// The content of the message that was received, or taken out of a message queue.
    Message(P),
    /// The process that was spawned.
    Process(ProcessId),
    /// Whether it is so: an activity is over; a permit was taken; this process is the last that came to a
    /// barrier.
    Truth(bool),
    /// The activity at this place of the list is over, with this result.
    Which(u32, Box<Answer<P>>),
    /// All activities of the list are over, with these results.
    // Boxed, as every process keeps an answer, and next to none is this one.
    All(Box<Vec<Answer<P>>>),
    /// It did not come about.
    Failed(RequestError),
    /// The claim of this number is done ([`Outcome::Done`]).
    ClaimDone(u32),
    /// The claim of this number was granted ([`Outcome::Granted`]).
    ClaimGranted(u32, Time),
    /// The service of this claim is over, and was not preempted ([`Outcome::Served`]).
    ClaimServed(u32, Time),
    /// Another answer to a claim, by its number. Boxed, as every process keeps an answer, and these are rare.
    Claim(u32, Box<Outcome>),
    /// Answers that came in one instant: at most one of them is to no claim. Boxed for the same reason.
    Several(Box<Vec<Answer<P>>>),
}

/// Why something that a process asked for did not come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum RequestError {
    /// The time it was to wait at most is over.
    #[error("the time limit has expired")]
    TimedOut,
    /// A host of it is off.
    #[error("a host is off")]
    HostOff,
    /// A link on the way is off.
    #[error("a link on the way is off")]
    LinkOff,
    /// The other side has given it up or has ended.
    #[error("the other side has cancelled")]
    GivenUp,
    /// There is no route from one host to the other.
    #[error("there is no route between the hosts")]
    NoRoute,
    /// The mailbox stands at another host, where alone one receives from it.
    #[error("the mailbox is at another host")]
    Elsewhere,
    /// There is no process, object or activity of this number; an activity belongs to the process that began
    /// it.
    #[error("there is no such process, object or activity here")]
    Unknown,
    /// Another process has interrupted the wait, or preempted units that the process held.
    #[error("the wait was interrupted")]
    Interrupted,
}
