//! SEDF, simple earliest deadline first: a guaranteed slice of every period, and extra time from what is left
//! over.
//!
//! Source: co-scheduling thesis, section 3.1.5.2, and the scheduler of Xen 4.1, to which it refers. Settings
//! of a domain, for each of its VCPUs: `period`, `slice` and `extra` (DOM0: 15 ms of every 20 ms and extra
//! time; guests: 100 ms, no slice, extra time only). Setting of the policy: `quantum` (500 us), a turn of
//! extra time.
//!
//! State: a VCPU belongs to one PCPU until it is migrated: its pin, or the PCPU with fewest VCPUs among those
//! that can promise the slice. Each PCPU has three lines, and serves the first that is not empty:
//! - run: the period has begun and the slice is not used up; the earliest deadline (the end of the period)
//!   first;
//! - penalty: extra time for those that lost some of their slice by blocking; the greatest loss in proportion
//!   to the period first; each has one turn, then its loss is cleared;
//! - extra: extra time, least used first, so that it is split evenly by time. Xen counts turns, which is the
//!   same for whole turns. A VCPU that wakes starts from the least use in the line, so that sleep saves
//!   nothing up.
//!
//! A VCPU that waits for a period to begin is also in a fourth line, ordered by that time. Unblocking is as
//! in Xen:
//! - short (the deadline is still to come): the rest of the slice is lost, and is what the penalty line
//!   compensates for; the next period begins at the deadline;
//! - long (the deadline has passed, or there was none): a new period begins at once (Xen's rule "2b").
//!
//! A deadline that passes with slice left, which can happen when a rule reorders the run line, forfeits the
//! rest: the next period follows. Unlike Xen, a remainder of less than a quantum before a period begins is
//! used for extra time too.
//!
//! Admission: on no PCPU more than 100 % is promised. [`migrate`](Policy::migrate) is never refused, so it
//! may break promises. Work-conserving on each PCPU if all its VCPUs take extra time; there is no balancing
//! between PCPUs.
//!
//! CSDE, CSDD, the boosts and the communication-aware scheduler are SEDF with a rule from `choice`, which is
//! applied within each line at every decision, by an index or, with `choice = "scan"`, by a scan of all VCPUs
//! in it.

mod line;
mod queues;
mod share;

use crate::deadline::choice::{PREFERENCES, Page, Rule};
use crate::per_id::{PerDomain, PerVcpu};
use crate::queues::RunQueue;
use crate::{
    DomId, Host, MICROSECOND, MILLISECOND, NewDomain, Orders, PcpuId, Pick, Policy, PolicyError, Settings,
    Standing, VcpuId,
};
use line::{Line, Spot};
use share::{Loads, Share};

/// SEDF, alone or under a rule.
#[derive(Debug)]
pub struct Sedf {
    rule: Box<dyn Rule>,
    scans: bool,
    quantum_ns: u64,
    pcpus: Vec<Pcpu>,
    vcpus: PerVcpu<Vcpu>,
    doms: PerDomain<Domain>,
    loads: Loads,
    arrivals: u64,
}

/// The lines of a PCPU by [`Place`], and the VCPU that runs.
#[derive(Debug, Default)]
struct Pcpu {
    lines: [Line; 3],
    /// VCPUs whose period has not begun, by when it begins.
    waiting: RunQueue<u64>,
    running: Option<VcpuId>,
    slice_end_ns: u64,
    least_score_ns: u64,
}

#[derive(Debug)]
struct Domain {
    share: Share,
    page: Page,
    vcpus: Vec<VcpuId>,
}

/// The line of an awake VCPU; for the one that runs, the line from which it was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Run,
    Penalty,
    Extra,
    /// In none of the lines.
    Nowhere,
}

#[derive(Clone, Debug)]
struct Vcpu {
    dom: DomId,
    home: PcpuId,
    awake: bool,
    place: Place,
    spot: Spot,
    /// The end of the period, and its place among equal ones; zero before the first.
    deadline_ns: u64,
    arrival: u64,
    used_ns: u64,
    lost_ns: u64,
    score_ns: u64,
    /// When it was last chosen, and the time up to which it is charged.
    chosen_ns: u64,
    charged_ns: u64,
}

/// No rule: the earliest deadline, the least extra time.
#[derive(Debug)]
struct Plain;

impl Rule for Plain {}

impl Sedf {
    /// For `host`, with the setting `quantum` (500 us).
    pub fn from_settings(settings: &mut Settings, host: Host) -> Result<Self, PolicyError> {
        Self::under(Box::new(Plain), false, settings, host)
    }

