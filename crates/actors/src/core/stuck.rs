//! Who waits for what, when nothing will ever happen.

use std::fmt;

use paceline_network::{HostId, Network};

use super::Core;
use super::process::{Blocked, Held};
use super::request::{ObjectId, ProcessId};

/// A process that waits, and for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Which.
    pub process: ProcessId,
    /// How it is called.
    pub name: String,
    /// Where it runs.
    pub host: HostId,
    /// For what it waits, in words.
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
    pub(super) fn stuck(&mut self) -> Vec<Stuck> {
        let waiting: Vec<usize> = (0..self.processes.len())
            .filter(|place| !self.processes[*place].ended && !self.processes[*place].daemon)
            .collect();
        waiting.into_iter().map(|place| self.stuck_one(place)).collect()
    }

    fn stuck_one(&mut self, place: usize) -> Stuck {
        let process = &self.processes[place];
        let waits_for = match &process.blocked {
            _ if process.suspended => "being resumed".into(),
            Blocked::No => "its turn".into(),
            Blocked::Sleep => "a time that never comes".into(),
            Blocked::Message { comm, sends } => self.message(*comm, *sends),
            Blocked::Computation { host, .. } | Blocked::Paused { host, .. } => {
                format!("a computation on host {host}, which has no speed")
            }
            Blocked::Activity(number) => self.activities(place, &[*number], true),
            Blocked::Activities(several) => self.activities(place, &several.numbers, several.all),
            Blocked::Acquire(object) | Blocked::Meet(object) | Blocked::Get(object) => self.object(*object),
            Blocked::Notice { condition, .. } => self.object(*condition),
            Blocked::Join(other) => {
                format!("the end of process {other} `{}`", self.processes[other.0 as usize].name)
            }
        };
        let (name, host) = (process.name.to_string(), HostId(process.host));
        Stuck { process: ProcessId(place as u32), name, host, waits_for }
    }

    fn activities(&self, place: usize, numbers: &[u32], all: bool) -> String {
        let held = |number: &u32| self.processes[place].held.iter().find(|(own, _)| own == number);
        let each = numbers.iter().filter_map(held).map(|(_, held)| match held {
            Held::Message { comm, sends } => self.message(*comm, *sends),
            Held::Computation { host, .. } => format!("a computation on host {host}"),
            Held::Over(_) => "what is over".into(),
        });
        each.collect::<Vec<_>>().join(if all { " and " } else { " or " })
    }

    fn message(&self, comm: u32, sends: bool) -> String {
        let what = if sends { "somebody to receive from" } else { "a message in" };
        format!("{what} {}", self.messages.name(self.messages.mailbox_of(comm)))
    }

    fn object(&self, id: ObjectId) -> String {
        let name = self.objects.get(&id).map_or("object", super::objects::Object::name);
        format!("{name} {} of process {}", id.number, id.owner)
    }
}

#[cfg(test)]
mod test {
    use paceline_kernel::Time;
    use paceline_network::{Constant, HostId};

    use super::*;
    use crate::core::{ObjectKind, Request, Step};

    #[test]
    fn each_process_that_waits_is_named_with_what_it_waits_for() {
        let mut core: Core<(), _> = Core::new(Constant::new(1.0), &[(1.0, 1)]);
        let names = ["listens", "talks", "locks", "joins", "both"];
        let ids = names.map(|name| core.spawn(HostId(0), name.into()));
        let mut round = Vec::new();
        core.next_round(Time::MAX, &mut round);
        let object = ObjectId { owner: ids[2], number: 0 };
        core.request(ids[0], Request::Receive { from: "here".into(), limit: None });
        core.request(ids[1], Request::Send { to: 7.into(), payload: (), bytes: 0.0, limit: None });
        core.request(ids[2], Request::Make(0, ObjectKind::Semaphore(0)));
        core.request(ids[2], Request::Acquire { object, limit: None });
        core.request(ids[3], Request::Join { process: ids[0], limit: None });
        core.request(ids[4], Request::StartReceive { activity: 0, from: "a".into() });
        core.request(ids[4], Request::StartReceive { activity: 1, from: "b".into() });
        core.request(ids[4], Request::Wait { activities: vec![0, 1], all: false, limit: None });
        let Step::Deadlock(stuck) = core.next_round(Time::MAX, &mut round) else {
            panic!("nothing can happen")
        };
        let told: Vec<String> = stuck.iter().map(Stuck::to_string).collect();
        assert_eq!(
            told,
            [
                "process 0 `listens` on host 0 waits for a message in mailbox `here`",
                "process 1 `talks` on host 0 waits for somebody to receive from mailbox 7",
                "process 2 `locks` on host 0 waits for semaphore 0 of process 2",
                "process 3 `joins` on host 0 waits for the end of process 0 `listens`",
                "process 4 `both` on host 0 waits for a message in mailbox `a` or a message in mailbox `b`",
            ]
        );
    }
}
