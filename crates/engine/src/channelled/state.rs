//! What the workers of a leg under null messages share: which federates are ready or running, and how far all have come.
//!
//! Invariant: a federate is in `ready` exactly when its status is `Ready`.

use paceline_kernel::Time;

use crate::ready::Ready;
use crate::scaffold::{Ending, Ends};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Idle,
    Ready,
    Running,
    /// Running, and to be run again after.
    Again,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(super) ready: Ready,
    pub(super) status: Vec<Status>,
    /// No federate will run anything before this.
    pub(super) lvts: Vec<Time>,
    pub(super) running: u32,
    /// Of those that are running, the federates that are outside.
    pub(super) outside: u32,
    pub(super) ending: Ending,
    pub(super) null_messages: u64,
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
