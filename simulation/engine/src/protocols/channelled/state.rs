//! What the workers of a leg under null messages share: which federates are ready or running, and how far all
//! have come.
//!
//! Invariant: a federate is in `ready` exactly when its status is `Ready`.

use paceline_kernel::Time;

use crate::peers::Counts;
use crate::protocols::scaffold::{Ending, Ends};
use crate::watch::monitor::Halt;
use crate::workers::ready::Ready;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Idle,
    Ready,
    Running,
    /// Running, and to be run again after.
    Again,
}

/// How this process stands in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    /// It has nothing to run and nothing to promise.
    pub(super) passive: bool,
    /// It has no events.
    pub(super) empty: bool,
    pub(super) counts: Counts,
    pub(super) halt: Option<Halt>,
}

/// What is known of the end of a leg of several processes.
#[derive(Debug, Default)]
pub(super) struct Quiet {
    /// How this process stood when it contributed last.
    pub(super) stood: Option<Standing>,
    /// The counts of all processes in the last round, if nothing was left by them.
    pub(super) calm: Option<Counts>,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(super) ready: Ready,
    pub(super) status: Vec<Status>,
    /// By federate: it will run nothing before this. [`Time::MAX`] for those of other processes.
    pub(super) lvts: Vec<Time>,
    /// Federates that workers hold, or that are outside and were asked.
    pub(super) running: u32,
    /// Of those that are running, the federates that are outside.
    pub(super) outside: u32,
    pub(super) ending: Ending,
    pub(super) null_messages: u64,
    /// Whether the run is over, where several processes have to find that out together.
    pub(super) quiet: Quiet,
}

impl State {
    /// Something came in for `federate`.
    pub(super) fn touch(&mut self, federate: u32) {
        let status = &mut self.status[federate as usize];
        match *status {
            Status::Idle => {
                *status = Status::Ready;
                self.ready.push(federate, self.lvts[federate as usize]);
            }
            Status::Running => *status = Status::Again,
            Status::Ready | Status::Again => {}
        }
    }
}

impl Ends for State {
    fn ending(&mut self) -> &mut Ending {
        &mut self.ending
    }

    fn clear(&mut self) {
        self.ready.clear();
    }
}
