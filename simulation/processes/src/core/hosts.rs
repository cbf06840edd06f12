//! Hosts: what is computed on them, and what becomes of processes and messages when they go.
//!
//! Invariant: the calendar has the end of a host's first computation, under the host's present stamp.

use paceline_kernel::{Digest, Time};
use paceline_network::{HostId, Network};

use super::Core;
use super::calendar::Due;
use super::cpu::Cpu;
use super::process::{Process, Side};
use super::request::{Answer, Name, ProcessId, RequestError};

#[derive(Clone, Debug)]
pub(super) struct Host {
    pub(super) cpu: Cpu<Side>,
    /// Ends of computations entered under another stamp are out of date.
    pub(super) stamp: u32,
    /// Whether the calendar has an end under the present stamp.
    entered: Option<Time>,
    /// Processes that come back with it.
    back: Vec<Back>,
}

/// What is known of a process that went with its host and comes back with it.
#[derive(Clone, Debug)]
pub(super) struct Back {
    id: ProcessId,
    name: Name,
    identity: u64,
    daemon: bool,
}

impl Host {
    pub(super) fn new(speed: f64, cores: u32) -> Self {
        Self { cpu: Cpu::new(speed, cores), stamp: 0, entered: None, back: Vec::new() }
    }

    /// The processes that come back when it is switched on.
    pub(super) fn back(&self) -> &[Back] {
        &self.back
    }
}

impl<P, N: Network> Core<P, N> {
    /// Something on `host` has changed: its next end is another.
    pub(super) fn reschedule(&mut self, number: u32) {
        let host = &mut self.hosts[number as usize];
        let next = host.cpu.next().map(|next| next.at);
        if next == host.entered {
            return;
        }
        host.stamp = host.stamp.wrapping_add(1);
        host.entered = next;
        if let Some(at) = next {
            self.calendar.enter(at.max(self.now), Due::Computed { host: number, stamp: host.stamp });
        }
    }

    /// The first computation on a host is over, if the entry is not out of date. The host is to be scheduled
    /// again after that.
    pub(super) fn computed(&mut self, number: u32, stamp: u32) {
        let host = &mut self.hosts[number as usize];
        if host.stamp != stamp || host.cpu.is_idle() {
            return;
        }
        host.entered = None;
        self.ended.push(number);
        let Some((side, exact)) = host.cpu.end(self.now) else { return };
        self.because(exact);
        self.inform(side, Answer::Done);
        // Others that end in this tick, but later, do so when what this one is followed by has begun.
        while let Some(side) = self.hosts[number as usize].cpu.end_with() {
            self.inform(side, Answer::Done);
        }
    }

    /// A host goes, with all that runs on it and flows from it or to it.
    pub(super) fn switch_off(&mut self, id: HostId) {
        let Some(on) = self.on.get_mut(id.0 as usize).filter(|on| **on) else { return };
        *on = false;
        for place in self.messages.touching(id.0) {
            if let Some(comm) = self.messages.remove(place) {
                comm.transfer.into_iter().for_each(|transfer| self.stop(transfer));
                self.inform(comm.sender, Answer::Failed(RequestError::HostOff));
                self.inform(comm.receiver, Answer::Failed(RequestError::HostOff));
            }
        }
        let here = |process: &Process<P>| process.host == id.0 && !process.ended;
        let processes = self.processes.iter();
        let gone: Vec<ProcessId> = processes.filter(|(_, process)| here(process)).map(|(id, _)| id).collect();
        for process in gone {
            let Process { ref name, identity, restarts, daemon, .. } = self.processes[process];
            if restarts {
                let back = Back { id: process, name: name.clone(), identity, daemon };
                self.hosts[id.0 as usize].back.push(back);
                // The run waits for it.
                self.living += u64::from(!daemon);
            }
            self.kill(process);
        }
        self.messages.clear(id.0);
        self.hosts[id.0 as usize].cpu.clear();
        self.reschedule(id.0);
    }

    /// A host goes, and comes back after a span.
    pub(super) fn switch_off_for(&mut self, id: HostId, span: Time) {
        if self.on.get(id.0 as usize) == Some(&true) {
            self.switch_off(id);
            self.profiles.bring_back(self.now.saturating_add(span), id.0);
        }
    }

    /// Whether a process that has ended in this instant comes back with its host.
    pub fn comes_back(&self, id: ProcessId) -> bool {
        let host = self.processes.get(id).map(|process| &self.hosts[process.host as usize]);
        host.is_some_and(|host| host.back.iter().any(|back| back.id == id))
    }

    /// A host comes back, and with it the processes that are to.
    pub(super) fn switch_on(&mut self, id: HostId) {
        let Some(on) = self.on.get_mut(id.0 as usize).filter(|on| !**on) else { return };
        *on = true;
        for Back { id: before, name, identity, daemon } in std::mem::take(&mut self.hosts[id.0 as usize].back)
        {
            let identity = Digest::of(&(identity, 'b')).value();
            let restarts = true;
            let process = Process { daemon, restarts, ..Process::new(name, id.0, identity) };
            // It has counted while the host was off.
            self.living -= u64::from(!daemon);
            let after = self.add(process);
            self.restarted.push((before, after));
        }
    }
}
