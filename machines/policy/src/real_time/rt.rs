//! The four servers of RT-Xen (Xi et al., 2011; co-scheduling thesis, section 2.2.2.2): fixed priorities,
//! with a budget of CPU time for every server in every period.
//!
//! A server runs while it has something to do and some budget left, and no server of higher priority wants
//! its PCPU. RT-Xen keeps three queues: RunQ (budget and work, by priority), RdyQ (budget and no work) and
//! RepQ (what is to be replenished, and when). Here RunQ is a queue for the whole host, RepQ a map by time
//! with one timer, and servers in neither are in RdyQ. The kinds of server differ in what becomes of the
//! budget of a server without work, and in when budget is replenished: [`Deferrable`], [`Periodic`],
//! [`Polling`], [`Sporadic`], each in a file of its own.
//!
//! RT-Xen rounds budgets to a quantum of 1 ms; here they are exact, and a slice is what is left of the
//! budget. Priorities hold over the whole host: a preempted server continues on a PCPU that runs a lower
//! priority. Not work-conserving: no server runs without budget. The policy admits every server; as with
//! RT-Xen, the analysis that chose the budgets must ensure that they can be met. Low priorities may starve.
//!
//! State: for each VCPU its budget, what is left, and since when it runs.

mod deferrable;
mod periodic;
mod polling;
mod server;
mod sporadic;

use std::fmt;
use std::marker::PhantomData;

pub use self::deferrable::Deferrable;
pub use self::periodic::Periodic;
pub use self::polling::Polling;
use self::server::{Server, Terms};
pub use self::sporadic::Sporadic;
use crate::per_id::PerVcpu;
use crate::queues::{Alarms, Place, Seats, Waiting};
use crate::settings::Settings;
use crate::{DomId, Host, NewDomain, Orders, PcpuId, Pick, Policy, PolicyError, Standing, VcpuId};

/// The rule for a server's budget.
pub trait Rule: fmt::Debug + Send {
    /// Whether the budget is replenished at the end of every period, the first of which begins when the
    /// domain comes; otherwise the time of every stretch it runs is replenished one period after the
    /// stretch began.
    const HAS_PERIODS: bool = true;
    /// Whether a server without work takes its turn nevertheless.
    const IDLES_AWAY: bool = false;

    /// What is left of the budget of a server that goes to sleep.
    fn asleep_ns(left_ns: u64) -> u64 {
        left_ns
    }

    /// The budget after a replenishment.
    fn refilled_ns(left_ns: u64, amount_ns: u64, full_ns: u64, awake: bool) -> u64;
}

/// Highest priority (least number) first, then first come, first served.
type Key = (u64, u64);

/// The timer of replenishments. Timer n + 1 ends the turn of a server that idles on PCPU n.
const REPLENISH: u32 = 0;

/// A policy of servers with the rule `R`.
#[derive(Debug)]
pub struct RtServers<R> {
    servers: PerVcpu<Server>,
    /// Servers with a claim to a PCPU that have none (`RunQ` in Xen).
    waiting: Waiting<Key>,
    /// How much budget each server gets back, by the time at which it does (`RepQ` in Xen).
    replenishments: Alarms<u64>,
    seats: Seats,
    arrivals: u64,
    rule: PhantomData<R>,
}

impl<R: Rule> RtServers<R> {
    /// For `host`. It has no settings; domains have `priority` (1; the least goes first), `budget` (4 ms) and
    /// `period` (10 ms).
    pub fn new(host: Host) -> Self {
        Self {
            servers: PerVcpu::default(),
            waiting: Waiting::new(host.pcpus),
            replenishments: Alarms::new(REPLENISH),
            seats: Seats::new(host.pcpus),
            arrivals: 0,
            rule: PhantomData,
        }
    }

    fn enqueue(&mut self, id: VcpuId) {
        let server = &mut self.servers[id];
        let (key, place) = ((server.terms.priority, server.arrival), Place::of(server.pin));
        self.waiting.wait(id, key, place);
    }

    /// Whether a server has a claim to a PCPU.
    fn competes(server: &Server) -> bool {
        server.left_ns > 0 && (server.awake || R::IDLES_AWAY)
    }

