//! Xen's credit scheduler as of Xen 3.3 and 3.4 (CSX in the PSX paper and the NSX paper; co-scheduling
//! thesis, section 3.1.5.2): shares of the host by weight, as far as caps allow.
//!
//! A domain has a *weight* and a *cap*. Every tick charges the VCPU that it finds running; every third tick
//! hands out new credits by weight (`credit/accounting.rs`), after which a VCPU that owes credits is OVER,
//! and any other is UNDER; one that wakes while UNDER is BOOST until a tick finds it running. Every PCPU has
//! a run queue ordered by class (`credit/queues.rs`). It takes the first; if that is OVER or missing, it
//! first looks for a better one in the queues of the other PCPUs, in a circle. A VCPU that wakes goes to an
//! idle PCPU, or else to the one it ran on, where it preempts a lower class at once. A VCPU of a capped
//! domain that has overspent is parked until it owes no credits. Since Xen 4.5 a VCPU can prefer some PCPUs,
//! its soft affinity (`credit/choice.rs`).
//!
//! State: for each VCPU its credits, class and place; for each PCPU the VCPU that runs, and since when; the
//! list of domains that earn. Work-conserving without caps. No VCPU with weight starves: a waiting VCPU earns
//! credits and becomes UNDER.
//!
//! What differs from Xen: a tick of all PCPUs is one timer, queues are put in order at the accounting instead
//! of at each PCPU's next tick, and two VCPUs that wake at the same instant do not claim the same idle PCPU.
//!
//! From Xen 4: `accounting = "exact"` charges the time run. Under `ratelimit` a VCPU that has run for less
//! than that since it was picked is not preempted, unless it sleeps, yields or is parked. Being picked again
//! begins a new limit here; Xen counts from when the VCPU began to run without a break.

mod accounting;
mod choice;
mod queues;

use std::collections::{BTreeSet, VecDeque};

use self::accounting::TICKS_PER_ACCOUNTING;
use self::queues::{Class, Place, Queues};
use crate::affinity::Affinity;
use crate::per_id::{PerDomain, PerVcpu};
use crate::queues::next_round;
use crate::settings::{Setting, Settings, bad};
use crate::{
    DomId, Host, MICROSECOND, MILLISECOND, NewDomain, Orders, PcpuId, Pick, Policy, PolicyError, Standing,
    VcpuId,
};

const SECOND: u64 = 1_000 * MILLISECOND;

/// How the time of a VCPU is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Accounting {
    Sampled,
    Exact,
}

#[derive(Clone, Copy, Debug)]
struct Rules {
    slice_ns: u64,
    tick_ns: u64,
    ratelimit_ns: u64,
    accounting: Accounting,
    boost: bool,
    load_balance: bool,
    /// No VCPU has more credits than this, or less than minus this.
    most_credit_ns: i64,
}

#[derive(Clone, Debug)]
struct Domain {
    weight: i64,
    cap_percent: i64,
    vcpus: Vec<VcpuId>,
    /// How many of its VCPUs earn.
    active: i64,
}

#[derive(Clone, Debug)]
struct Vcpu {
    dom: DomId,
    affinity: Affinity,
    awake: bool,
    active: bool,
    parked: bool,
    class: Class,
    credit_ns: i64,
    /// Where it runs, or ran last.
    home: PcpuId,
    runs_on: Option<PcpuId>,
    place: Option<Place>,
}

#[derive(Clone, Debug, Default)]
struct Pcpu {
    running: Option<VcpuId>,
    since_ns: u64,
    charged_ns: u64,
    yielded: bool,
}

/// The credit scheduler.
#[derive(Debug)]
pub struct Credit {
    rules: Rules,
    vcpus: PerVcpu<Vcpu>,
    domains: PerDomain<Domain>,
    active: VecDeque<DomId>,
    /// The sum of all active VCPUs' credits at the last accounting.
    balance_ns: i64,
    queues: Queues,
    pcpus: Vec<Pcpu>,
    /// PCPUs that idle and have not been asked to decide again.
    idle: BTreeSet<PcpuId>,
    tick_at_ns: Option<u64>,
    /// Some domain has had a soft affinity: only then is there work that prefers a PCPU.
    preferences: bool,
}

