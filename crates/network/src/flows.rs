//! The flow-level network: transfers first wait for their latency, then flow at the rates that the links' sharing gives.
//!
//! The model is SimGrid's (CM02 and LV08, see [`FlowModel`]). A transfer's bytes flow at one rate from end to end, as if
//! the whole route were one pipe; rates change only when a transfer begins to flow or ends, or a link changes. Between two
//! changes nothing is computed: a transfer's bytes are brought up to date when its own rate changes.
//!
//! Invariants: every transfer that is neither over nor waiting for its latency is in the solver; its end is among the
//! events, for the rate that it has now; events that are out of date are known by their stamps. A transfer over a link that
//! is off, there or back, ends at once without having arrived.

mod events;
mod model;

use std::collections::{BTreeMap, BTreeSet};

use crate::flows::events::{Event, Events, What};
use crate::network::{Ended, Network, TransferId};
use crate::platform::{HostId, Link, LinkId, Platform};
use crate::profile::Profile;
use crate::{RouteError, Solver};

pub use model::FlowModel;

/// What a profile changes of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Aspect {
    Bandwidth,
    Latency,
    State,
}

impl Aspect {
    const ALL: [Self; 3] = [Self::Bandwidth, Self::Latency, Self::State];

    fn profile(self, link: &Link) -> Option<&Profile> {
        match self {
            Self::Bandwidth => link.bandwidth_profile.as_ref(),
            Self::Latency => link.latency_profile.as_ref(),
            Self::State => link.state_profile.as_ref(),
        }
    }
}

/// A link as it is now.
#[derive(Clone, Copy, Debug)]
struct Now {
    bandwidth: f64,
    latency: f64,
    on: bool,
}

/// Where a transfer is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// A link was off when it started.
    Refused,
    /// Its latency is not over.
    Waiting,
    /// It is in the solver.
    Flowing,
}

/// A transfer that is not over.
#[derive(Clone, Debug)]
struct Transfer {
    /// The links of the route, and their use by this transfer and by what comes back.
    route: Vec<LinkId>,
    weights: Vec<(usize, f64)>,
    /// The least bandwidth on the route when it started. As in SimGrid, no link that becomes faster makes it faster.
    narrowest: f64,
    phase: Phase,
    bytes: f64,
    /// Bytes per second, since the time `since`.
    rate: f64,
    since: f64,
    /// Events with another stamp are out of date.
    stamp: u32,
}

/// The flow-level network on a platform.
///
/// ```
/// use paceline_network::{FlowModel, Flows, Network, TransferId, read};
///
/// let text = r#"<platform version="4.1"><zone id="z" routing="Full">
///     <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/>
///     <link id="there" bandwidth="10MBps"/> <link id="back" bandwidth="10MBps"/>
///     <route src="a" dst="b" symmetrical="NO"><link_ctn id="there"/></route>
///     <route src="b" dst="a" symmetrical="NO"><link_ctn id="back"/></route>
/// </zone></platform>"#;
/// let platform = read("demo.xml", text, &mut |_| Err("there are no other files".into()))?;
/// let (a, b) = (platform.host("a").unwrap(), platform.host("b").unwrap());
/// let mut network = Flows::new(&platform, FlowModel::CM02);
/// let (small, large) = (network.start(a, b, 5e6).unwrap(), network.start(a, b, 10e6).unwrap());
/// // Both have half of the link, until the first ends and the second has all of it.
/// let ended: Vec<(TransferId, f64)> = network.advance(2.0).iter().map(|end| (end.transfer, end.at)).collect();
/// assert_eq!(ended, [(small, 1.0), (large, 1.5)]);
/// # Ok::<(), paceline_network::ReadError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Flows<'p> {
    platform: &'p Platform,
    model: FlowModel,
    now: f64,
    solver: Solver,
    links: Vec<Now>,
    /// Transfers that are not over, by number.
    open: BTreeMap<u32, Transfer>,
    /// The transfers over each link, there or back.
    users: BTreeMap<LinkId, BTreeSet<u32>>,
    started: u32,
    events: Events,
    /// Whether anything was changed for the solver since it last solved.
    unsolved: bool,
}