    /// `id` may have begun or ceased to compete for a PCPU.
    fn changed(&mut self, id: VcpuId, orders: &mut Orders) {
        let waits = self.waiting.turn(id).is_some();
        let number = self.arrivals + 1;
        let server = &mut self.servers[id];
        let competes = Self::competes(server);
        if let Some(pcpu) = server.holds {
            // The slice that it has there was computed from another budget.
            orders.reschedule(pcpu);
        } else if !competes {
            self.waiting.leave(id);
        } else if !waits {
            server.arrival = number;
            self.arrivals = number;
            self.enqueue(id);
            self.tickle(id, orders);
        }
    }

    /// Finds a PCPU for a waiting server: an idle one, or the one that runs the lowest priority, if that is
    /// lower than its own.
    fn tickle(&mut self, id: VcpuId, orders: &mut Orders) {
        let server = &mut self.servers[id];
        let (pin, home, priority) = (server.pin, server.home, server.terms.priority);
        if self.seats.ask_idle(pin, home, orders) {
            return;
        }
        // A server whose domain has gone is passed over: its PCPU is about to decide anyway.
        let priority_of = |_, other| Some(self.servers.get(other)?.terms.priority);
        let lowest = self.seats.greatest(pin, priority_of);
        if let Some((_, pcpu)) = lowest.filter(|(other, _)| *other > priority) {
            orders.reschedule(pcpu);
        }
    }

    /// Does the replenishments that are due.
    fn replenish(&mut self, now_ns: u64, orders: &mut Orders) {
        let mut some = false;
        while let Some((at_ns, id, amount_ns)) = self.replenishments.pop(now_ns) {
            some = true;
            let server = &mut self.servers[id];
            if server.holds.is_some() {
                server.charge(now_ns);
            }
            let full_ns = server.terms.budget_ns;
            server.left_ns = R::refilled_ns(server.left_ns, amount_ns, full_ns, server.awake);
            let next_ns = at_ns + server.terms.period_ns;
            if R::HAS_PERIODS {
                self.replenishments.insert(next_ns, id, full_ns);
            }
            self.changed(id, orders);
        }
        if some {
            self.replenishments.set_timer(now_ns, orders);
        }
    }

    fn stops(&mut self, id: VcpuId, now_ns: u64, orders: &mut Orders) {
        let given_back = self.servers[id].ends_stretch().filter(|_| !R::HAS_PERIODS);
        if let Some((at_ns, amount_ns)) = given_back {
            // The time of a stretch longer than a period is replenished at once.
            *self.replenishments.entry(at_ns.max(now_ns), id) += amount_ns;
            self.replenishments.set_timer(now_ns, orders);
        }
    }
}

impl<R: Rule> Policy for RtServers<R> {
    fn add(
        &mut self,
        now_ns: u64,
        domain: &NewDomain,
        settings: &mut Settings,
        orders: &mut Orders,
    ) -> Result<(), PolicyError> {
        let terms = Terms::from_settings(domain.dom, settings, Terms::default())?;
        for (id, pin, home) in domain.homes(self.seats.len()) {
            let mut server = Server::new(domain.dom, terms, pin, home);
            server.left_ns = R::asleep_ns(server.left_ns);
            self.servers.insert(id, server);
            if R::HAS_PERIODS {
                self.replenishments.insert(now_ns + terms.period_ns, id, terms.budget_ns);
            }
            self.changed(id, orders);
        }
        self.replenishments.set_timer(now_ns, orders);
        Ok(())
    }

    fn remove(&mut self, _now_ns: u64, dom: DomId, _orders: &mut Orders) {
        for id in self.servers.ids(|server| server.dom == dom) {
            self.waiting.leave(id);
            self.servers.remove(id);
        }
        self.replenishments.retain(|id| self.servers.contains(id));
    }

