//! The flow-level network: a transfer first waits for its latency, then flows at the rate that its links'
//! sharing gives it.
//!
//! The models are SimGrid's (CM02 and LV08, see [`FlowModel`]). A transfer flows at one rate from end to end,
//! as if the whole route were one pipe; rates change only when a transfer begins to flow or ends, or when a
//! link changes. Nothing is computed between two changes: a transfer's remaining bytes are updated when its
//! own rate changes.
//!
//! Transfers are in slots. When a transfer is over, its slot is reused together with its memory: many short
//! transfers, of which few are in transit at a time, allocate nothing. Invariants: every transfer that is
//! neither over nor waiting for its latency is in the shares under its slot; one that is not over has a timer
//! for its current rate, unless it has begun to flow and nothing was solved since. A transfer over a link
//! that is off, on the route there or back, ends at once without having arrived.

mod changes;
mod latency;
mod model;
mod numbers;
mod timers;

use crate::RouteError;
use crate::flows::changes::{Aspect, Changes};
use crate::flows::numbers::Numbers;
use crate::flows::timers::Timers;
use crate::ids::{HostId, LinkId};
use crate::network::{Ended, Network, TransferId};
use crate::platform::Platform;
use crate::solver::Shares;

pub use model::FlowModel;

/// The current state of a link with a profile.
#[derive(Clone, Debug)]
struct Watched {
    on: bool,
    /// The slots of the transfers whose route there or back includes it.
    users: Vec<u32>,
}

/// A transfer that starts before now by less than this, in seconds, counts as started then.
const NEAR: f64 = 1e-9;
/// Stands for "no index" of links without profiles.
const UNWATCHED: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// A link was off when it started.
    #[default]
    Refused,
    /// It waits for its latency.
    Waiting,
    /// It is in the shares.
    Flowing,
}

/// A transfer that is not over, or the memory of one that is, for reuse by the next one in its slot.
#[derive(Clone, Debug, Default)]
struct Transfer {
    number: u32,
    phase: Phase,
    /// The links of the route, and how much the transfer and its acknowledgements use of each link.
    route: Vec<LinkId>,
    /// The latency in seconds that the route has beside that of its links.
    beside: f64,
    weights: Vec<(u32, f64)>,
    /// The least bandwidth on the route when it started. As in SimGrid, a link that becomes faster later
    /// does not raise it.
    narrowest: f64,
    bytes: f64,
    /// In bytes per second, constant since the time `since`; 0 before it flows.
    rate: f64,
    since: f64,
    /// When its latency is over. It is before now for a part of a nanosecond where the transfer started
    /// before now.
    due: f64,
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
    /// The links' current bandwidths and latencies, and the flows.
    shares: Shares,
    /// The links with profiles, and for every link its index among these.
    watched: Vec<Watched>,
    places: Vec<u32>,
    /// The transfers by slot, and the free slots.
    transfers: Vec<Transfer>,
    free: Vec<u32>,
    numbers: Numbers,
    started: u32,
    timers: Timers,
    changes: Changes,
    /// Whether the shares have changed since they were last solved.
    unsolved: bool,
    /// The route back of the transfer that is being started.
    back: Vec<LinkId>,
    least_latency: f64,
}

impl<'p> Flows<'p> {
    /// The network at time 0, without transfers. Constants that the platform's file sets replace those of the
    /// model.
    pub fn new(platform: &'p Platform, model: FlowModel) -> Self {
        let model = model.with(platform.settings());
        let mut flows = Self {
            platform,
            model,
            now: 0.0,
            shares: Shares::default(),
            watched: Vec::new(),
            places: Vec::with_capacity(platform.links().len()),
            transfers: Vec::new(),
            free: Vec::new(),
            numbers: Numbers::default(),
            started: 0,
            timers: Timers::default(),
            changes: Changes::default(),
            unsolved: false,
            back: Vec::new(),
            least_latency: latency::least(platform) * model.latency_factor,
        };
        for (number, link) in platform.links().iter().enumerate() {
            flows.shares.add_link(link.bandwidth, link.latency, link.sharing);
            for aspect in Aspect::ALL {
                flows.changes.push(platform.links(), number as u32, aspect, 0);
            }
            let is_watched = Aspect::ALL.into_iter().any(|aspect| aspect.profile(link).is_some());
            flows.places.push(if is_watched { flows.watched.len() as u32 } else { UNWATCHED });
            if is_watched {
                flows.watched.push(Watched { on: true, users: Vec::new() });
            }
        }
        // The profiles' values at time 0 apply before the first transfer.
        let ended = flows.advance(0.0);
        assert!(ended.is_empty(), "nothing ends before it starts");
        flows
    }

