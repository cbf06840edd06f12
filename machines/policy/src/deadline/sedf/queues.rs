//! The moves between the lines of SEDF, and the choice from them.
//!
//! Invariants: an awake VCPU that does not run is in at most one of the three lines of its home, one that
//! runs or sleeps in none; an awake VCPU, even one that runs, is in the waiting line exactly if it has a
//! slice and its period is to come.

use super::line::Spot;
use super::share::Share;
use super::{Place, Sedf, Vcpu, ranks};
use crate::{DomId, Orders, PcpuId, Standing, VcpuId};

impl Vcpu {
    pub(super) fn new(dom: DomId, home: PcpuId) -> Self {
        Self {
            dom,
            home,
            awake: false,
            place: Place::Nowhere,
            spot: Spot::default(),
            deadline_ns: 0,
            arrival: 0,
            used_ns: 0,
            lost_ns: 0,
            score_ns: 0,
            chosen_ns: 0,
            charged_ns: 0,
        }
    }

    /// Begins a period with nothing used and nothing lost.
    pub(super) fn begin(&mut self, now_ns: u64) {
        self.used_ns = 0;
        self.lost_ns = 0;
        self.charged_ns = now_ns;
    }
}

impl Sedf {
    pub(super) fn share(&self, id: VcpuId) -> Share {
        self.doms[self.vcpus[id].dom].share
    }

    fn runs(&self, id: VcpuId) -> bool {
        self.pcpus[self.vcpus[id].home.index()].running == Some(id)
    }

    /// When the period of `id` began or will begin.
    fn period_ns(&self, id: VcpuId) -> u64 {
        self.vcpus[id].deadline_ns - self.share(id).period_ns
    }

    pub(super) fn enter(&mut self, now_ns: u64, id: VcpuId) {
        let share = self.share(id);
        let begins_ns = self.period_ns(id);
        self.arrivals += 1;
        let arrival = self.arrivals;
        let vcpu = &mut self.vcpus[id];
        let home = vcpu.home.index();
        let (place, key) = if share.slice_ns > 0 && begins_ns <= now_ns {
            if vcpu.place != Place::Run {
                vcpu.arrival = arrival;
            }
            (Place::Run, (vcpu.deadline_ns, vcpu.arrival))
        } else if vcpu.lost_ns > 0 {
            (Place::Penalty, (inverse(vcpu.lost_ns, share.period_ns), arrival))
        } else if share.extra {
            (Place::Extra, (vcpu.score_ns, arrival))
        } else {
            (Place::Nowhere, (0, 0))
        };
        vcpu.place = place;
        vcpu.spot.key = key;
        if !self.scans {
            let vcpu = &self.vcpus[id];
            let ranks = ranks(self.rule.as_ref(), &self.doms[vcpu.dom].page, vcpu.chosen_ns);
            self.vcpus[id].spot.ranks = ranks;
        }
        let spot = self.vcpus[id].spot;
        let pcpu = &mut self.pcpus[home];
        if place != Place::Nowhere {
            pcpu.lines[place as usize].insert(id, &spot);
        }
        if share.slice_ns > 0 && place != Place::Run {
            pcpu.waiting.insert(begins_ns, id);
        }
    }