impl<'p> Flows<'p> {
    /// The network at time 0, without transfers.
    pub fn new(platform: &'p Platform, model: FlowModel) -> Self {
        let (mut solver, mut events) = (Solver::default(), Events::default());
        for (number, link) in platform.links().iter().enumerate() {
            solver.add_link(link.bandwidth, link.sharing);
            for aspect in Aspect::ALL {
                if let Some((at, _)) = aspect.profile(link).and_then(|profile| profile.change(0)) {
                    events.push(Event { at, what: What::Change { link: number as u32, aspect, change: 0 } });
                }
            }
        }
        let link = |link: &Link| Now { bandwidth: link.bandwidth, latency: link.latency, on: true };
        let mut flows = Self {
            platform,
            model,
            now: 0.0,
            solver,
            links: platform.links().iter().map(link).collect(),
            open: BTreeMap::new(),
            users: BTreeMap::new(),
            started: 0,
            events,
            unsolved: false,
        };
        // What profiles say of time 0 holds before the first transfer.
        let ended = flows.advance(0.0);
        assert!(ended.is_empty(), "nothing ends before it starts");
        flows
    }

    /// The penalty and the bound of a transfer, as the links of its route are now.
    fn terms(&self, transfer: &Transfer) -> (f64, f64) {
        let links = transfer.route.iter().map(|link| self.links[link.0 as usize]);
        self.model.terms(links.map(|now| (now.bandwidth, now.latency)), transfer.narrowest)
    }

    /// Lets a transfer flow whose latency is over.
    fn flow(&mut self, number: u32) {
        let transfer = &self.open[&number];
        let (penalty, bound) = self.terms(transfer);
        self.solver.insert(number as usize, penalty, bound, &transfer.weights);
        let transfer = self.open.get_mut(&number).expect("it was there");
        (transfer.phase, transfer.since) = (Phase::Flowing, self.now);
        self.unsolved = true;
    }

    /// Gives flows the rates of a new solution, and their ends the times that follow.
    fn settle(&mut self) {
        if !std::mem::take(&mut self.unsolved) {
            return;
        }
        for flow in self.solver.solve() {
            let number = flow as u32;
            let rate = self.solver.rate(flow) * self.model.bandwidth_factor;
            let transfer = self.open.get_mut(&number).expect("who flows is not over");
            if rate == transfer.rate {
                continue;
            }
            transfer.bytes = (transfer.bytes - transfer.rate * (self.now - transfer.since)).max(0.0);
            (transfer.rate, transfer.since) = (rate, self.now);
            transfer.stamp += 1;
            let what = What::Transfer { number, stamp: transfer.stamp };
            self.events.push(Event { at: self.now + transfer.bytes / rate, what });
        }
    }

    /// Takes a transfer out.
    fn end(&mut self, number: u32, arrived: bool) -> Ended {
        let transfer = self.open.remove(&number).expect("a transfer ends once");
        for (link, _) in &transfer.weights {
            self.users.get_mut(&LinkId(*link as u32)).expect("it was a user").remove(&number);
        }
        if transfer.phase == Phase::Flowing {
            self.solver.remove(number as usize);
            self.unsolved = true;
        }
        Ended { transfer: TransferId(number), at: self.now, arrived }
    }

    /// Changes a link, and what follows for the transfers over it.
    fn change(&mut self, link: u32, aspect: Aspect, value: f64, ended: &mut Vec<Ended>) {
        let now = &mut self.links[link as usize];
        match aspect {
            Aspect::Bandwidth => {
                now.bandwidth = value;
                self.solver.set_capacity(link as usize, value);
            }
            Aspect::Latency => now.latency = value,
            Aspect::State => now.on = value > 0.0,
        }
        let on = now.on;
        let users: Vec<u32> = self.users.get(&LinkId(link)).into_iter().flatten().copied().collect();
        for number in users {
            if !on {
                ended.push(self.end(number, false));
            } else if self.open[&number].phase == Phase::Flowing {
                let (penalty, bound) = self.terms(&self.open[&number]);
                self.solver.set_flow(number as usize, penalty, bound);
            }
        }
        self.unsolved = true;
    }