    /// Calls `act` for each link with a profile on the transfer's routes there and back.
    fn each_watched(&mut self, slot: u32, mut act: impl FnMut(&mut Watched)) {
        if self.watched.is_empty() {
            return;
        }
        for (link, _) in &self.transfers[slot as usize].weights {
            if let Some(watched) = self.watched.get_mut(self.places[*link as usize] as usize) {
                act(watched);
            }
        }
    }

    /// The penalty and the bound of a transfer with the current state of its links.
    fn terms(&self, transfer: &Transfer) -> (f64, f64) {
        let links = transfer.route.iter().map(|link| &self.shares.links()[link.0 as usize]);
        let links = links.map(|link| (link.capacity, link.latency));
        self.model.terms(links, transfer.beside, transfer.narrowest)
    }

    /// Starts the flow of a transfer whose latency is over.
    fn flow(&mut self, slot: u32) {
        let transfer = &self.transfers[slot as usize];
        let (penalty, bound) = self.terms(transfer);
        self.shares.insert(slot, transfer.number, penalty, bound, &transfer.weights);
        let transfer = &mut self.transfers[slot as usize];
        // The first rate counts from when the latency was over, not from now.
        (transfer.phase, transfer.since) = (Phase::Flowing, transfer.due);
        self.unsolved = true;
    }

    /// Solves the shares, and updates the rates and timers of the flows whose rates may have changed.
    fn settle(&mut self) {
        if !std::mem::take(&mut self.unsolved) {
            return;
        }
        self.shares.solve();
        for &slot in self.shares.solved() {
            let rate = self.shares.rate(slot) * self.model.bandwidth_factor;
            let transfer = &mut self.transfers[slot as usize];
            if rate == transfer.rate {
                continue;
            }
            if transfer.rate > 0.0 {
                transfer.bytes = (transfer.bytes - transfer.rate * (self.now - transfer.since)).max(0.0);
                transfer.since = self.now;
            }
            transfer.rate = rate;
            transfer.due = transfer.since + transfer.bytes / rate;
            self.timers.set(slot, transfer.number, transfer.due.max(self.now));
        }
    }

    /// Removes a transfer, which has arrived when it was due, or ends now.
    fn end(&mut self, slot: u32, arrived: bool) -> Ended {
        self.each_watched(slot, |link| link.users.retain(|user| *user != slot));
        let Transfer { number, phase, due, .. } = self.transfers[slot as usize];
        if phase == Phase::Flowing {
            self.shares.remove(slot);
            self.unsolved = true;
        }
        self.timers.remove(slot);
        self.numbers.remove(number);
        self.free.push(slot);
        Ended { transfer: TransferId(number), at: if arrived { due } else { self.now }, arrived }
    }

    /// Changes a link and updates the transfers over it.
    fn change(&mut self, link: u32, aspect: Aspect, value: f64, ended: &mut Vec<Ended>) {
        let place = self.places[link as usize] as usize;
        match aspect {
            Aspect::Bandwidth => self.shares.set_capacity(link as usize, value),
            Aspect::Latency => self.shares.set_latency(link as usize, value),
            Aspect::State => self.watched[place].on = value > 0.0,
        }
        let on = self.watched[place].on;
        let users = std::mem::take(&mut self.watched[place].users);
        for &slot in &users {
            if !on {
                ended.push(self.end(slot, false));
            } else if self.transfers[slot as usize].phase == Phase::Flowing {
                let (penalty, bound) = self.terms(&self.transfers[slot as usize]);
                self.shares.set_flow(slot, penalty, bound);
            }
        }
        if on {
            self.watched[place].users = users;
        }
        self.unsolved = true;
    }

