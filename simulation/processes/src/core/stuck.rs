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
    /// What it waits for, in words, and who holds that.
    pub waits_for: String,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { process, name, host, waits_for } = self;
        write!(f, "process {process} `{name}` on host {} waits for {waits_for}", host.0)
    }
}

/// What a process waits for, as a kind and a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitReason {
    /// The kind, such as "message" or "mutex".
    pub kind: &'static str,
    /// Its name: that of a mailbox, an object, a host, another process, or a time. Of several things, all
    /// names; empty where it has none.
    pub name: String,
    /// Since when.
    pub since: Time,
}

/// A kind, and a name.
type Named = (&'static str, String);

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

    /// The processes of this number or name, with what they wait for and since when.
    pub fn find(&self, who: &str) -> Vec<(Stuck, Time)> {
        let number = who.parse().ok();
        let is_meant = |(id, process): &(ProcessId, &Process<P>)| {
            !process.ended && (number == Some(id.0) || *process.name == *who)
        };
        let found = self.processes.iter().filter(is_meant);
        found.map(|(id, process)| (self.stuck_one(id, process), process.moment.at)).collect()
    }

    /// What a process waits for, in words; `None` where it has ended.
    pub fn waits_for(&self, id: ProcessId) -> Option<String> {
        let process = self.processes.get(id).filter(|process| !process.ended)?;
        Some(self.in_words(id, process))
    }

    /// What a process waits for, as a kind and a name; `None` where it has ended or does not wait.
    pub fn wait_of(&self, id: ProcessId) -> Option<WaitReason> {
        let process = self.processes.get(id).filter(|process| !process.ended)?;
        let claims = if process.waits() { Vec::new() } else { self.resources.waits_for(id) };
        if !process.waits() && claims.is_empty() {
            return None;
        }
        let several = |names: Vec<&str>| names.join(", ");
        let all = self.named(process);
        let (kind, name) = match (&claims[..], &all[..]) {
            ([], [(kind, name)]) => (*kind, name.clone()),
            ([], all) => ("activities", several(all.iter().map(|(_, name)| &**name).collect())),
            (claims, _) => ("resource", several(claims.iter().map(|claim| &*claim.what).collect())),
        };
        Some(WaitReason { kind, name, since: process.moment.at })
    }

    fn in_words(&self, id: ProcessId, process: &Process<P>) -> String {
        match &process.blocked {
            _ if process.suspended => "being resumed".into(),
            Blocked::No | Blocked::Given(_) => self.claims(id),
            Blocked::Sleep if process.limit == Time::MAX => "a time that never comes".into(),
            blocked => {
                let link = if matches!(blocked, Blocked::Activities(several) if !several.all) {
                    " or "
                } else {
                    " and "
                };
                let all = self.named(process).into_iter().map(|(kind, name)| self.phrase(kind, &name));
                let held = self.object_of(process).map_or_else(String::new, |object| self.held(object));
                format!("{}{held}", all.collect::<Vec<_>>().join(link))
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

    /// A kind and a name, as a sentence has them.
    fn phrase(&self, kind: &str, name: &str) -> String {
        match kind {
            "time" => format!("time {name}"),
            "message" => format!("a message in {name}"),
            "receiver" => format!("a receiver at {name}"),
            "transfer" => format!("a message on its way to {name}"),
            "arrival" if name.is_empty() => "the arrival of a message".into(),
            "arrival" => format!("the arrival of a message in {name}"),
            "computation" => format!("a computation on {name}"),
            "resumption" => "being resumed".into(),
            "nothing" => "what is over".into(),
            "end" => format!("the end of {name}"),
            kind => format!("{kind} {name}"),
        }
    }

    /// The shared object that a process waits for, if it does.
    fn object_of(&self, process: &Process<P>) -> Option<ObjectId> {
        match &process.blocked {
            Blocked::Acquire(object)
            | Blocked::LockAgain(object)
            | Blocked::Barrier(object)
            | Blocked::Get(object) => Some(*object),
            Blocked::Condition(notice) => Some(notice.condition),
            _ => None,
        }
    }

    /// What a process waits for, each as a kind and a name.
    fn named(&self, process: &Process<P>) -> Vec<Named> {
        let activities = |numbers: &[u32]| {
            let held = |number: &u32| process.each_held().find(|(activity, _)| activity == number);
            let each = numbers.iter().filter_map(held).map(|(_, held)| match held {
                Held::Going(going) => self.going(*going),
                Held::Asked | Held::Over(..) => ("nothing", String::new()),
            });
            each.collect()
        };
        match &process.blocked {
            Blocked::No | Blocked::Given(_) => Vec::new(),
            Blocked::Sleep if process.limit == Time::MAX => vec![("time", "never".into())],
            Blocked::Sleep => vec![("time", process.limit.to_string())],
            Blocked::On(going) => vec![self.going(*going)],
            Blocked::Activity(number) => activities(&[*number]),
            Blocked::Activities(several) => activities(&several.numbers),
            Blocked::Join(other) => vec![("end", self.who(*other))],
            _ => self.object_of(process).map(object).into_iter().collect(),
        }
    }

    /// A process by number and name.
    fn who(&self, id: ProcessId) -> String {
        match self.processes.get(id).filter(|process| !process.ended) {
            Some(process) => format!("process {id} `{}`", process.name),
            None => format!("process {id}, which has ended"),
        }
    }

    fn going(&self, going: Going) -> Named {
        let (kind, comm) = match going {
            Going::Computation { host, .. } => {
                let ends = self.hosts[host as usize].cpu.next().is_some();
                return (
                    "computation",
                    format!("host {host}{}", if ends { "" } else { ", which has no speed" }),
                );
            }
            Going::Paused { .. } => return ("resumption", String::new()),
            Going::Message { comm, .. } if self.messages.is_on_its_way(comm) => ("transfer", comm),
            Going::Parcel(place) => {
                let to = self.parcels.mailbox(place).map_or_else(String::new, ToString::to_string);
                return ("arrival", to);
            }
            Going::Message { comm, sends: true } => ("receiver", comm),
            Going::Message { comm, sends: false } => ("message", comm),
        };
        (kind, self.messages.name(self.messages.mailbox_of(comm)).to_string())
    }

    /// Who holds an object that a process waits for, in words.
    fn held(&self, id: ObjectId) -> String {
        let Some(object) = self.objects.look(id) else { return String::new() };
        if let Some((come, size)) = object.come() {
            return format!(", to which {come} of {size} have come");
        }
        let holders: Vec<String> = object.holders().iter().map(|holder| self.who(*holder)).collect();
        match (holders.is_empty(), id.kind) {
            (true, _) => String::new(),
            (_, ObjectKind::Semaphore(_)) => format!(", taken by {}", holders.join(" and ")),
            _ => format!(", held by {}", holders.join(" and ")),
        }
    }
}

/// An object, as its kind and its name.
fn object(id: ObjectId) -> Named {
    let kind = match id.kind {
        ObjectKind::Semaphore(_) => "semaphore",
        ObjectKind::Mutex => "mutex",
        ObjectKind::Condition => "condition variable",
        ObjectKind::Barrier(_) => "barrier",
        ObjectKind::Queue => "message queue",
    };
    (kind, format!("{} of process {}", id.number, id.owner))
}

#[cfg(test)]
mod test {
    use paceline_network::{Constant, HostId};

    use super::*;
    use crate::core::{Answer, Request, Step};

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

    #[test]
    fn who_waits_for_an_object_is_shown_who_holds_it() {
        let mut core: Core<(), _> = Core::new(Constant::new(1.0), &[(1.0, 1)]);
        let names = ["locks", "takes", "ends", "wants", "waits", "early"];
        let ids = names.map(|name| core.spawn(HostId(0), name.into()));
        let mut round = Vec::new();
        core.next_round(Time::MAX, &mut round);
        let object = |kind| ObjectId { owner: ids[0], number: 3, kind };
        let acquire = |object| Request::Acquire { object, limit: None };
        let (mutex, permits, barrier) =
            (object(ObjectKind::Mutex), object(ObjectKind::Semaphore(2)), object(ObjectKind::Barrier(3)));
        core.request(ids[0], acquire(mutex));
        core.request(ids[1], acquire(permits));
        core.request(ids[2], acquire(permits));
        core.request(ids[3], Request::Sleep(Time::secs(2)));
        core.request(ids[4], Request::Sleep(Time::secs(2)));
        core.request(ids[5], Request::BarrierWait(barrier));
        core.next_round(Time::MAX, &mut round);
        // It has looked at its answer: the permit stays taken.
        ids[..3].iter().for_each(|id| assert_eq!(core.answer(*id), Some(Answer::Truth(true))));
        core.end(ids[2]);
        core.request(ids[0], acquire(permits));
        core.request(ids[1], acquire(mutex));
        core.next_round(Time::MAX, &mut round);
        core.request(ids[3], acquire(mutex));
        core.request(ids[4], acquire(permits));
        let Step::Deadlock(stuck) = core.next_round(Time::MAX, &mut round) else {
            panic!("nothing can happen")
        };
        let taken = "semaphore 3 of process 0, taken by process 1 `takes` and process 2, which has ended";
        let held = "mutex 3 of process 0, held by process 0 `locks`";
        let barrier = "barrier 3 of process 0, to which 1 of 3 have come";
        let waits: Vec<&str> = stuck.iter().map(|stuck| &*stuck.waits_for).collect();
        assert_eq!(waits, [taken, held, held, taken, barrier]);
        let (found, since) = core.find("wants").remove(0);
        assert_eq!((found.process, since, &*found.waits_for), (ids[3], Time::secs(2), held));
        assert_eq!((core.find("4").len(), core.find("ends").len(), core.find("77").len()), (1, 0, 0));
        let wait = WaitReason { kind: "mutex", name: "3 of process 0".into(), since: Time::secs(2) };
        assert_eq!(core.wait_of(ids[3]), Some(wait));
    }
}