    /// Whether an event still means something.
    fn is_current(&self, event: &Event) -> bool {
        match event.what {
            What::Change { .. } => true,
            What::Transfer { number, stamp } => {
                self.open.get(&number).is_some_and(|open| open.stamp == stamp)
            }
        }
    }

    /// Does all that happens at the time of the first event.
    fn step(&mut self, ended: &mut Vec<Ended>) {
        let at = self.events.first().expect("a step is an event").at;
        self.now = at;
        let from = ended.len();
        while let Some(event) = self.events.pop_at(at) {
            match event.what {
                What::Change { link, aspect, change } => {
                    let profile =
                        aspect.profile(&self.platform.links()[link as usize]).expect("it had a change");
                    let (_, value) = profile.change(change as usize).expect("it was looked up");
                    if let Some((at, _)) = profile.change(change as usize + 1) {
                        self.events
                            .push(Event { at, what: What::Change { link, aspect, change: change + 1 } });
                    }
                    self.change(link, aspect, value, ended);
                }
                What::Transfer { number, .. } if self.is_current(&event) => {
                    let transfer = &self.open[&number];
                    match transfer.phase {
                        Phase::Refused => ended.push(self.end(number, false)),
                        Phase::Waiting if transfer.bytes > 0.0 => self.flow(number),
                        Phase::Waiting | Phase::Flowing => ended.push(self.end(number, true)),
                    }
                }
                What::Transfer { .. } => {}
            }
        }
        ended[from..].sort_by_key(|end| end.transfer);
    }
}

impl Network for Flows<'_> {
    fn now(&self) -> f64 {
        self.now
    }

    fn start(&mut self, from: HostId, to: HostId, bytes: f64) -> Result<TransferId, RouteError> {
        assert!(bytes.is_finite() && bytes >= 0.0, "a size is finite and not negative: {bytes}");
        let route = self.platform.route(from, to)?.links;
        let back =
            if self.model.cross_traffic > 0.0 { self.platform.route(to, from)?.links } else { Vec::new() };
        let weights = self.model.weights(self.platform, &route, &back);
        let number = self.started;
        self.started += 1;
        for (link, _) in &weights {
            self.users.entry(LinkId(*link as u32)).or_default().insert(number);
        }
        let links = || route.iter().map(|link| self.links[link.0 as usize]);
        let on = weights.iter().all(|(link, _)| self.links[*link].on);
        let (phase, latency) = match on {
            true => (Phase::Waiting, links().map(|link| link.latency).sum()),
            false => (Phase::Refused, 0.0),
        };
        let delay = latency * self.model.latency_factor;
        let narrowest = links().map(|link| link.bandwidth).fold(f64::INFINITY, f64::min);
        let transfer =
            Transfer { route, weights, narrowest, phase, bytes, rate: 0.0, since: self.now, stamp: 0 };
        self.open.insert(number, transfer);
        self.events.push(Event { at: self.now + delay, what: What::Transfer { number, stamp: 0 } });
        Ok(TransferId(number))
    }

    fn next(&mut self) -> Option<f64> {
        self.settle();
        while let Some(event) = self.events.first() {
            if self.is_current(&event) {
                return Some(event.at);
            }
            self.events.pop_at(event.at);
        }
        None
    }

    fn advance(&mut self, to: f64) -> Vec<Ended> {
        assert!(to >= self.now, "time does not go backwards");
        let mut ended = Vec::new();
        while self.next().is_some_and(|at| at <= to) {
            self.step(&mut ended);
        }
        self.now = to;
        ended
    }
}
