//! What a process in a part of a world may not do: act at once beyond its host.
//!
//! Hosts may be in different parts, which do not know each other's present; the result must not depend on how
//! a world is divided. So the rule is the same whether the other host is in the same part or not. Beyond a
//! host reach only messages to mailboxes that stand at one.
//!
//! A request that `reach` does not name is taken for one that acts at its host only.

use std::fmt;

use paceline_kernel::Time;
use paceline_network::{HostId, Network};

use super::Core;
use super::request::{Mailbox, ObjectId, ProcessId, Request};
use super::stuck::Stuck;

/// What a process did beyond its host, in a part of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It sent to, or received from, a mailbox that stands nowhere.
    Mailbox,
    /// It acted on a process, or waited for one.
    Process,
    /// It spawned a process.
    Spawn,
    /// It used an object of a process there.
    Object,
    /// It switched a host off or on.
    Host,
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mailbox => "used a mailbox that stands at no host",
            Self::Process => "acted on a process on another host",
            Self::Spawn => "spawned a process on another host",
            Self::Object => "used an object of another host",
            Self::Host => "switched another host",
        })
    }
}

impl<P, N: Network> Core<P, N> {
    /// The process that first acted beyond its host, and how; only in a part of a world.
    pub fn reached_out(&self) -> Option<(ProcessId, Reach)> {
        self.reached_out
    }

    /// The number of processes that keep the run from ending.
    pub fn living(&self) -> u64 {
        self.living
    }

    /// The time at which a process last ran.
    pub fn acted(&self) -> Time {
        self.acted
    }

    /// In a part of a world that has ended at `last`: mailboxes with messages that were not received, and
    /// their number. What was not waited for until then, as nobody could notice it, has happened.
    pub fn unreceived_until(&mut self, last: Time) -> Vec<(Mailbox, usize)> {
        self.catch_up(last.saturating_add(Time::nanos(1)));
        self.messages.unreceived(last)
    }

    /// The processes that wait, but for daemons.
    pub fn waiting(&mut self) -> Vec<Stuck> {
        self.stuck()
    }

    /// How a request of a process on `host` acts beyond it, where it may not.
    pub(super) fn reach(&mut self, host: u32, request: &Request<P>) -> Option<Reach> {
        if !self.parcels.is_part() {
            return None;
        }
        let there = |process: ProcessId| self.processes.host_of(process) != Some(host);
        let (beyond, reach) = match request {
            Request::Send { to: mailbox, .. }
            | Request::Detach { to: mailbox, .. }
            | Request::StartSend { to: mailbox, .. }
            | Request::Receive { from: mailbox, .. }
            | Request::StartReceive { from: mailbox, .. } => {
                let mailbox = self.messages.mailbox(mailbox);
                (self.messages.host(mailbox).is_none(), Reach::Mailbox)
            }
            Request::Join { process, .. }
            | Request::Kill(process)
            | Request::Suspend(process)
            | Request::Resume(process) => (there(*process), Reach::Process),
            Request::Spawn { host: HostId(other), .. } => (*other != host, Reach::Spawn),
            Request::SwitchOff(HostId(other))
            | Request::SwitchOffFor(HostId(other), _)
            | Request::SwitchOn(HostId(other)) => (*other != host, Reach::Host),
            Request::Acquire { object: ObjectId { owner, .. }, .. }
            | Request::Release(ObjectId { owner, .. })
            | Request::ConditionWait { condition: ObjectId { owner, .. }, .. }
            | Request::Notify { condition: ObjectId { owner, .. }, .. }
            | Request::BarrierWait(ObjectId { owner, .. })
            | Request::Put(ObjectId { owner, .. }, _)
            | Request::Get { queue: ObjectId { owner, .. }, .. } => (there(*owner), Reach::Object),
            Request::Claim { resource, .. } | Request::Change(resource, _) => {
                (resource.host != host, Reach::Object)
            }
            Request::ReleaseUnits { holder: process, .. } | Request::Interrupt(process, _) => {
                (there(*process), Reach::Process)
            }
            _ => (false, Reach::Object),
        };
        beyond.then_some(reach)
    }
}