impl Credit {
    /// For `host`, with the settings `slice` (30 ms, or three ticks), `tick` (10 ms, or a third of the
    /// slice), `ratelimit` (none), `accounting` (`"sampled"`, `"exact"`), `boost` and `load_balance`
    /// (on), and `saved_slices` (1).
    ///
    /// Credits are handed out every three ticks. A VCPU may save up, or owe, the credits of `saved_slices`
    /// slices (of as many accounting periods if these are longer). Xen allows one; a VCPU that has more
    /// is set to none. Heavy domains then lose what they could not use while light ones ran, and weights
    /// are kept only roughly; with 16 they are kept within 1 % of a PCPU.
    pub fn from_settings(settings: &mut Settings, host: Host) -> Result<Self, PolicyError> {
        let slice = settings.nanos("slice", 0, 30 * MICROSECOND, SECOND)?;
        let tick = settings.nanos("tick", 0, 30 * MICROSECOND, SECOND)?;
        let (slice_ns, tick_ns) = match (slice, tick) {
            (0, 0) => (30 * MILLISECOND, 10 * MILLISECOND),
            (0, tick) => (3 * tick, tick),
            (slice, 0) => (slice, slice / 3),
            given => given,
        };
        let ratelimit_ns = settings.nanos("ratelimit", 0, 0, SECOND)?;
        if ratelimit_ns > slice_ns {
            return Err(bad("ratelimit", &Setting::Nanos(ratelimit_ns), "at most the slice".into()));
        }
        let ways = [("sampled", Accounting::Sampled), ("exact", Accounting::Exact)];
        let accounting = settings.choice("accounting", &ways)?;
        let boost = settings.flag("boost", true)?;
        let load_balance = settings.flag("load_balance", true)?;
        let saved_slices = settings.count("saved_slices", 1, 1, 1_000)?;
        let most_credit_ns = (saved_slices * slice_ns.max(TICKS_PER_ACCOUNTING * tick_ns)) as i64;
        Ok(Self {
            rules: Rules { slice_ns, tick_ns, ratelimit_ns, accounting, boost, load_balance, most_credit_ns },
            vcpus: PerVcpu::default(),
            domains: PerDomain::default(),
            active: VecDeque::new(),
            balance_ns: 0,
            queues: Queues::new(host.pcpus),
            pcpus: vec![Pcpu::default(); host.pcpus as usize],
            idle: (0..host.pcpus).map(PcpuId).collect(),
            tick_at_ns: None,
            preferences: false,
        })
    }

    /// Puts a VCPU at the end of its class in the queue of `pcpu`.
    fn push(&mut self, id: VcpuId, pcpu: PcpuId) {
        let vcpu = &mut self.vcpus[id];
        vcpu.home = pcpu;
        vcpu.place = Some(self.queues.push(pcpu, vcpu.class, id, vcpu.affinity.pin().is_some()));
    }

    /// Takes a VCPU out of the queue in which it waits, if it does.
    fn dequeue(&mut self, id: VcpuId) {
        if let Some(place) = self.vcpus[id].place.take() {
            self.queues.remove(place, id);
        }
    }

    /// Sorts the queue of `pcpu` by the current classes; within a class the order stays.
    fn reorder(&mut self, pcpu: PcpuId) {
        for id in self.queues.drain(pcpu) {
            self.push(id, pcpu);
        }
    }

    /// The settings of a domain: weight, cap and soft affinity; `old` has the defaults.
    fn domain_settings(
        &self,
        who: DomId,
        settings: &mut Settings,
        (old_weight, old_cap, old_soft): (i64, i64, Option<Affinity>),
    ) -> Result<(i64, i64, Affinity), PolicyError> {
        let weight = settings.count("weight", old_weight as u64, 1, 65_535)?;
        let cap = settings.count("cap", old_cap as u64, 0, 65_535)?;
        let soft = Affinity::changed_soft(settings, self.pcpus.len() as u32, old_soft)?;
        settings.finish(who.to_string())?;
        Ok((weight as i64, cap as i64, soft))
    }
}

impl Policy for Credit {
    fn add(
        &mut self,
        _now_ns: u64,
        domain: &NewDomain,
        settings: &mut Settings,
        _orders: &mut Orders,
    ) -> Result<(), PolicyError> {
        let (weight, cap_percent, soft) = self.domain_settings(domain.dom, settings, (256, 0, None))?;
        for (id, pin, home) in domain.homes(self.pcpus.len() as u32) {
            let vcpu = Vcpu {
                dom: domain.dom,
                affinity: soft.pinned(pin),
                awake: false,
                active: false,
                parked: false,
                class: Class::Under,
                credit_ns: 0,
                home,
                runs_on: None,
                place: None,
            };
            self.vcpus.insert(id, vcpu);
        }
        self.preferences |= soft.has_preference();
        let vcpus = domain.vcpus.clone();
        self.domains.insert(domain.dom, Domain { weight, cap_percent, vcpus, active: 0 });
        Ok(())
    }

    fn remove(&mut self, _now_ns: u64, dom: DomId, _orders: &mut Orders) {
        let domain = self.domains.remove(dom).expect("a domain that goes is there");
        self.active.retain(|other| *other != dom);
        for id in domain.vcpus {
            self.dequeue(id);
            self.vcpus.remove(id);
        }
    }

