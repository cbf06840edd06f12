//! What each process waits for: reported at a deadlock, or on request.

use std::fmt;

use paceline_kernel::Time;
use paceline_network::{HostId, Network};

use super::Core;
use super::process::{Blocked, Going, Held, Process};
use super::request::{ObjectId, ObjectKind, ProcessId};
use super::resources::WaitsFor;

/// A process that waits, and for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The process, by its number.
    pub process: ProcessId,
    /// How it is called.
    pub name: String,
    /// Where it runs.
    pub host: HostId,
    /// What it waits for, in words.
    pub waits_for: String,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { process, name, host, waits_for } = self;
        write!(f, "process {process} `{name}` on host {} waits for {waits_for}", host.0)
    }
}

impl<P, N: Network> Core<P, N> {
    /// All processes that wait, but for daemons.
    pub(super) fn stuck(&self) -> Vec<Stuck> {
        let waits = |(_, process): &(ProcessId, &Process<P>)| !process.ended && !process.daemon;
        self.processes.iter().filter(waits).map(|(id, process)| self.stuck_one(id, process)).collect()
    }

    fn stuck_one(&self, id: ProcessId, process: &Process<P>) -> Stuck {
        let (name, host) = (process.name.to_string(), HostId(process.host));
        Stuck { process: id, name, host, waits_for: self.in_words(id, process) }
    }

    /// What a process waits for, in words; `None` where it has ended.
    pub fn waits_for(&self, id: ProcessId) -> Option<String> {
        let process = self.processes.get(id).filter(|process| !process.ended)?;
        Some(self.in_words(id, process))
    }

    fn in_words(&self, id: ProcessId, process: &Process<P>) -> String {
        match &process.blocked {
            _ if process.suspended => "being resumed".into(),
            Blocked::No => self.claims(id),
            Blocked::Sleep if process.limit == Time::MAX => "a time that never comes".into(),
            Blocked::Sleep => format!("time {}", process.limit),
            Blocked::On(going) => self.going(*going),
            Blocked::Activity(number) => self.activities(process, &[*number], true),
            Blocked::Activities(several) => self.activities(process, &several.numbers, several.all),
            Blocked::Acquire(object)
            | Blocked::LockAgain(object)
            | Blocked::Barrier(object)
            | Blocked::Get(object) => self.object(*object),
            Blocked::Condition { condition, .. } => self.object(*condition),
            Blocked::Join(other) => {
                format!("the end of process {other} `{}`", self.processes[*other].name)
            }
        }
    }

    /// The claims of a process, and who holds what it wants.
    fn claims(&self, id: ProcessId) -> String {
        let claims = self.resources.waits_for(id);
        if claims.is_empty() {
            return "its turn".into();
        }
        let each = claims.into_iter().map(|WaitsFor { what, holders }| {
            let names = holders.iter().map(|holder| match self.processes.get(*holder) {
                Some(process) => format!("process {holder} `{}`", process.name),
                None => format!("process {holder}"),
            });
            let names = names.collect::<Vec<_>>().join(", ");
            if names.is_empty() { what } else { format!("{what}, held by {names}") }
        });
        each.collect::<Vec<_>>().join(" or ")
    }

    /// What a process waits for at resources, with who holds it.
    pub fn waits_on(&self, process: ProcessId) -> Vec<WaitsFor> {
        self.resources.waits_for(process)
    }

    /// The units of resources that a process holds, in words.
    pub fn holds(&self, process: ProcessId) -> Vec<String> {
        self.resources.holds(process)
    }

    fn activities(&self, process: &Process<P>, numbers: &[u32], all: bool) -> String {
        let held = |number: &u32| process.held.iter().find(|(activity, _)| activity == number);
        let each = numbers.iter().filter_map(held).map(|(_, held)| match held {
            Held::Going(going) => self.going(*going),
            Held::Asked | Held::Over(..) => "what is over".into(),
        });
        each.collect::<Vec<_>>().join(if all { " and " } else { " or " })
    }

    fn going(&self, going: Going) -> String {
        let (what, comm) = match going {
            Going::Computation { host, .. } => {
                let ends = self.hosts[host as usize].cpu.next().is_some();
                return format!(
                    "a computation on host {host}{}",
                    if ends { "" } else { ", which has no speed" }
                );
            }
            Going::Paused { .. } => return "being resumed".into(),
            Going::Message { comm, .. } if self.messages.is_on_its_way(comm) => {
                ("a message on its way to", comm)
            }
            Going::Parcel(place) => {
                let to = self.parcels.mailbox(place).map_or_else(String::new, |to| format!(" in {to}"));
                return format!("the arrival of a message{to}");
            }
            Going::Message { comm, sends: true } => ("a receiver at", comm),
            Going::Message { comm, sends: false } => ("a message in", comm),
        };
        format!("{what} {}", self.messages.name(self.messages.mailbox_of(comm)))
    }

