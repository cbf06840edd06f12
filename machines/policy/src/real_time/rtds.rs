//! Xen's real-time scheduler RTDS (`xen/common/sched/rt.c`, Xen 4.7 and later; after RT-Xen 2.0, Xi et al.,
//! 2014): global earliest deadline first, every VCPU a deferrable server.
//!
//! A VCPU has a *budget* of CPU time in every *period*; its deadline is the end of the period. It burns its
//! budget while it runs and keeps it while it sleeps, until the period ends. When the budget is used up, the
//! VCPU waits for its next period; with *extra time* it gets a full budget at once instead, one priority
//! level lower (`burn_budget`). Of two VCPUs the one of the higher level comes first, then the one
//! with the earlier deadline (`compare_unit_priority`). A VCPU that wakes, is replenished or is preempted
//! goes to an idle PCPU, or else to the one that runs what comes last, if that comes after it
//! (`runq_tickle`).
//!
//! State: for each VCPU its deadline, level and what is left of its budget; one queue of those with budget,
//! by level and deadline; a map of replenishments by time, with one timer (`repl_timer_handler`). Periods
//! begin at multiples of their length since the host started, as in Xen. Work-conserving only with extra
//! time. Every VCPU is admitted: with more than 100 % of the PCPUs reserved deadlines are missed, and nothing
//! says so but the results.

use std::collections::BTreeSet;

use super::{LEAST_NS, MOST_NS, check_budget};
use crate::per_id::PerVcpu;
use crate::queues::{Alarms, Place, Seats, Waiting};
use crate::settings::Settings;
use crate::{
    DomId, Host, MILLISECOND, NewDomain, Orders, PcpuId, Pick, Policy, PolicyError, Standing, VcpuId,
};

const REPLENISH: u32 = 0;

/// Level, then deadline: the least comes first.
type Key = (u64, u64);

/// The settings of a domain; they hold for each of its VCPUs.
#[derive(Clone, Copy, Debug)]
struct Terms {
    period_ns: u64,
    budget_ns: u64,
    extra_time: bool,
}

impl Terms {
    /// `RTDS_DEFAULT_PERIOD`, `RTDS_DEFAULT_BUDGET`, and the flag as `rt_alloc_udata` sets it.
    const DEFAULT: Self = Self { period_ns: 10 * MILLISECOND, budget_ns: 4 * MILLISECOND, extra_time: true };

    fn from_settings(dom: DomId, settings: &mut Settings, old: Self) -> Result<Self, PolicyError> {
        let terms = Self {
            period_ns: settings.nanos("period", old.period_ns, LEAST_NS, MOST_NS)?,
            budget_ns: settings.nanos("budget", old.budget_ns, LEAST_NS, MOST_NS)?,
            extra_time: settings.flag("extratime", old.extra_time)?,
        };
        settings.finish(dom.to_string())?;
        check_budget(terms.budget_ns, terms.period_ns)?;
        Ok(terms)
    }
}

#[derive(Clone, Debug)]
struct Vcpu {
    dom: DomId,
    terms: Terms,
    pin: Option<PcpuId>,
    home: PcpuId,
    awake: bool,
    runs_on: Option<PcpuId>,
    /// How often the budget of this period has been refilled for extra time.
    level: u64,
    deadline_ns: u64,
    left_ns: u64,
    /// The time up to which it is charged, while it runs.
    charged_ns: u64,
}

impl Vcpu {
    fn key(&self) -> Key {
        (self.level, self.deadline_ns)
    }

    /// Begins the period that `now_ns` is in, with a whole budget (`rt_update_deadline`).
    fn begin_period(&mut self, now_ns: u64) {
        let periods = (now_ns - self.deadline_ns) / self.terms.period_ns + 1;
        self.deadline_ns += periods * self.terms.period_ns;
        (self.left_ns, self.level, self.charged_ns) = (self.terms.budget_ns, 0, now_ns);
    }

    /// Charges it for the time since it was last charged (`burn_budget`).
    fn burn(&mut self, now_ns: u64) {
        self.left_ns = self.left_ns.saturating_sub(now_ns - self.charged_ns);
        self.charged_ns = now_ns;
        if self.left_ns == 0 && self.terms.extra_time {
            self.level += 1;
            self.left_ns = self.terms.budget_ns;
        }
    }
}