    fn adjust(
        &mut self,
        now_ns: u64,
        dom: DomId,
        settings: &mut Settings,
        orders: &mut Orders,
    ) -> Result<(), PolicyError> {
        let ids = self.servers.ids(|server| server.dom == dom);
        let old = ids.first().map_or(Terms::default(), |id| self.servers[*id].terms);
        let terms = Terms::from_settings(dom, settings, old)?;
        // What is due under the old terms comes first.
        self.replenish(now_ns, orders);
        for id in ids {
            self.waiting.leave(id);
            let server = &mut self.servers[id];
            if server.holds.is_some() {
                server.charge(now_ns);
            }
            server.adjust(terms);
            if !server.awake {
                server.left_ns = R::asleep_ns(server.left_ns);
            }
            self.changed(id, orders);
        }
        Ok(())
    }

    fn wake(&mut self, now_ns: u64, vcpu: VcpuId, orders: &mut Orders) {
        self.replenish(now_ns, orders);
        self.servers[vcpu].awake = true;
        self.changed(vcpu, orders);
    }

    fn sleep(&mut self, now_ns: u64, vcpu: VcpuId, orders: &mut Orders) {
        self.replenish(now_ns, orders);
        let server = &mut self.servers[vcpu];
        if server.holds.is_some() {
            server.charge(now_ns);
        }
        server.awake = false;
        server.left_ns = R::asleep_ns(server.left_ns);
        self.changed(vcpu, orders);
    }

    /// Others of the same priority run first.
    fn yields(&mut self, _now_ns: u64, vcpu: VcpuId, _orders: &mut Orders) {
        self.arrivals += 1;
        let number = self.arrivals;
        if self.servers[vcpu].holds.is_some() {
            self.servers[vcpu].arrival = number;
        }
    }

    fn pick(&mut self, now_ns: u64, pcpu: PcpuId, orders: &mut Orders) -> Pick {
        self.replenish(now_ns, orders);
        let last = self.seats.on(pcpu).filter(|id| self.servers.contains(*id));
        if let Some(last) = last {
            let server = &mut self.servers[last];
            server.charge(now_ns);
            server.holds = None;
            if Self::competes(server) {
                self.enqueue(last);
            }
        }
        let next = self.waiting.first(pcpu).map(|(_, id)| id);
        self.seats.seat(pcpu, next);
        if let Some(last) = last.filter(|last| Some(*last) != next) {
            self.stops(last, now_ns, orders);
        }
        let Some(next) = next else {
            return Pick::default();
        };
        self.waiting.leave(next);
        let goes_on = last == Some(next);
        let server = &mut self.servers[next];
        server.starts(pcpu, now_ns, goes_on);
        let (awake, left_ns) = (server.awake, server.left_ns);
        if !awake {
            // A host ends no slice on a PCPU that idles: the timer ends this turn.
            orders.set_timer(REPLENISH + 1 + pcpu.0, now_ns + left_ns);
        }
        // The first of the waiting servers may be entitled to another PCPU.
        if let Some((_, first)) = self.waiting.first_anywhere() {
            self.tickle(first, orders);
        }
        Pick { vcpu: awake.then_some(next), slice_ns: Some(left_ns), examined: 0 }
    }

    fn timer(&mut self, now_ns: u64, timer: u32, orders: &mut Orders) {
        self.replenish(now_ns, orders);
        if timer == REPLENISH {
            // The server for which the timer was set may have been removed.
            self.replenishments.set_timer(now_ns, orders);
        } else {
            orders.reschedule(PcpuId(timer - REPLENISH - 1));
        }
    }

    fn migrate(&mut self, now_ns: u64, vcpu: VcpuId, pcpu: PcpuId, pin: bool, orders: &mut Orders) {
        self.replenish(now_ns, orders);
        self.waiting.leave(vcpu);
        let server = &mut self.servers[vcpu];
        (server.pin, server.home) = (pin.then_some(pcpu), pcpu);
        self.changed(vcpu, orders);
    }

    fn dump(&self, _now_ns: u64) -> Vec<Standing> {
        self.servers.standings(|id, vcpu| {
            let holds = vcpu.holds.map_or(-1, |pcpu| i64::from(pcpu.0));
            let keys = vec![
                ("priority", vcpu.terms.priority as i64),
                ("left", vcpu.left_ns as i64),
                ("holds", holds),
            ];
            Standing { vcpu: id, runs_on: vcpu.holds.filter(|_| vcpu.awake), awake: vcpu.awake, keys }
        })
    }
}