    fn object(&self, id: ObjectId) -> String {
        let name = match id.kind {
            ObjectKind::Semaphore(_) => "semaphore",
            ObjectKind::Mutex => "mutex",
            ObjectKind::Condition => "condition variable",
            ObjectKind::Barrier(_) => "barrier",
            ObjectKind::Queue => "message queue",
        };
        format!("{name} {} of process {}", id.number, id.owner)
    }
}

#[cfg(test)]
mod test {
    use paceline_network::{Constant, HostId};

    use super::*;
    use crate::core::{Request, Step};

    #[test]
    fn whoever_asks_is_reported_what_a_process_waits_for() {
        let mut core: Core<(), _> = Core::new(Constant::new(1.0), &[(1.0, 1)]);
        core.place(&"door".into(), HostId(0));
        let names = ["sleeps", "sends", "receives", "computes", "yields", "ends", "posts"];
        let ids = names.map(|name| core.spawn(HostId(0), name.into()));
        let mut round = Vec::new();
        core.next_round(Time::MAX, &mut round);
        core.request(ids[0], Request::Sleep(Time::millis(1500)));
        core.request(ids[1], Request::Send { to: 7.into(), payload: (), bytes: 0.0, limit: None });
        core.request(ids[2], Request::Receive { from: 7.into(), limit: None });
        core.request(ids[3], Request::Compute(1.0));
        core.request(ids[4], Request::Sleep(Time::ZERO));
        core.end(ids[5]);
        core.request(ids[6], Request::Send { to: "door".into(), payload: (), bytes: 0.0, limit: None });
        let arrival = "the arrival of a message in mailbox `door`";
        assert_eq!(core.waits_for(ids[6]).as_deref(), Some(arrival));
        let message = Some("a message on its way to mailbox 7".to_owned());
        assert_eq!(core.waits_for(ids[0]).as_deref(), Some("time 1.5s"));
        assert_eq!([1, 2].map(|place| core.waits_for(ids[place])), [message.clone(), message]);
        assert_eq!(core.waits_for(ids[3]).as_deref(), Some("a computation on host 0"));
        assert_eq!(core.waits_for(ids[5]), None);
    }

    #[test]
    fn each_process_that_waits_is_named_with_what_it_waits_for() {
        let mut core: Core<(), _> = Core::new(Constant::new(1.0), &[(1.0, 1)]);
        let names = ["listens", "talks", "locks", "joins", "both"];
        let ids = names.map(|name| core.spawn(HostId(0), name.into()));
        let mut round = Vec::new();
        core.next_round(Time::MAX, &mut round);
        let object = ObjectId { owner: ids[2], number: 0, kind: ObjectKind::Semaphore(0) };
        core.request(ids[0], Request::Receive { from: "here".into(), limit: None });
        core.request(ids[1], Request::Send { to: 7.into(), payload: (), bytes: 0.0, limit: None });
        core.request(ids[2], Request::Acquire { object, limit: None });
        core.request(ids[3], Request::Join { process: ids[0], limit: None });
        core.request(ids[4], Request::StartReceive { activity: 0, from: "a".into() });
        core.request(ids[4], Request::StartReceive { activity: 1, from: "b".into() });
        core.request(ids[4], Request::Wait { activities: vec![0, 1], all: false, limit: None });
        let Step::Deadlock(stuck) = core.next_round(Time::MAX, &mut round) else {
            panic!("nothing can happen")
        };
        let lines: Vec<String> = stuck.iter().map(Stuck::to_string).collect();
        assert_eq!(
            lines,
            [
                "process 0 `listens` on host 0 waits for a message in mailbox `here`",
                "process 1 `talks` on host 0 waits for a receiver at mailbox 7",
                "process 2 `locks` on host 0 waits for semaphore 0 of process 2",
                "process 3 `joins` on host 0 waits for the end of process 0 `listens`",
                "process 4 `both` on host 0 waits for a message in mailbox `a` or a message in mailbox `b`",
            ]
        );
    }
}