/// The RTDS scheduler.
#[derive(Debug)]
pub struct Rtds {
    vcpus: PerVcpu<Vcpu>,
    /// Those that are awake, do not run, and have budget.
    waiting: Waiting<Key>,
    /// Deadlines of those that are awake.
    replenishments: Alarms<()>,
    seats: Seats,
    /// PCPUs that run a VCPU and have been asked to decide again since.
    asked: BTreeSet<PcpuId>,
}

impl Rtds {
    /// For `host`. It has no settings; domains have `period` (10 ms), `budget` (4 ms), which hold for each
    /// VCPU, and `extratime` (on).
    pub fn new(host: Host) -> Self {
        Self {
            vcpus: PerVcpu::default(),
            waiting: Waiting::new(host.pcpus),
            replenishments: Alarms::new(REPLENISH),
            seats: Seats::new(host.pcpus),
            asked: BTreeSet::new(),
        }
    }

    fn enqueue(&mut self, id: VcpuId) {
        let vcpu = &self.vcpus[id];
        self.waiting.wait(id, vcpu.key(), Place::of(vcpu.pin));
    }

    /// Finds a PCPU for a VCPU that waits: an idle one, the one it ran on first; or else the one that runs
    /// what comes last.
    fn tickle(&mut self, id: VcpuId, orders: &mut Orders) {
        let (pin, home, key) = (self.vcpus[id].pin, self.vcpus[id].home, self.vcpus[id].key());
        if self.seats.ask_idle(pin, home, orders) {
            return;
        }
        // A VCPU whose domain has gone is passed over: its PCPU is about to decide anyway.
        let key_of = |pcpu, other| match self.asked.contains(&pcpu) {
            true => None,
            false => Some(self.vcpus.get(other)?.key()),
        };
        let last = self.seats.greatest(pin, key_of);
        if let Some((_, pcpu)) = last.filter(|(other, _)| *other > key) {
            self.asked.insert(pcpu);
            orders.reschedule(pcpu);
        }
    }

    /// Begins the periods that are due (`repl_timer_handler`). Every call of the host does so first, because
    /// a slice and a period may end at the same instant, and then the period comes first.
    fn replenish(&mut self, now_ns: u64, orders: &mut Orders) {
        let mut begun = Vec::new();
        while let Some((_, id, ())) = self.replenishments.pop(now_ns) {
            self.vcpus[id].begin_period(now_ns);
            begun.push(id);
        }
        for id in &begun {
            let (key, deadline_ns) = (self.vcpus[*id].key(), self.vcpus[*id].deadline_ns);
            self.replenishments.insert(deadline_ns, *id, ());
            if self.waiting.turn(*id).is_some() {
                self.waiting.rekey(*id, key);
            }
        }
        // Once all keys are new: whom a VCPU may preempt depends on them.
        for id in &begun {
            match self.vcpus[*id].runs_on {
                Some(pcpu) => {
                    let key = self.vcpus[*id].key();
                    if let Some((_, first)) = self.waiting.first(pcpu).filter(|(first, _)| *first < key) {
                        self.tickle(first, orders);
                    }
                }
                None => {
                    if self.waiting.turn(*id).is_none() {
                        self.enqueue(*id);
                    }
                    self.tickle(*id, orders);
                }
            }
        }
        if !begun.is_empty() {
            self.replenishments.set_timer(now_ns, orders);
        }
    }
}

impl Policy for Rtds {
    fn add(
        &mut self,
        _now_ns: u64,
        domain: &NewDomain,
        settings: &mut Settings,
        _orders: &mut Orders,
    ) -> Result<(), PolicyError> {
        let terms = Terms::from_settings(domain.dom, settings, Terms::DEFAULT)?;
        for (id, pin, home) in domain.homes(self.seats.len()) {
            let vcpu = Vcpu {
                dom: domain.dom,
                terms,
                pin,
                home,
                awake: false,
                runs_on: None,
                level: 0,
                // It is over, so the first period begins when the VCPU wakes.
                deadline_ns: 0,
                left_ns: 0,
                charged_ns: 0,
            };
            self.vcpus.insert(id, vcpu);
        }
        Ok(())
    }

    fn remove(&mut self, _now_ns: u64, dom: DomId, _orders: &mut Orders) {
        for id in self.vcpus.ids(|vcpu| vcpu.dom == dom) {
            self.waiting.leave(id);
            let vcpu = self.vcpus.remove(id).expect("the domain has it");
            self.replenishments.remove(vcpu.deadline_ns, id);
        }
    }