    /// SEDF under a rule that is applied by an index or by a scan: settings `choice` and `quantum`.
    pub(crate) fn with_rule(
        rule: impl Rule + 'static,
        settings: &mut Settings,
        host: Host,
    ) -> Result<Self, PolicyError> {
        let scans = settings.choice("choice", &[("index", false), ("scan", true)])?;
        Self::under(Box::new(rule), scans, settings, host)
    }

    fn under(
        rule: Box<dyn Rule>,
        scans: bool,
        settings: &mut Settings,
        host: Host,
    ) -> Result<Self, PolicyError> {
        let quantum_ns = settings.nanos("quantum", 500 * MICROSECOND, 1_000, 1_000 * MILLISECOND)?;
        let pcpus = (0..host.pcpus).map(|_| Pcpu::default()).collect();
        let loads = Loads::new(host.pcpus);
        Ok(Self {
            rule,
            scans,
            quantum_ns,
            pcpus,
            vcpus: PerVcpu::default(),
            doms: PerDomain::default(),
            loads,
            arrivals: 0,
        })
    }

    /// The timer of the windows; those with smaller numbers belong to the PCPUs.
    fn window_timer(&self) -> u32 {
        self.pcpus.len() as u32
    }
}

impl Policy for Sedf {
    fn start(&mut self, now_ns: u64, orders: &mut Orders) {
        if let Some(window_ns) = self.rule.window_ns() {
            orders.set_timer(self.window_timer(), now_ns + window_ns);
        }
    }

    fn add(
        &mut self,
        _now_ns: u64,
        domain: &NewDomain,
        settings: &mut Settings,
        _orders: &mut Orders,
    ) -> Result<(), PolicyError> {
        let share = Share::of_newcomer(domain.privileged).read(settings, domain.dom)?;
        let mut loads = self.loads.clone();
        let homes = loads.place(domain, share)?;
        self.loads = loads;
        for (id, home) in domain.vcpus.iter().zip(homes) {
            self.vcpus.insert(*id, Vcpu::new(domain.dom, home));
        }
        let page = Page { privileged: domain.privileged, ..Page::default() };
        self.doms.insert(domain.dom, Domain { share, page, vcpus: domain.vcpus.clone() });
        Ok(())
    }

    fn remove(&mut self, now_ns: u64, dom: DomId, orders: &mut Orders) {
        for id in self.doms[dom].vcpus.clone() {
            self.sleep(now_ns, id, orders);
            let vcpu = self.vcpus.remove(id).expect("a domain's VCPUs are there as long as it is");
            self.loads.take(vcpu.home, self.doms[dom].share);
        }
        self.doms.remove(dom);
    }

    fn adjust(
        &mut self,
        now_ns: u64,
        dom: DomId,
        settings: &mut Settings,
        orders: &mut Orders,
    ) -> Result<(), PolicyError> {
        let (old, vcpus) = (self.doms[dom].share, self.doms[dom].vcpus.clone());
        let share = old.read(settings, dom)?;
        let mut loads = self.loads.clone();
        vcpus.iter().for_each(|id| loads.take(self.vcpus[*id].home, old));
        for id in &vcpus {
            let home = self.vcpus[*id].home;
            loads.check(dom, home, share)?;
            loads.give(home, share);
        }
        self.loads = loads;
        let ran: Vec<_> = vcpus.iter().map(|id| self.leave(now_ns, *id)).collect();
        self.doms[dom].share = share;
        for (id, ran) in vcpus.into_iter().zip(ran) {
            // A new period begins at once for those that are awake; the others begin one when they wake.
            self.vcpus[id].begin(now_ns);
            if !self.vcpus[id].awake {
                self.vcpus[id].deadline_ns = 0;
                continue;
            }
            self.vcpus[id].deadline_ns = now_ns + share.period_ns;
            self.enter(now_ns, id);
            self.ask_if_better(id, orders);
            if let Some(pcpu) = ran {
                orders.reschedule(pcpu);
            }
        }
        Ok(())
    }

    fn wake(&mut self, now_ns: u64, id: VcpuId, orders: &mut Orders) {
        let share = self.share(id);
        let vcpu = &mut self.vcpus[id];
        vcpu.awake = true;
        // Long unblocking: a new period begins at once (rule "2b" of Xen).
        if vcpu.deadline_ns <= now_ns {
            vcpu.begin(now_ns);
            vcpu.deadline_ns = now_ns + share.period_ns;
        } else if vcpu.deadline_ns - share.period_ns <= now_ns {
            // Short unblocking: the rest of the slice is lost, and the penalty line makes up for it.
            vcpu.lost_ns = share.slice_ns.saturating_sub(vcpu.used_ns);
            vcpu.used_ns = 0;
            vcpu.deadline_ns += share.period_ns;
        }
        let least_ns = self.pcpus[self.vcpus[id].home.index()].least_score_ns;
        let vcpu = &mut self.vcpus[id];
        vcpu.score_ns = vcpu.score_ns.max(least_ns);
        self.enter(now_ns, id);
        self.ask_if_better(id, orders);
    }

