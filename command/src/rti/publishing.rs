//! Where the variable `PACELINE_LVT` names a page: how far federates are is published for their processes, so
//! that `paceline pace` runs those first that are furthest behind.
//!
//! A process is found by its end of the connection, if that is on this machine: the system says which socket
//! has this address, and which process has this socket. Federates of one process are published as one: as
//! far as the one furthest behind, and as waiting when all wait.
//!
//! A federate that waits is as far as the time that it has asked for, since it has done everything before
//! that.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

use paceline_fedpro::{Client, FederateActivity, FederateObserver, FederateTimes, LogicalTime, Peer};
use paceline_lvt::layout::LVT_MAX;
use paceline_lvt::{Error, GuestReport, Page, ProcessRelay};
use paceline_pace::{run_as_usual, run_before_paced};
use procfs::process::{FDTarget, all_processes};

use super::lines::Lines;
use crate::lvt::relay::has_page;

/// Publishes for the processes of federates.
#[derive(Debug)]
pub struct Publishing {
    lines: Lines,
    /// By client: its process.
    federates: BTreeMap<Client, u32>,
    processes: BTreeMap<u32, Process>,
    has_said_unknown: bool,
    has_said_refused: bool,
    /// Whether the server runs before what is paced.
    before_paced: bool,
}

#[derive(Debug)]
struct Process {
    relay: ProcessRelay,
    federates: BTreeMap<Client, GuestReport>,
}

impl Process {
    fn publish(&mut self) {
        let lvt_ns = self.federates.values().map(|report| report.lvt_ns).min();
        let waiting = self.federates.values().all(|report| report.waiting);
        if let Some(lvt_ns) = lvt_ns {
            self.relay.publish(GuestReport { lvt_ns, waiting });
        }
    }
}

/// A logical time as an LVT: whole numbers as they are, floats as seconds. LVTs begin at 0.
fn lvt_ns(time: LogicalTime) -> u64 {
    match time {
        LogicalTime::Integer(number) => u64::try_from(number).unwrap_or(0),
        // What is below or above the range is the end of the range.
        LogicalTime::Float(_) => ((time.to_f64() * 1e9) as u64).min(LVT_MAX),
    }
}

impl Publishing {
    /// To be called by the thread that serves. Nothing where the variable is not set.
    pub fn from_env(lines: Lines) -> Result<Option<Self>, Error> {
        if Page::from_env()?.is_none() {
            return Ok(None);
        }
        // Where paced threads take all cores, it would be served too late who is behind. Where this is not
        // permitted, those are not before it.
        let before_paced = run_before_paced().is_ok();
        let (federates, processes) = (BTreeMap::new(), BTreeMap::new());
        Ok(Some(Self {
            lines,
            federates,
            processes,
            has_said_unknown: false,
            has_said_refused: false,
            before_paced,
        }))
    }

    fn say_unknown(&mut self, name: &str, problem: &str) {
        if !std::mem::replace(&mut self.has_said_unknown, true) {
            self.lines.log(&format!("{name:?} cannot be paced: {problem}; this is said once"));
        }
    }

    /// Starts a process's relay, or says once why it cannot publish.
    fn start(&mut self, pid: u32, name: &str) -> Result<(), Error> {
        if let Entry::Vacant(vacant) = self.processes.entry(pid) {
            // Without a page any more, nobody is paced.
            let Some(page) = Page::from_env()? else { return Ok(()) };
            // The prefix distinguishes it from slots that programs claim by themselves.
            let mut relay = ProcessRelay::new(page, pid, &format!("rti: {name}"));
            relay.look()?;
            vacant.insert(Process { relay, federates: BTreeMap::new() });
        }
        Ok(())
    }

    fn refuse(&mut self, error: &Error) {
        if !std::mem::replace(&mut self.has_said_refused, true) {
            self.lines.log(&format!("federates are not paced any further: {error}"));
        }
    }
}

impl FederateObserver for Publishing {
    fn joined(&mut self, client: Client, _federation: &str, name: &str, peer: Option<Peer>) {
        let Some(peer) = peer else { return self.say_unknown(name, "it has no connection") };
        if !peer.client.ip().to_canonical().is_loopback() {
            return;
        }
        let Some(pid) = process_of(peer) else {
            let client = peer.client;
            return self.say_unknown(
                name,
                &format!(
                    "no process is found at {client}; allowed are processes of this user and PID namespace"
                ),
            );
        };
        match self.start(pid, name) {
            Ok(()) => drop(self.federates.insert(client, pid)),
            Err(error) => self.refuse(&error),
        }
    }

    fn changed(&mut self, client: Client, activity: FederateActivity, times: FederateTimes, _at: Duration) {
        let process = self.federates.get(&client).and_then(|pid| self.processes.get_mut(pid));
        let Some(process) = process else { return };
        let lvt_ns = lvt_ns(times.asked.unwrap_or(times.now));
        let report = GuestReport { lvt_ns, waiting: activity == FederateActivity::Advancing };
        if process.federates.insert(client, report) != Some(report) {
            process.publish();
        }
    }

    fn left(&mut self, client: Client, _at: Duration) {
        let Some(pid) = self.federates.remove(&client) else { return };
        let Some(process) = self.processes.get_mut(&pid) else { return };
        process.federates.remove(&client);
        if self.federates.values().any(|other| *other == pid) {
            process.publish();
        } else {
            self.processes.remove(&pid);
        }
    }

    fn look(&mut self) {
        if self.before_paced {
            // The page vanishes with the pacer. Nobody is paced then, and the server needs no priority.
            self.before_paced = has_page() || run_as_usual().is_err();
        }
        let mut failures = Vec::new();
        for process in self.processes.values_mut() {
            failures.extend(process.relay.look().err());
        }
        failures.iter().for_each(|error| self.refuse(error));
    }
}

/// The process that has the client's end of a connection.
fn process_of(peer: Peer) -> Option<u32> {
    let is_it = |one: std::net::SocketAddr, other: std::net::SocketAddr| {
        (one.ip().to_canonical(), one.port()) == (other.ip().to_canonical(), other.port())
    };
    let rows = [procfs::net::tcp(), procfs::net::tcp6()].into_iter().flatten().flatten();
    let mut sockets = rows.filter(|row| {
        is_it(row.local_address, peer.client) && is_it(row.remote_address, peer.server) && row.inode != 0
    });
    let inode = sockets.next()?.inode;
    let has_socket = |process: &procfs::process::Process| {
        let targets = process.fd().into_iter().flatten().flatten().map(|fd| fd.target);
        targets.into_iter().any(|target| matches!(target, FDTarget::Socket(found) if found == inode))
    };
    let mut processes = all_processes().into_iter().flatten().flatten();
    processes.find(has_socket)?.pid.try_into().ok()
}