    /// New terms hold from the next period on (`rt_dom_cntl`).
    fn adjust(
        &mut self,
        _now_ns: u64,
        dom: DomId,
        settings: &mut Settings,
        _orders: &mut Orders,
    ) -> Result<(), PolicyError> {
        let ids = self.vcpus.ids(|vcpu| vcpu.dom == dom);
        let old = ids.first().map_or(Terms::DEFAULT, |id| self.vcpus[*id].terms);
        let terms = Terms::from_settings(dom, settings, old)?;
        for id in ids {
            self.vcpus[id].terms = terms;
        }
        Ok(())
    }

    fn wake(&mut self, now_ns: u64, id: VcpuId, orders: &mut Orders) {
        self.replenish(now_ns, orders);
        let vcpu = &mut self.vcpus[id];
        vcpu.awake = true;
        if now_ns >= vcpu.deadline_ns {
            vcpu.begin_period(now_ns);
        }
        self.replenishments.insert(vcpu.deadline_ns, id, ());
        if vcpu.runs_on.is_none() && vcpu.left_ns > 0 {
            self.enqueue(id);
            self.tickle(id, orders);
        }
        self.replenishments.set_timer(now_ns, orders);
    }

    fn sleep(&mut self, now_ns: u64, id: VcpuId, orders: &mut Orders) {
        self.replenish(now_ns, orders);
        let vcpu = &mut self.vcpus[id];
        vcpu.awake = false;
        // Who sleeps through the end of a period begins a new one when it wakes.
        self.replenishments.remove(vcpu.deadline_ns, id);
        self.waiting.leave(id);
    }

    /// RTDS knows no yielding: a VCPU that comes first goes on.
    fn yields(&mut self, _now_ns: u64, _vcpu: VcpuId, _orders: &mut Orders) {}

    fn pick(&mut self, now_ns: u64, pcpu: PcpuId, orders: &mut Orders) -> Pick {
        self.replenish(now_ns, orders);
        self.asked.remove(&pcpu);
        let last = self.seats.on(pcpu).filter(|id| self.vcpus.contains(*id));
        if let Some(last) = last {
            self.vcpus[last].burn(now_ns);
            self.vcpus[last].runs_on = None;
        }
        let current = last.filter(|last| self.vcpus[*last].awake && self.vcpus[*last].left_ns > 0);
        let first = self.waiting.first(pcpu);
        // Of equals the one that has waited runs, as in Xen.
        let goes_on = current.filter(|current| first.is_none_or(|(key, _)| self.vcpus[*current].key() < key));
        let next = goes_on.or(first.map(|(_, id)| id));
        self.seats.seat(pcpu, next);
        if let Some(current) = current.filter(|current| Some(*current) != next) {
            self.enqueue(current);
            self.tickle(current, orders);
        }
        let Some(next) = next else { return Pick::default() };
        self.waiting.leave(next);
        let vcpu = &mut self.vcpus[next];
        (vcpu.home, vcpu.runs_on, vcpu.charged_ns) = (pcpu, Some(pcpu), now_ns);
        Pick { vcpu: Some(next), slice_ns: Some(vcpu.left_ns), examined: 0 }
    }

    fn timer(&mut self, now_ns: u64, _timer: u32, orders: &mut Orders) {
        self.replenish(now_ns, orders);
        // The VCPU for which the timer was set may have gone or fallen asleep.
        self.replenishments.set_timer(now_ns, orders);
    }

    fn migrate(&mut self, now_ns: u64, id: VcpuId, pcpu: PcpuId, pin: bool, orders: &mut Orders) {
        self.replenish(now_ns, orders);
        let vcpu = &mut self.vcpus[id];
        (vcpu.pin, vcpu.home) = (pin.then_some(pcpu), pcpu);
        if self.waiting.leave(id).is_some() {
            self.enqueue(id);
            self.tickle(id, orders);
        }
    }

    fn dump(&self, _now_ns: u64) -> Vec<Standing> {
        self.vcpus.standings(|id, vcpu| {
            let keys = vec![
                ("level", vcpu.level as i64),
                ("deadline", vcpu.deadline_ns as i64),
                ("left", vcpu.left_ns as i64),
            ];
            Standing { vcpu: id, runs_on: vcpu.runs_on, awake: vcpu.awake, keys }
        })
    }
}