    /// Takes a VCPU out of its lines, or charges it and takes it off its PCPU, which is returned.
    pub(super) fn leave(&mut self, now_ns: u64, id: VcpuId) -> Option<PcpuId> {
        let begins_ns = self.vcpus[id].awake.then(|| self.period_ns(id));
        let runs = self.runs(id);
        let share = self.share(id);
        let vcpu = &mut self.vcpus[id];
        let pcpu = &mut self.pcpus[vcpu.home.index()];
        if let Some(begins_ns) = begins_ns {
            pcpu.waiting.remove(begins_ns, id);
        }
        if !runs {
            if vcpu.place != Place::Nowhere {
                pcpu.lines[vcpu.place as usize].remove(id, &vcpu.spot);
            }
            vcpu.place = Place::Nowhere;
            return None;
        }
        pcpu.running = None;
        let ran_ns = now_ns - vcpu.charged_ns;
        match vcpu.place {
            Place::Run => vcpu.used_ns += ran_ns,
            Place::Penalty => vcpu.lost_ns = 0,
            Place::Extra => vcpu.score_ns += ran_ns,
            Place::Nowhere => unreachable!("who runs was chosen from a line"),
        }
        if vcpu.place == Place::Run && vcpu.used_ns >= share.slice_ns {
            vcpu.used_ns -= share.slice_ns;
            vcpu.deadline_ns += share.period_ns;
        }
        if vcpu.place != Place::Run {
            vcpu.place = Place::Nowhere;
        }
        Some(vcpu.home)
    }

    /// Moves VCPUs whose period has begun to the run line.
    pub(super) fn begin_periods(&mut self, now_ns: u64, pcpu: PcpuId) {
        while let Some((at_ns, id)) = self.pcpus[pcpu.index()].waiting.first()
            && at_ns <= now_ns
        {
            self.leave(now_ns, id);
            self.vcpus[id].lost_ns = 0;
            self.enter(now_ns, id);
        }
    }

    /// VCPUs whose deadline has passed lose the rest of that slice, and enter the current period.
    pub(super) fn forfeit(&mut self, now_ns: u64, pcpu: PcpuId) {
        while let Some((deadline_ns, id)) = self.pcpus[pcpu.index()].lines[Place::Run as usize].first()
            && deadline_ns <= now_ns
        {
            let period_ns = self.share(id).period_ns;
            self.leave(now_ns, id);
            let vcpu = &mut self.vcpus[id];
            vcpu.used_ns = 0;
            vcpu.deadline_ns += ((now_ns - deadline_ns) / period_ns + 1) * period_ns;
            self.enter(now_ns, id);
        }
    }

    /// The VCPU that the rule chooses from the first line that is not empty, and how many entries were read
    /// for it.
    pub(super) fn choose(&mut self, now_ns: u64, pcpu: PcpuId) -> (Option<VcpuId>, u32) {
        let on_pcpu = &mut self.pcpus[pcpu.index()];
        if let Some((score_ns, _)) = on_pcpu.lines[Place::Extra as usize].first() {
            on_pcpu.least_score_ns = on_pcpu.least_score_ns.max(score_ns);
        }
        let Some(line) = self.pcpus[pcpu.index()].lines.iter().find(|line| !line.is_empty()) else {
            return (None, 0);
        };
        let rule = self.rule.as_ref();
        if self.scans {
            let ranks = |id: VcpuId| {
                let vcpu = &self.vcpus[id];
                ranks(rule, &self.doms[vcpu.dom].page, vcpu.chosen_ns)
            };
            let examined = line.len() as u32 * rule.entries();
            return (line.scan(now_ns, rule, ranks), examined);
        }
        (line.choose(now_ns, rule), 0)
    }

    /// Takes a VCPU out of its lines to run, and returns for how long it may.
    pub(super) fn run(&mut self, now_ns: u64, id: VcpuId) -> u64 {
        let slice_ns = self.share(id).slice_ns;
        let quantum_ns = self.quantum_ns;
        let vcpu = &mut self.vcpus[id];
        let pcpu = &mut self.pcpus[vcpu.home.index()];
        pcpu.lines[vcpu.place as usize].remove(id, &vcpu.spot);
        pcpu.running = Some(id);
        vcpu.chosen_ns = now_ns;
        vcpu.charged_ns = now_ns;
        if vcpu.place == Place::Run { slice_ns - vcpu.used_ns } else { quantum_ns }
    }