    fn adjust(
        &mut self,
        _now_ns: u64,
        dom: DomId,
        settings: &mut Settings,
        _orders: &mut Orders,
    ) -> Result<(), PolicyError> {
        let domain = &mut self.domains[dom];
        let (weight, cap, vcpus) = (domain.weight, domain.cap_percent, domain.vcpus.clone());
        let soft = vcpus.first().map(|id| self.vcpus[*id].affinity.clone());
        let (weight, cap, soft) = self.domain_settings(dom, settings, (weight, cap, soft))?;
        self.preferences |= soft.has_preference();
        let domain = &mut self.domains[dom];
        (domain.weight, domain.cap_percent) = (weight, cap);
        for id in vcpus {
            let vcpu = &mut self.vcpus[id];
            vcpu.affinity = soft.pinned(vcpu.affinity.pin());
        }
        Ok(())
    }

    fn wake(&mut self, now_ns: u64, id: VcpuId, orders: &mut Orders) {
        self.advance(now_ns, orders);
        let boost = self.rules.boost;
        let vcpu = &mut self.vcpus[id];
        vcpu.awake = true;
        if vcpu.parked || vcpu.runs_on.is_some() {
            return;
        }
        if boost && vcpu.class == Class::Under {
            vcpu.class = Class::Boost;
        }
        self.enqueue(id, orders);
    }

    fn sleep(&mut self, now_ns: u64, vcpu: VcpuId, orders: &mut Orders) {
        self.advance(now_ns, orders);
        self.vcpus[vcpu].awake = false;
        self.dequeue(vcpu);
    }

    fn yields(&mut self, now_ns: u64, vcpu: VcpuId, orders: &mut Orders) {
        self.advance(now_ns, orders);
        if let Some(pcpu) = self.vcpus[vcpu].runs_on {
            self.pcpus[pcpu.index()].yielded = true;
        }
    }

    fn pick(&mut self, now_ns: u64, pcpu: PcpuId, orders: &mut Orders) -> Pick {
        self.advance(now_ns, orders);
        let last = self.pcpus[pcpu.index()].running.filter(|id| self.vcpus.contains(*id));
        if let Some(last) = last {
            if self.rules.accounting == Accounting::Exact {
                self.burn(pcpu, now_ns);
            }
            let vcpu = &mut self.vcpus[last];
            let runnable = vcpu.awake && !vcpu.parked;
            if runnable && let Some(left_ns) = self.ratelimited(now_ns, pcpu) {
                return Pick { vcpu: Some(last), slice_ns: Some(left_ns), examined: 0 };
            }
            self.vcpus[last].runs_on = None;
            if runnable {
                self.push(last, pcpu);
            }
        }
        let next = self.next(pcpu);
        self.pcpus[pcpu.index()] =
            Pcpu { running: next, since_ns: now_ns, charged_ns: now_ns, yielded: false };
        match next {
            None => {
                self.idle.insert(pcpu);
            }
            Some(next) => {
                self.idle.remove(&pcpu);
                self.dequeue(next);
                let vcpu = &mut self.vcpus[next];
                (vcpu.home, vcpu.runs_on) = (pcpu, Some(pcpu));
                self.keep_ticking(now_ns, orders);
                // A VCPU that may run elsewhere is still waiting.
                if self.rules.load_balance
                    && self.queues.first_free(pcpu).is_some()
                    && let Some(idle) = next_round(&self.idle, pcpu, |_| true)
                {
                    self.idle.remove(&idle);
                    orders.reschedule(idle);
                }
            }
        }
        Pick { vcpu: next, slice_ns: next.map(|_| self.rules.slice_ns), examined: 0 }
    }

    fn timer(&mut self, now_ns: u64, _timer: u32, orders: &mut Orders) {
        self.advance(now_ns, orders);
    }

    fn migrate(&mut self, now_ns: u64, id: VcpuId, pcpu: PcpuId, pin: bool, orders: &mut Orders) {
        self.advance(now_ns, orders);
        let waited = self.vcpus[id].place.is_some();
        self.dequeue(id);
        let vcpu = &mut self.vcpus[id];
        vcpu.affinity = vcpu.affinity.pinned(pin.then_some(pcpu));
        vcpu.home = pcpu;
        if waited {
            self.enqueue(id, orders);
        }
    }

    fn dump(&self, _now_ns: u64) -> Vec<Standing> {
        self.vcpus.standings(|id, vcpu| {
            let credit = vcpu.credit_ns * 100 / self.rules.tick_ns as i64;
            let keys = vec![
                ("credit", credit),
                ("class", vcpu.class as i64),
                ("active", i64::from(vcpu.active)),
                ("parked", i64::from(vcpu.parked)),
            ];
            Standing { vcpu: id, runs_on: vcpu.runs_on, awake: vcpu.awake, keys }
        })
    }
}
