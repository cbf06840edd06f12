//! Processes that stand still, and their computations with them.
//!
//! A suspended process does not run, and none of its computations proceeds, however it was begun and whether
//! or not the process waits for it: the work of a suspended process takes longer by the time of the
//! suspension. Everything else goes on: time limits and sleeps end, messages arrive, locks are given to it;
//! it hears of that when it resumes. A computation that was let go is its process's no longer. (SimGrid 3.32:
//! the same, but that messages of suspended actors stand still, too.)
//!
//! Invariant: a computation of a process is paused just while the process is suspended.

use paceline_network::Network;

use super::Core;
use super::process::{Blocked, Going, Held, Process, Side};
use super::request::ProcessId;

impl<P> Process<P> {
    /// Calls `act` for whatever is in progress and belongs to the process, with the side that is informed of
    /// its end.
    fn each_going(&mut self, id: ProcessId, mut act: impl FnMut(&mut Going, Side)) {
        let (blocked, held) = self.each_held_mut();
        if let Blocked::On(going) = blocked {
            act(going, Side::Waiting(id));
        }
        for (number, held) in held {
            if let Held::Going(going) = held {
                act(going, Side::Holding(id, *number));
            }
        }
    }
}

impl<P, N: Network> Core<P, N> {
    /// Begins a computation of a process, which is informed of its end as `side` says; not before it resumes
    /// if it is suspended.
    pub(super) fn compute(&mut self, id: ProcessId, flops: f64, side: Side) -> Going {
        let Process { host, suspended, .. } = self.processes[id];
        if suspended {
            return Going::Paused { host, flops };
        }
        let task = self.hosts[host as usize].cpu.begin(self.cause, flops, side);
        self.reschedule(host);
        Going::Computation { host, task }
    }

    pub(super) fn suspend(&mut self, id: ProcessId) {
        let Some(process) = self.processes.get_mut(id) else { return };
        if std::mem::replace(&mut process.suspended, true) {
            return;
        }
        let (host, hosts, now) = (process.host, &mut self.hosts, self.cause);
        process.each_going(id, |going, _| {
            if let Going::Computation { host, task } = *going {
                let flops = hosts[host as usize].cpu.stop(now, task);
                *going = Going::Paused { host, flops };
            }
        });
        self.reschedule(host);
    }

    pub(super) fn resume(&mut self, id: ProcessId) {
        let Some(process) = self.processes.get_mut(id) else { return };
        if !std::mem::replace(&mut process.suspended, false) || process.ended {
            return;
        }
        if process.answer.is_some() {
            process.moment = process.moment.later(self.cause);
            self.ready.push(id);
        }
        let (host, hosts, now) = (process.host, &mut self.hosts, self.cause);
        process.each_going(id, |going, side| {
            if let Going::Paused { host, flops } = *going {
                let task = hosts[host as usize].cpu.begin(now, flops, side);
                *going = Going::Computation { host, task };
            }
        });
        self.reschedule(host);
    }
}