    /// Handles everything at the time of the next change: first changes of links, then transfers. Their ends
    /// are sorted by number.
    fn step(&mut self, at: f64, ended: &mut Vec<Ended>) {
        self.now = at;
        let from = ended.len();
        while let Some((change, value)) = self.changes.pop_at(self.platform.links(), at) {
            self.change(change.link, change.aspect, value, ended);
        }
        while let Some(slot) = self.timers.pop_at(at) {
            let transfer = &self.transfers[slot as usize];
            match transfer.phase {
                Phase::Refused => ended.push(self.end(slot, false)),
                Phase::Waiting if transfer.bytes > 0.0 => self.flow(slot),
                Phase::Waiting | Phase::Flowing => ended.push(self.end(slot, true)),
            }
        }
        ended[from..].sort_by_key(|end| end.transfer);
    }

    /// Finds the routes of a transfer, there and back, and how much it uses of each link.
    fn find(&mut self, slot: u32, from: HostId, to: HostId) -> Result<(), RouteError> {
        let transfer = &mut self.transfers[slot as usize];
        transfer.route.clear();
        self.back.clear();
        transfer.beside = self.platform.route_into(from, to, &mut transfer.route)?;
        if self.model.cross_traffic > 0.0 {
            self.platform.route_into(to, from, &mut self.back)?;
        }
        let sharing = |link: LinkId| self.shares.links()[link.0 as usize].sharing;
        self.model.weights(sharing, &transfer.route, &self.back, &mut transfer.weights);
        Ok(())
    }
}

impl Network for Flows<'_> {
    fn now(&self) -> f64 {
        self.now
    }

    fn alone(&self, from: HostId, to: HostId, bytes: f64) -> Option<f64> {
        (from == to).then(|| latency::alone(self.platform, &self.model, from, bytes))?
    }

    fn least_latency(&self) -> f64 {
        self.least_latency
    }

    fn start_since(
        &mut self,
        from: HostId,
        to: HostId,
        bytes: f64,
        since: f64,
    ) -> Result<TransferId, RouteError> {
        assert!(bytes.is_finite() && bytes >= 0.0, "a size is finite and not negative: {bytes}");
        let slot = self.free.pop().unwrap_or_else(|| {
            self.transfers.push(Transfer::default());
            self.transfers.len() as u32 - 1
        });
        if let Err(error) = self.find(slot, from, to) {
            self.free.push(slot);
            return Err(error);
        }
        let number = self.started;
        self.started += 1;
        let mut on = true;
        self.each_watched(slot, |link| {
            on &= link.on;
            link.users.push(slot);
        });
        let transfer = &mut self.transfers[slot as usize];
        let route = || transfer.route.iter().map(|link| &self.shares.links()[link.0 as usize]);
        let (phase, latency) = match on {
            true => (Phase::Waiting, route().map(|link| link.latency).sum::<f64>() + transfer.beside),
            false => (Phase::Refused, 0.0),
        };
        // A transfer that starts long before now waits for the rest of its latency, and no less than that.
        let due = since + latency * self.model.latency_factor;
        let due = if since < self.now - NEAR { due.max(self.now) } else { due };
        transfer.narrowest = route().map(|link| link.capacity).fold(f64::INFINITY, f64::min);
        // As in SimGrid, nothing limits the bytes where there are no links.
        let bytes = if transfer.route.is_empty() { 0.0 } else { bytes };
        (transfer.number, transfer.phase, transfer.bytes) = (number, phase, bytes);
        (transfer.rate, transfer.since, transfer.due) = (0.0, self.now, due);
        self.numbers.insert(number, slot);
        self.timers.set(slot, number, due.max(self.now));
        Ok(TransferId(number))
    }

    fn next(&mut self) -> Option<f64> {
        self.settle();
        match (self.changes.first(), self.timers.first()) {
            (Some(change), Some(timer)) => Some(change.min(timer)),
            (change, timer) => change.or(timer),
        }
    }

    fn advance_into(&mut self, to: f64, ended: &mut Vec<Ended>) {
        assert!(to >= self.now, "time does not go backwards");
        while let Some(at) = self.next().filter(|at| *at <= to) {
            self.step(at, ended);
        }
        self.now = to;
    }

    fn cancel(&mut self, transfer: TransferId) {
        if let Some(slot) = self.numbers.get(transfer.0) {
            self.end(slot, false);
        }
    }
}
