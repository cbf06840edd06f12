//! How a process stops waiting early, and how it ends.
//!
//! Invariant: no process waits for a process that has ended, nor for anything that only it could give.

use paceline_kernel::Digest;
use paceline_network::{Network, TransferId};

use super::process::{Blocked, Going, Held, Side};
use super::request::{Answer, ProcessId, RequestError};
use super::{Core, carrier};

impl<P, N: Network> Core<P, N> {
    /// Whether processes have been ended by others, or have come back, of which the front end does not know
    /// yet.
    #[inline]
    pub fn has_news(&self) -> bool {
        !(self.killed.is_empty() && self.restarted.is_empty())
    }

    /// Processes that others have ended since the last call: their code is not to run any more.
    pub fn take_killed(&mut self) -> Vec<ProcessId> {
        std::mem::take(&mut self.killed)
    }

    /// Processes that have come back with their host since the last call: the one that has ended, and the new
    /// one.
    pub fn take_restarted(&mut self) -> Vec<(ProcessId, ProcessId)> {
        std::mem::take(&mut self.restarted)
    }

    /// A process has ended by itself.
    pub fn end(&mut self, process: ProcessId) {
        self.because(self.processes[process].moment);
        self.bury(process);
    }

    /// Takes a process out of whatever it waits in.
    pub(super) fn withdraw(&mut self, id: ProcessId) {
        let process = &mut self.processes[id];
        match std::mem::replace(&mut process.blocked, Blocked::No) {
            Blocked::No
            | Blocked::Given(_)
            | Blocked::Sleep
            | Blocked::Activity(_)
            | Blocked::Activities(_) => {}
            Blocked::On(going) => self.abandon(going),
            Blocked::Acquire(object)
            | Blocked::LockAgain(object)
            | Blocked::Barrier(object)
            | Blocked::Get(object) => {
                self.objects.get(object, self.now).withdraw(id);
            }
            Blocked::Condition(notice) => {
                self.objects.get(notice.condition, self.now).withdraw(id);
            }
            Blocked::Join(other) => {
                if let Some(other) = self.processes.get_mut(other) {
                    other.remove_joiner(id);
                }
            }
        }
    }

    /// A process is no more.
    pub(super) fn bury(&mut self, id: ProcessId) {
        let process = &mut self.processes[id];
        if std::mem::replace(&mut process.ended, true) {
            return;
        }
        self.processes.is_over(id);
        let process = &mut self.processes[id];
        self.living -= u64::from(!process.daemon);
        let (answer, granted) = (process.answer.take(), process.take_granted());
        process.moment = process.moment.later(self.cause);
        let (identity, stamp) = (process.identity, u64::from(process.stamp));
        self.digest.join(Digest::of(&(identity, self.now.as_nanos(), stamp << 8 | 0xff)));
        self.withdraw(id);
        self.give_back(id, granted, answer);
        self.resources.end(self.cause, id);
        self.carry_out();
        let process = &mut self.processes[id];
        let (held, joiners) = process.clear();
        for held in held {
            if let Held::Going(going) = held {
                self.abandon(going);
            }
        }
        for joiner in joiners {
            self.resume_with(joiner, Answer::Done);
        }
    }

    /// A process cancels an activity in progress: the other side of a communication learns of that.
    pub(super) fn abandon(&mut self, going: Going) {
        match going {
            Going::Message { comm, sends } => {
                let Some(comm) = self.messages.remove(comm) else { return };
                if let Some(transfer) = comm.transfer {
                    self.stop(transfer);
                }
                self.inform(
                    if sends { comm.receiver } else { comm.sender },
                    Answer::Failed(RequestError::GivenUp),
                );
            }
            Going::Computation { host, task } => {
                self.hosts[host as usize].cpu.stop(self.cause, task);
                self.reschedule(host);
            }
            Going::Paused { .. } => {}
            // It arrives all the same.
            Going::Parcel(place) => *self.parcels.side(place) = Side::Detached,
        }
    }

    /// Takes a transfer out of the network.
    pub(super) fn stop(&mut self, transfer: TransferId) {
        carrier::bring(&mut self.network, self.cause);
        self.network.cancel(transfer);
    }

    /// A process drops the handle of an activity in progress, which proceeds alone.
    pub(super) fn detach(&mut self, going: Going) {
        let side = match going {
            Going::Message { comm, sends: true } => &mut self.messages.comm(comm).sender,
            Going::Message { comm, sends: false } => &mut self.messages.comm(comm).receiver,
            Going::Computation { host, task } => self.hosts[host as usize].cpu.whose(task),
            Going::Paused { host, flops } => {
                self.hosts[host as usize].cpu.begin(self.cause, flops, Side::Detached);
                return self.reschedule(host);
            }
            Going::Parcel(place) => self.parcels.side(place),
        };
        *side = Side::Detached;
    }

    /// Ends a process from outside of it.
    pub(super) fn kill(&mut self, id: ProcessId) {
        if self.processes.get(id).is_some_and(|process| !process.ended) {
            self.bury(id);
            self.killed.push(id);
        }
    }
}
