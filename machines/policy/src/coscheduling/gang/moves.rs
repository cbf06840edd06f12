//! The moves of gang scheduling: into and out of the matrix and the queues of the columns, and from slot to
//! slot.
//!
//! Invariants: a VCPU that is awake either runs or is in the queue of its column, under the key of
//! [`Vcpu::key`], which does not change meanwhile; one that sleeps does neither; `awake` counts the VCPUs
//! that are awake, by row.

use super::matrix::Seat;
use super::{Gang, Name, Vcpu};
use crate::coscheduling::class::{Class, Seen};
use crate::{DomId, Orders, PcpuId, PolicyError, Standing, VcpuId};

/// The rank of VCPUs that are set aside: after all classes.
const ASIDE: u8 = 3;

impl Vcpu {
    pub(super) fn new(dom: DomId, pin: Option<PcpuId>) -> Self {
        Self {
            dom,
            pin,
            row: 0,
            column: PcpuId(0),
            awake: false,
            runs_on: None,
            stint: 0,
            class: Class::default(),
            aside: false,
            waits: false,
            charged_ns: 0,
            seen: Seen::default(),
        }
    }

    fn is_aside(&self) -> bool {
        self.aside && self.class != Class::CoScheduled
    }

    fn key(&self) -> (u8, u64) {
        (if self.is_aside() { ASIDE } else { self.class.rank() }, self.stint)
    }

    pub(super) fn standing(&self, vcpu: VcpuId, classes: bool) -> Standing {
        let mut keys = vec![("row", i64::from(self.row)), ("column", i64::from(self.column.0))];
        if classes {
            keys.extend([("class", i64::from(self.class.rank())), ("aside", i64::from(self.is_aside()))]);
        }
        Standing { vcpu, runs_on: self.runs_on, awake: self.awake, keys }
    }
}

impl Gang {
    fn seats(&self, gang: Name) -> Vec<Seat> {
        let members = self.gangs.get(&gang).into_iter().flatten();
        let seat =
            |id: &VcpuId| Seat { vcpu: *id, pin: self.vcpus[*id].pin, has: Some(self.vcpus[*id].column) };
        members.map(seat).collect()
    }

    pub(super) fn could_seat(&self, gang: Name) -> bool {
        self.matrix.could_seat(&self.seats(gang))
    }

    /// Whether `vcpus` of `dom` can be in `gang`.
    pub(super) fn admit(
        &self,
        dom: DomId,
        gang: Name,
        vcpus: &[VcpuId],
        pins: &[Option<PcpuId>],
    ) -> Result<(), PolicyError> {
        let mut seats = self.seats(gang);
        seats.extend(vcpus.iter().zip(pins).map(|(vcpu, pin)| Seat { vcpu: *vcpu, pin: *pin, has: None }));
        let (vcpus, pcpus) = (seats.len() as u32, self.columns.len() as u32);
        if vcpus > pcpus {
            let policy = if self.bounds.is_some() { "flexible" } else { "gang" };
            return Err(PolicyError::TooManyVcpus { dom, vcpus, policy, pcpus });
        }
        if !self.matrix.could_seat(&seats) {
            return Err(PolicyError::BadValue {
                key: "pin".into(),
                value: "the same PCPU for several VCPUs of a gang".into(),
                allowed: "a PCPU for each".into(),
            });
        }
        Ok(())
    }

    /// Seats `gang` again, together with `vcpus`, which are in no gang.
    pub(super) fn join_gang(&mut self, now_ns: u64, gang: Name, vcpus: &[VcpuId], orders: &mut Orders) {
        let mut seats = self.seats(gang);
        for seat in &seats {
            let (row, column) = (self.vcpus[seat.vcpu].row, self.vcpus[seat.vcpu].column);
            self.matrix.free(row, column);
        }
        seats.extend(vcpus.iter().map(|id| Seat { vcpu: *id, pin: self.vcpus[*id].pin, has: None }));
        let (row, columns) = self.matrix.seat(&seats);
        for (seat, column) in seats.iter().zip(columns) {
            self.move_to(now_ns, seat.vcpu, row, column, orders);
        }
        self.gangs.entry(gang).or_default().extend(vcpus);
    }

    pub(super) fn leave_gang(&mut self, dom: DomId, vcpus: &[VcpuId]) {
        let gang = self.doms[dom].gang;
        for id in vcpus {
            let (row, column) = (self.vcpus[*id].row, self.vcpus[*id].column);
            self.matrix.free(row, column);
        }
        let members = self.gangs.get_mut(&gang).expect("a domain is in its gang");
        members.retain(|id| !vcpus.contains(id));
        if members.is_empty() {
            self.gangs.remove(&gang);
        }
    }

    fn move_to(&mut self, now_ns: u64, id: VcpuId, row: u32, column: PcpuId, orders: &mut Orders) {
        self.charge(now_ns, id);
        let runs_on = self.vcpus[id].runs_on;
        let awake = self.vcpus[id].awake;
        if awake && runs_on.is_none() {
            self.leave(id);
        }
        let vcpu = &mut self.vcpus[id];
        let old = std::mem::replace(&mut vcpu.row, row);
        vcpu.column = column;
        if !awake {
            return;
        }
        self.count_asleep(old);
        *self.awake.entry(row).or_default() += 1;
        match runs_on {
            // It moves to the queue of its new column when it stops on the old PCPU.
            Some(pcpu) => orders.reschedule(pcpu),
            None => {
                self.enqueue(id);
                self.ask_if_better(id, orders);
            }
        }
    }