    /// Asks for a decision if `id`, which has just entered a line, may change it (like Xen's
    /// `should_switch`).
    pub(super) fn ask_if_better(&self, id: VcpuId, orders: &mut Orders) {
        let vcpu = &self.vcpus[id];
        let pcpu = &self.pcpus[vcpu.home.index()];
        let better = match (pcpu.running.map(|running| &self.vcpus[running]), vcpu.place) {
            (None, _) | (Some(_), Place::Run) => true,
            (Some(runs), Place::Penalty) if runs.place == Place::Penalty => vcpu.spot.key < runs.spot.key,
            (Some(runs), Place::Penalty) => runs.place == Place::Extra,
            (Some(_), Place::Extra | Place::Nowhere) => false,
        };
        // A period that begins within the running slice may end it early.
        let begins_first = self.share(id).slice_ns > 0 && self.period_ns(id) < pcpu.slice_end_ns;
        if better || begins_first {
            orders.reschedule(vcpu.home);
        }
    }

    /// Ranks the VCPUs of `dom` again, because its page has changed.
    pub(super) fn rank_again(&mut self, dom: DomId) {
        // A scan ranks at every decision.
        if self.scans {
            return;
        }
        let domain = &self.doms[dom];
        for id in &domain.vcpus {
            let vcpu = &mut self.vcpus[*id];
            let pcpu = &mut self.pcpus[vcpu.home.index()];
            if vcpu.place == Place::Nowhere || !vcpu.awake || pcpu.running == Some(*id) {
                continue;
            }
            let ranks = ranks(self.rule.as_ref(), &domain.page, vcpu.chosen_ns);
            if ranks != vcpu.spot.ranks {
                let line = &mut pcpu.lines[vcpu.place as usize];
                line.remove(*id, &vcpu.spot);
                vcpu.spot.ranks = ranks;
                line.insert(*id, &vcpu.spot);
            }
        }
    }

    /// Credits every guest that runs with the new messages of DOM0, because each may have sent them.
    pub(super) fn credit_senders(&mut self, new: u32) {
        for running in self.pcpus.iter().filter_map(|pcpu| pcpu.running) {
            let dom = self.vcpus[running].dom;
            let page = &mut self.doms[dom].page;
            page.sending += u64::from(new);
        }
    }

    /// `id` has stopped: what its domain sent while it ran is what it is expected to send next.
    pub(super) fn note_sent(&mut self, id: VcpuId) {
        let Some(dom) = self.vcpus.get(id).map(|vcpu| vcpu.dom) else { return };
        let page = &mut self.doms[dom].page;
        let sent = std::mem::take(&mut page.sending);
        if std::mem::replace(&mut page.sent, sent) != sent {
            self.rank_again(dom);
        }
    }

    /// Begins a new window, in which received messages are counted from zero.
    pub(super) fn next_window(&mut self) {
        for dom in self.doms.ids(|_| true) {
            self.doms[dom].page.received = 0;
            self.rank_again(dom);
        }
    }

    pub(super) fn standing(&self, now_ns: u64, id: VcpuId, vcpu: &Vcpu) -> Standing {
        let runs = self.runs(id);
        let ran_ns = if runs { now_ns - vcpu.charged_ns } else { 0 };
        let (used_ns, extra_ns) = if vcpu.place == Place::Run { (ran_ns, 0) } else { (0, ran_ns) };
        let slice_ns = self.share(id).slice_ns;
        let keys = vec![
            ("deadline_ns", vcpu.deadline_ns as i64),
            ("left_ns", slice_ns.saturating_sub(vcpu.used_ns + used_ns) as i64),
            ("extra_ns", (vcpu.score_ns + extra_ns) as i64),
            ("pending", i64::from(self.doms[vcpu.dom].page.pending)),
        ];
        Standing { vcpu: id, runs_on: runs.then_some(vcpu.home), awake: vcpu.awake, keys }
    }
}

/// A number that is the less, the greater the loss is in proportion to the period.
fn inverse(lost_ns: u64, period_ns: u64) -> u64 {
    (u128::from(period_ns) * (1 << 20) / u128::from(lost_ns)) as u64
}
