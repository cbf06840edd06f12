//! Gang scheduling: VCPUs that belong together run at the same time.
//!
//! Source: co-scheduling thesis, section 2.1.1.1 (Ousterhout, 1982). The matrix has a column per PCPU and a
//! row per time slot; all VCPUs of a gang are in one row, the first that has room for them (or a new one),
//! each in its own column; a pinned VCPU is in the column of its pin. The rows get the PCPUs in turn, for a
//! `slot` each (30 ms); rows in which all VCPUs sleep are skipped. Alternate selection: where the cell of the
//! row is empty or its VCPU sleeps, another VCPU of that column runs meanwhile: the one that ran least
//! recently. The owner of the slot preempts it when it wakes.
//!
//! A domain is a gang of its own; with the setting `gang` (a number), all domains with that number are one
//! gang. A gang of more VCPUs than there are PCPUs is not admitted. Setting of the policy: `slot`.
//!
//! State: the matrix; per column, a queue of the VCPUs that are awake and do not run. A yield changes
//! nothing: the slot belongs to the gang. Work-conserving on each PCPU, not over all of them: no VCPU runs
//! outside its column. No VCPU starves.
//!
//! [`flexible`](super::flexible) is gang scheduling in which classes of VCPUs fill the gaps.

mod matrix;
mod moves;

use std::collections::BTreeMap;

use super::class::{Bounds, Class, Seen};
use crate::per_id::{PerDomain, PerVcpu};
use crate::queues::RunQueue;
use crate::{
    DomId, Host, MILLISECOND, NewDomain, Orders, PcpuId, Pick, Policy, PolicyError, Settings, Standing,
    VcpuId,
};
use matrix::Matrix;

const SLOT: u32 = 0;

/// Gang scheduling, with or without the classes of flexible co-scheduling.
#[derive(Debug)]
pub struct Gang {
    slot_ns: u64,
    bounds: Option<Bounds>,
    matrix: Matrix,
    /// The row whose turn it is; it may have been removed.
    row: u32,
    /// By row, the number of VCPUs that are awake; rows with none are not listed.
    awake: BTreeMap<u32, u32>,
    columns: Vec<Column>,
    vcpus: PerVcpu<Vcpu>,
    doms: PerDomain<Domain>,
    gangs: BTreeMap<Name, Vec<VcpuId>>,
    stints: u64,
    /// The VCPUs set aside since this list was last emptied.
    asides: Vec<VcpuId>,
}

#[derive(Debug, Default)]
struct Column {
    running: Option<VcpuId>,
    /// The VCPUs that are awake and do not run.
    line: RunQueue<(u8, u64)>,
}

/// What makes a gang.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Name {
    Domain(DomId),
    Number(u64),
}

#[derive(Debug)]
struct Domain {
    gang: Name,
    vcpus: Vec<VcpuId>,
    pending: u32,
    messages: u64,
}

#[derive(Clone, Debug)]
struct Vcpu {
    dom: DomId,
    pin: Option<PcpuId>,
    row: u32,
    column: PcpuId,
    awake: bool,
    /// Where it runs: its column, unless it has just got another one.
    runs_on: Option<PcpuId>,
    /// When it last ran or woke, as a number in one order for all VCPUs.
    stint: u64,
    class: Class,
    aside: bool,
    waits: bool,
    charged_ns: u64,
    seen: Seen,
}

impl Gang {
    /// For `host`, with the setting `slot` (30 ms).
    pub fn from_settings(settings: &mut Settings, host: Host) -> Result<Self, PolicyError> {
        let slot_ns = settings.nanos("slot", 30 * MILLISECOND, 10_000, 10_000 * MILLISECOND)?;
        Ok(Self {
            slot_ns,
            bounds: None,
            matrix: Matrix::new(host.pcpus),
            row: 0,
            awake: BTreeMap::new(),
            columns: (0..host.pcpus).map(|_| Column::default()).collect(),
            vcpus: PerVcpu::default(),
            doms: PerDomain::default(),
            gangs: BTreeMap::new(),
            stints: 0,
            asides: Vec::new(),
        })
    }

    /// Gang scheduling with the classes of flexible co-scheduling.
    pub(crate) fn with_classes(
        bounds: Bounds,
        settings: &mut Settings,
        host: Host,
    ) -> Result<Self, PolicyError> {
        Ok(Self { bounds: Some(bounds), ..Self::from_settings(settings, host)? })
    }

    /// The gang in which `settings` put a domain.
    fn read(dom: DomId, now: Name, settings: &mut Settings) -> Result<Name, PolicyError> {
        let number = settings.count("gang", 0, 1, u64::MAX)?;
        settings.finish(dom.to_string())?;
        Ok(if number > 0 { Name::Number(number) } else { now })
    }
}

impl Policy for Gang {
    fn start(&mut self, now_ns: u64, orders: &mut Orders) {
        orders.set_timer(SLOT, now_ns + self.slot_ns);
    }