    /// Counts one VCPU fewer that is awake in `row`.
    pub(super) fn count_asleep(&mut self, row: u32) {
        let left = self.awake.get_mut(&row).expect("somebody was awake there");
        *left -= 1;
        if *left == 0 {
            self.awake.remove(&row);
        }
    }

    /// Puts `id`, which is awake and does not run, into its column's queue.
    pub(super) fn enqueue(&mut self, id: VcpuId) {
        let vcpu = &self.vcpus[id];
        let (column, key) = (vcpu.column.index(), vcpu.key());
        self.columns[column].line.insert(key, id);
    }

    pub(super) fn leave(&mut self, id: VcpuId) {
        let vcpu = &mut self.vcpus[id];
        match vcpu.runs_on.take() {
            Some(pcpu) => self.columns[pcpu.index()].running = None,
            None => {
                self.columns[vcpu.column.index()].line.remove(vcpu.key(), id);
            }
        }
    }

    /// The VCPU that has the slot on `pcpu`, unless it sleeps or is set aside.
    fn owner(&self, pcpu: PcpuId) -> Option<VcpuId> {
        let owner = self.matrix.at(self.row, pcpu)?;
        (self.vcpus[owner].awake && !self.vcpus[owner].is_aside()).then_some(owner)
    }

    /// The VCPU to run on `pcpu`, which runs none now: the owner of the slot, else the first in the queue.
    pub(super) fn choose(&self, pcpu: PcpuId) -> Option<VcpuId> {
        let owner = self.owner(pcpu).filter(|owner| self.vcpus[*owner].runs_on.is_none());
        owner.or(self.columns[pcpu.index()].line.first().map(|(_, id)| id))
    }

    /// Asks for a decision if `id`, which has just been queued, comes before the VCPU that runs.
    pub(super) fn ask_if_better(&self, id: VcpuId, orders: &mut Orders) {
        let pcpu = self.vcpus[id].column;
        let better = match self.columns[pcpu.index()].running {
            None => true,
            Some(running) => {
                let owner = self.owner(pcpu);
                owner == Some(id)
                    || owner != Some(running)
                        && (self.vcpus[id].key(), id) < (self.vcpus[running].key(), running)
            }
        };
        if better {
            orders.reschedule(pcpu);
        }
    }

    /// Charges `id` for the time it has run so far.
    pub(super) fn charge(&mut self, now_ns: u64, id: VcpuId) {
        let row = self.row;
        let vcpu = &mut self.vcpus[id];
        if vcpu.runs_on.is_some() {
            let ran_ns = now_ns - std::mem::replace(&mut vcpu.charged_ns, now_ns);
            if vcpu.row == row && !vcpu.waits {
                vcpu.seen.used_ns += ran_ns;
            }
        }
    }

    /// Sets `id` aside. This has an effect while its class is one that is set aside; returns whether it is.
    pub(super) fn set_aside(&mut self, id: VcpuId) -> bool {
        if self.bounds.is_none() {
            return false;
        }
        if !self.vcpus[id].aside {
            self.asides.push(id);
        }
        self.stints += 1;
        let stint = self.stints;
        self.with_key(id, |vcpu| {
            vcpu.aside = true;
            vcpu.stint = stint;
        });
        self.vcpus[id].is_aside()
    }

    /// Ends the setting aside of `id`.
    pub(super) fn bring_back(&mut self, id: VcpuId, orders: &mut Orders) {
        if self.vcpus[id].aside {
            self.with_key(id, |vcpu| vcpu.aside = false);
            if self.vcpus[id].runs_on.is_none() {
                self.ask_if_better(id, orders);
            }
        }
    }

    /// Applies a change that may move the VCPU in its queue.
    fn with_key(&mut self, id: VcpuId, change: impl FnOnce(&mut Vcpu)) {
        let is_queued = self.vcpus[id].awake && self.vcpus[id].runs_on.is_none();
        if is_queued {
            self.leave(id);
        }
        change(&mut self.vcpus[id]);
        if is_queued {
            self.enqueue(id);
        }
    }

    /// Gives the turn to the next row in which a VCPU is awake.
    pub(super) fn end_slot(&mut self, now_ns: u64) {
        for running in self.columns.iter().filter_map(|column| column.running).collect::<Vec<_>>() {
            self.charge(now_ns, running);
            self.stints += 1;
            let stint = self.stints;
            self.vcpus[running].stint = stint;
        }
        for id in self.matrix.row(self.row) {
            self.classify(id);
        }
        let next = self.awake.range(self.row + 1..).next().or(self.awake.first_key_value());
        self.row = next.map_or(self.row, |(row, _)| *row);
        for id in std::mem::take(&mut self.asides) {
            // A VCPU whose waiting flag is set stays aside; one that has only yielded comes back.
            match self.vcpus.get(id) {
                Some(vcpu) if vcpu.aside && vcpu.waits => self.asides.push(id),
                Some(_) => self.with_key(id, |vcpu| vcpu.aside = false),
                None => {}
            }
        }
    }

    /// Counts a slot of `id`, and classifies it after enough of them.
    fn classify(&mut self, id: VcpuId) {
        let Some(bounds) = self.bounds else { return };
        let domain = &self.doms[self.vcpus[id].dom];
        let (messages, vcpus) = (domain.messages, domain.vcpus.len() as u64);
        let slot_ns = self.slot_ns;
        let vcpu = &mut self.vcpus[id];
        vcpu.seen.slots += 1;
        if vcpu.seen.slots >= bounds.evaluate {
            let class = bounds.class(&vcpu.seen, messages, vcpus, slot_ns);
            vcpu.seen = Seen { slots: 0, used_ns: 0, messages_before: messages };
            self.with_key(id, |vcpu| vcpu.class = class);
        }
    }
}
