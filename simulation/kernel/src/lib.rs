//! The pure core of Paceline: simulated time, the total order of events, event queues, federates and the
//! protocols that keep them in step.
//!
//! Nothing in here uses a thread, a clock, a socket or a file: time and messages come in, messages and
//! decisions go out, and the same inputs always give the same outputs. Hosts drive it: `engine` with threads,
//! `machine` in simulated guests, tests in any interleaving.

#![forbid(unsafe_code)]

mod at_work;
mod balance;
mod beginnings;
mod change;
mod changeable;
mod context;
mod digest;
mod event;
mod fault;
mod federate;
mod indexed_heap;
mod migrants;
mod model;
mod origin;
mod outbox;
mod outputs;
mod panics;
mod part;
mod partition;
mod protocol;
mod queue;
mod readable;
mod rng;
mod shown;
mod time;
mod waiting;
mod withdrawn;
mod world;

pub use at_work::AtWork;
pub use balance::{
    Activity, Balance, Edge, LOAD_SLACK, Sample, TALK_SLACK, imbalance, improve, remote, seat, span, sums,
};
pub use beginnings::Beginnings;
pub use changeable::{Change, ChangeError, Changing, Parameter, ParameterValue};
pub use context::{Context, Draw, Kept};
pub use digest::{Bits, Digest};
pub use event::{Event, Key, MAX_DEPTH, TieBreak};
pub use fault::{RuleError, RuleErrorKind};
pub use federate::{
    Bounds, Cancellation, Clock, CommitObserver, Cost, Depths, EventError, EventErrorKind, Federate,
    Finished, Optimism, Progress, Rollbacks, Saving, Settings, Times, Wants, Warp, WarpTurn,
};
pub use indexed_heap::{IndexedHeap, Slotted};
pub use migrants::Migrants;
pub use model::{Channels, LpId, Model, Undo, UndoFn};
pub use origin::Origin;
pub use outbox::{Mail, Outbox, Receipt};
pub use outputs::Outputs;
pub use panics::{Caught, PanicError, PanicNote, ask, catch, note_panic};
pub use part::Part;
pub use partition::{Partition, PartitionError};
pub use protocol::{
    ChannelTable, DistanceWindows, Distances, Effort, Gvt, GvtKind, LinkError, Links, MovingWindow, Promise,
    SendBound, SendBounds, SendDelay, SendTime, Sender, Windows,
};
pub use queue::{BucketQueue, EventQueue, Heap};
pub use readable::tell_error;
pub use rng::Rng;
pub use shown::same_lines;
pub use time::{Time, TimeError};
pub use withdrawn::EventId;
pub use world::{Past, World};