    fn add(
        &mut self,
        now_ns: u64,
        domain: &NewDomain,
        settings: &mut Settings,
        orders: &mut Orders,
    ) -> Result<(), PolicyError> {
        let gang = Self::read(domain.dom, Name::Domain(domain.dom), settings)?;
        self.admit(domain.dom, gang, &domain.vcpus, &domain.pins)?;
        for (id, pin) in domain.members() {
            self.vcpus.insert(id, Vcpu::new(domain.dom, pin));
        }
        let vcpus = domain.vcpus.clone();
        self.doms.insert(domain.dom, Domain { gang, vcpus, pending: 0, messages: 0 });
        self.join_gang(now_ns, gang, &domain.vcpus, orders);
        Ok(())
    }

    fn remove(&mut self, now_ns: u64, dom: DomId, orders: &mut Orders) {
        let vcpus = self.doms[dom].vcpus.clone();
        for id in &vcpus {
            self.sleep(now_ns, *id, orders);
        }
        self.leave_gang(dom, &vcpus);
        for id in vcpus {
            self.vcpus.remove(id);
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
        let gang = Self::read(dom, self.doms[dom].gang, settings)?;
        if gang != self.doms[dom].gang {
            let vcpus = self.doms[dom].vcpus.clone();
            let pins: Vec<_> = vcpus.iter().map(|id| self.vcpus[*id].pin).collect();
            self.admit(dom, gang, &vcpus, &pins)?;
            self.leave_gang(dom, &vcpus);
            self.doms[dom].gang = gang;
            self.join_gang(now_ns, gang, &vcpus, orders);
        }
        Ok(())
    }

    fn wake(&mut self, _now_ns: u64, id: VcpuId, orders: &mut Orders) {
        self.stints += 1;
        let stint = self.stints;
        let vcpu = &mut self.vcpus[id];
        vcpu.awake = true;
        vcpu.stint = stint;
        let row = vcpu.row;
        *self.awake.entry(row).or_default() += 1;
        self.enqueue(id);
        self.ask_if_better(id, orders);
    }

    fn sleep(&mut self, now_ns: u64, id: VcpuId, _orders: &mut Orders) {
        // `remove` calls this for VCPUs that the host has put to sleep already.
        if !self.vcpus[id].awake {
            return;
        }
        self.charge(now_ns, id);
        self.leave(id);
        let vcpu = &mut self.vcpus[id];
        vcpu.awake = false;
        let row = vcpu.row;
        self.count_asleep(row);
    }

    fn yields(&mut self, _now_ns: u64, vcpu: VcpuId, _orders: &mut Orders) {
        self.set_aside(vcpu);
    }

    fn pick(&mut self, now_ns: u64, pcpu: PcpuId, orders: &mut Orders) -> Pick {
        if let Some(last) = self.columns[pcpu.index()].running {
            self.charge(now_ns, last);
            self.leave(last);
            self.enqueue(last);
            // It has got another column while it ran.
            if self.vcpus[last].column != pcpu {
                self.ask_if_better(last, orders);
            }
        }
        let vcpu = self.choose(pcpu);
        if let Some(vcpu) = vcpu {
            self.leave(vcpu);
            self.columns[pcpu.index()].running = Some(vcpu);
            let chosen = &mut self.vcpus[vcpu];
            chosen.runs_on = Some(pcpu);
            chosen.charged_ns = now_ns;
        }
        Pick { vcpu, slice_ns: None, examined: 0 }
    }

    fn timer(&mut self, now_ns: u64, _timer: u32, orders: &mut Orders) {
        orders.set_timer(SLOT, now_ns + self.slot_ns);
        self.end_slot(now_ns);
        (0..self.columns.len() as u32).for_each(|pcpu| orders.reschedule(PcpuId(pcpu)));
    }

    fn migrate(&mut self, now_ns: u64, vcpu: VcpuId, pcpu: PcpuId, pin: bool, orders: &mut Orders) {
        let gang = self.doms[self.vcpus[vcpu].dom].gang;
        let old = self.vcpus[vcpu].pin.replace(pcpu);
        // A gang never has two VCPUs on one PCPU: if the migration would need that, the VCPU stays where it
        // is.
        if self.could_seat(gang) {
            self.join_gang(now_ns, gang, &[], orders);
            self.vcpus[vcpu].pin = pin.then_some(pcpu);
        } else {
            self.vcpus[vcpu].pin = old;
        }
    }

    fn pending(&mut self, _now_ns: u64, dom: DomId, messages: u32, orders: &mut Orders) {
        let domain = &mut self.doms[dom];
        let new = messages.saturating_sub(domain.pending);
        domain.pending = messages;
        domain.messages += u64::from(new);
        if new > 0 && self.bounds.is_some() {
            for id in self.doms[dom].vcpus.clone() {
                self.bring_back(id, orders);
            }
        }
    }

    fn waiting(&mut self, now_ns: u64, vcpu: VcpuId, waits: bool, orders: &mut Orders) {
        self.charge(now_ns, vcpu);
        self.vcpus[vcpu].waits = waits;
        if !waits {
            self.bring_back(vcpu, orders);
        } else if self.set_aside(vcpu)
            && let Some(pcpu) = self.vcpus[vcpu].runs_on
        {
            orders.reschedule(pcpu);
        }
    }

    fn dump(&self, _now_ns: u64) -> Vec<Standing> {
        self.vcpus.standings(|id, vcpu| vcpu.standing(id, self.bounds.is_some()))
    }
}
