//! How a process stops waiting before it has what it waits for, and how it ends.
//!
//! Invariant: nobody waits any more for a process that has ended, nor for anything that only it could give.

use paceline_kernel::Digest;
use paceline_network::Network;

use super::Core;
use super::process::{Blocked, Held};
use super::request::{Answer, Failure, ProcessId};

impl<P, N: Network> Core<P, N> {
    /// Takes a process out of whatever it waits in.
    pub(super) fn withdraw(&mut self, id: ProcessId) {
        let process = &mut self.processes[id.0 as usize];
        match std::mem::replace(&mut process.blocked, Blocked::No) {
            Blocked::No
            | Blocked::Sleep
            | Blocked::Activity(_)
            | Blocked::Activities(_)
            | Blocked::Paused { .. } => {}
            Blocked::Message { comm, sends } => self.give_up(comm, sends),
            Blocked::Computation { host, task } => {
                self.hosts[host as usize].cpu.stop(self.now, task);
                self.reschedule(host);
            }
            Blocked::Acquire(object) | Blocked::Meet(object) | Blocked::Get(object) => {
                if let Some(object) = self.objects.get_mut(&object) {
                    object.withdraw(id);
                }
            }
            Blocked::Notice { condition, .. } => {
                if let Some(condition) = self.objects.get_mut(&condition) {
                    condition.withdraw(id);
                }
            }
            Blocked::Join(other) => {
                let joiners = self.processes[other.0 as usize].joiners.iter_mut();
                joiners.for_each(|joiners| joiners.retain(|joiner| *joiner != id));
            }
        }
    }

    /// One side gives a communication up; the other is told.
    pub(super) fn give_up(&mut self, place: u32, sends: bool) {
        let Some(comm) = self.messages.remove(place) else { return };
        if let Some(transfer) = comm.transfer {
            self.network.cancel(transfer);
        }
        self.tell(if sends { comm.receiver } else { comm.sender }, Answer::Failed(Failure::GivenUp));
    }

    /// A process is no more.
    pub(super) fn bury(&mut self, id: ProcessId) {
        let process = &mut self.processes[id.0 as usize];
        if std::mem::replace(&mut process.ended, true) {
            return;
        }
        self.living -= u64::from(!process.daemon);
        process.answer = None;
        let (identity, stamp) = (process.identity, u64::from(process.stamp));
        self.digest.join(Digest::of(&(identity, self.now.as_nanos(), stamp << 8 | 0xff)));
        self.withdraw(id);
        let process = &mut self.processes[id.0 as usize];
        let (held, joiners) = (std::mem::take(&mut process.held), std::mem::take(&mut process.joiners));
        for (_, held) in held {
            self.abandon(held);
        }
        for joiner in joiners.into_iter().flat_map(|joiners| *joiners) {
            self.resume_with(joiner, Answer::Done);
        }
    }

    /// Nobody wants to hear of an activity any more.
    pub(super) fn abandon(&mut self, held: Held<P>) {
        match held {
            Held::Message { comm, sends } => self.give_up(comm, sends),
            Held::Computation { host, task } => {
                self.hosts[host as usize].cpu.stop(self.now, task);
                self.reschedule(host);
            }
            Held::Over(_) => {}
        }
    }

    /// Ends a process from outside of it.
    pub(super) fn kill(&mut self, id: ProcessId) {
        if !self.processes[id.0 as usize].ended {
            self.bury(id);
            self.killed.push(id);
        }
    }
}
