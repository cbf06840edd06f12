//! What can be seen of machines while they run: who did what when in real time, and which frames went from
//! one to another.
//!
//! Invariant: slices of a machine do not overlap, and cover each stretch of the run without gaps.

use std::borrow::Cow;
use std::fmt;
use std::time::Instant;

/// What a machine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineActivity {
    /// It runs to its first time.
    Starting,
    /// It runs in a grant.
    Running,
    /// It may run, and as many others as are allowed at once do.
    Granted,
    /// It has something to do where its bound is, and may not go on: the machine of this number may still
    /// send something before that; or, where none is given, the simulated part of the network may.
    Waiting(Option<usize>),
    /// It has nothing to do at its bound: its next timer is later, or it has none.
    Idle,
    /// It has switched itself off, or has failed.
    Off,
}

impl MachineActivity {
    /// What it is called, where machines have these names.
    #[must_use]
    pub fn describe(self, names: &[String]) -> Cow<'static, str> {
        match self {
            Self::Starting => "starting".into(),
            Self::Running => "running".into(),
            Self::Granted => "granted".into(),
            Self::Waiting(Some(number)) => format!("waits for {}", names[number]).into(),
            Self::Waiting(None) => "waits for the network".into(),
            Self::Idle => "idle".into(),
            Self::Off => "off".into(),
        }
    }
}

/// Something that a machine did for a while.
#[derive(Clone, Copy, Debug)]
pub struct MachineSlice {
    /// The number of the machine.
    pub machine: usize,
    /// What it did.
    pub activity: MachineActivity,
    /// When it began, in real time.
    pub start: Instant,
    /// When it ended.
    pub end: Instant,
    /// As it began: the earliest time at which the machine did anything by itself, in nanoseconds of virtual
    /// time; `None` for never.
    pub next_ns: Option<u64>,
    /// As it began: how far the machine had come, in nanoseconds of virtual time.
    pub clock_ns: u64,
}

/// One end of the way of a frame.
#[derive(Clone, Copy, Debug)]
pub struct FrameEnd {
    /// The number of the machine.
    pub machine: usize,
    /// When the machine stood after it had sent the frame, or was granted the time in which it arrives; in
    /// real time.
    pub at: Instant,
    /// When the frame left or arrived, in nanoseconds of virtual time.
    pub time_ns: u64,
}

/// Looks on while machines run. It is called by the thread that grants them time, which it holds up.
pub trait MachineObserver: fmt::Debug + Send + Sync {
    /// Machines have these names, by their numbers. Called once, before all else.
    fn machines(&self, names: &[String]);

    /// A machine did something.
    fn did(&self, slice: &MachineSlice);

    /// A frame has gone from one machine to another.
    fn frame(&self, from: &FrameEnd, to: &FrameEnd);
}
