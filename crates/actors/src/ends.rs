//! How a process stops waiting early, and how it ends.
//!
//! Invariant: no process waits for a process that has ended, nor for anything that only it could give.

use paceline_kernel::Digest;
use paceline_network::Network;

use super::Core;
use super::process::{Blocked, Going, Held, Side};
use super::request::{Answer, Failure, ProcessId};

impl<P, N: Network> Core<P, N> {
    /// Takes a process out of whatever it waits in.
    pub(super) fn withdraw(&mut self, id: ProcessId) {
        let process = &mut self.processes[id];
        match std::mem::replace(&mut process.blocked, Blocked::No) {
            Blocked::No
            | Blocked::Sleep
            | Blocked::Activity(_)
            | Blocked::Activities(_)
            | Blocked::Paused { .. } => {}
            Blocked::On(going) => self.abandon(going),
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
                let joiners = self.processes[other].joiners.iter_mut();
                joiners.for_each(|joiners| joiners.retain(|joiner| *joiner != id));
            }
        }
    }

    /// A process is no more.
    pub(super) fn bury(&mut self, id: ProcessId) {
        let process = &mut self.processes[id];
        if std::mem::replace(&mut process.ended, true) {
            return;
        }
        self.living -= u64::from(!process.daemon);
        process.answer = None;
        let (identity, stamp) = (process.identity, u64::from(process.stamp));
        self.digest.join(Digest::of(&(identity, self.now.as_nanos(), stamp << 8 | 0xff)));
        self.withdraw(id);
        let process = &mut self.processes[id];
        let (held, joiners) = (std::mem::take(&mut process.held), std::mem::take(&mut process.joiners));
        for (_, held) in held {
            if let Held::Going(going) = held {
                self.abandon(going);
            }
        }
        for joiner in joiners.into_iter().flat_map(|joiners| *joiners) {
            self.resume_with(joiner, Answer::Done);
        }
    }

    /// A process cancels an activity in progress: the other side of a communication learns of that.
    pub(super) fn abandon(&mut self, going: Going) {
        match going {
            Going::Message { comm, sends } => {
                let Some(comm) = self.messages.remove(comm) else { return };
                if let Some(transfer) = comm.transfer {
                    self.network.cancel(transfer);
                }
                self.tell(if sends { comm.receiver } else { comm.sender }, Answer::Failed(Failure::GivenUp));
            }
            Going::Computation { host, task } => {
                self.hosts[host as usize].cpu.stop(self.now, task);
                self.reschedule(host);
            }
            // It arrives all the same.
            Going::Parcel(place) => *self.parcels.side(place) = Side::Detached,
        }
    }

    /// The processes that are informed of the end of an activity.
    pub(super) fn side(&mut self, going: Going) -> &mut Side {
        match going {
            Going::Message { comm, sends: true } => &mut self.messages.comm(comm).sender,
            Going::Message { comm, sends: false } => &mut self.messages.comm(comm).receiver,
            Going::Computation { host, task } => self.hosts[host as usize].cpu.whose(task),
            Going::Parcel(place) => self.parcels.side(place),
        }
    }

    /// Ends a process from outside of it.
    pub(super) fn kill(&mut self, id: ProcessId) {
        if !self.processes[id].ended {
            self.bury(id);
            self.killed.push(id);
        }
    }
}