    fn sleep(&mut self, now_ns: u64, id: VcpuId, _orders: &mut Orders) {
        let ran = self.leave(now_ns, id);
        let vcpu = &mut self.vcpus[id];
        vcpu.awake = false;
        vcpu.place = Place::Nowhere;
        if ran.is_some() {
            self.note_sent(id);
        }
    }

    fn yields(&mut self, now_ns: u64, id: VcpuId, _orders: &mut Orders) {
        // A turn of extra time counts in full when the VCPU gives up the rest of it. In its slice, as in Xen,
        // the VCPU with the earliest deadline continues although it has yielded.
        let quantum_ns = self.quantum_ns;
        let vcpu = &mut self.vcpus[id];
        if vcpu.place == Place::Extra {
            vcpu.score_ns += quantum_ns.saturating_sub(now_ns - vcpu.charged_ns);
        }
    }

    fn pick(&mut self, now_ns: u64, pcpu: PcpuId, orders: &mut Orders) -> Pick {
        let last = self.pcpus[pcpu.index()].running;
        if let Some(last) = last {
            self.leave(now_ns, last);
            self.enter(now_ns, last);
        }
        self.begin_periods(now_ns, pcpu);
        self.forfeit(now_ns, pcpu);
        let (vcpu, examined) = self.choose(now_ns, pcpu);
        if let Some(last) = last.filter(|last| Some(*last) != vcpu) {
            self.note_sent(last);
        }
        let begins_ns = self.pcpus[pcpu.index()].waiting.first().map(|(at_ns, _)| at_ns);
        let Some(vcpu) = vcpu else {
            if let Some(at_ns) = begins_ns {
                orders.set_timer(pcpu.0, at_ns);
            }
            return Pick { vcpu: None, slice_ns: None, examined };
        };
        let mut slice_ns = self.run(now_ns, vcpu);
        if let Some(at_ns) = begins_ns {
            // A VCPU whose period begins then may come before this one.
            slice_ns = slice_ns.min(at_ns - now_ns);
        }
        self.pcpus[pcpu.index()].slice_end_ns = now_ns + slice_ns;
        Pick { vcpu: Some(vcpu), slice_ns: Some(slice_ns), examined }
    }

    fn timer(&mut self, now_ns: u64, timer: u32, orders: &mut Orders) {
        match self.rule.window_ns() {
            Some(window_ns) if timer == self.window_timer() => {
                self.next_window();
                orders.set_timer(timer, now_ns + window_ns);
            }
            // A PCPU that runs a VCPU decides again at the end of the slice anyway.
            _ if self.pcpus[timer as usize].running.is_none() => orders.reschedule(PcpuId(timer)),
            _ => {}
        }
    }

    fn migrate(&mut self, now_ns: u64, id: VcpuId, pcpu: PcpuId, _pin: bool, orders: &mut Orders) {
        let share = self.share(id);
        self.leave(now_ns, id);
        let vcpu = &mut self.vcpus[id];
        let old = std::mem::replace(&mut vcpu.home, pcpu);
        self.loads.take(old, share);
        self.loads.give(pcpu, share);
        if self.vcpus[id].awake {
            let least_ns = self.pcpus[pcpu.index()].least_score_ns;
            let behind_ns = self.vcpus[id].score_ns.saturating_sub(self.pcpus[old.index()].least_score_ns);
            self.vcpus[id].score_ns = least_ns + behind_ns;
            self.enter(now_ns, id);
            self.ask_if_better(id, orders);
        }
    }

    fn pending(&mut self, now_ns: u64, dom: DomId, messages: u32, _orders: &mut Orders) {
        let page = &mut self.doms[dom].page;
        let new = page.set_pending(now_ns, messages);
        if page.privileged && new > 0 && self.rule.window_ns().is_some() {
            self.credit_senders(new);
        }
        self.rank_again(dom);
    }

    fn dump(&self, now_ns: u64) -> Vec<Standing> {
        self.vcpus.standings(|id, vcpu| self.standing(now_ns, id, vcpu))
    }
}

/// The ranks of a VCPU by every preference of a rule.
fn ranks(
    rule: &dyn Rule,
    page: &Page,
    chosen_ns: u64,
) -> [Option<crate::deadline::choice::Rank>; PREFERENCES] {
    let candidate = crate::deadline::choice::Candidate { page, chosen_ns };
    std::array::from_fn(|preference| rule.rank(preference, &candidate))
}
