//! The state of a VCPU under PSX+, and its key in the run queue.
//!
//! Invariant: the key depends on nothing but this state, so code that changes any of it must update the run
//! queue.

use super::shares::Account;
use crate::queues::Place;
use crate::{DomId, NewDomain, PcpuId};

/// A class, the least first, and the order within it.
pub(super) type Key = (u8, u64);

pub(super) const DUE: u8 = 0;
pub(super) const DOM0: u8 = 1;
pub(super) const FEDERATE: u8 = 2;
pub(super) const OTHERS: u8 = 3;

/// How fast the LVT of a VCPU rises with the CPU time that it gets, to estimate it between two reports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// CPU time since the LVT last changed, without time in which it was known to wait.
    lap_ns: u64,
    /// The last rise.
    step: u64,
    /// Rises, and the CPU time that they took; each report halves the weight of those before it.
    rises: u64,
    took_ns: u64,
}

impl Pace {
    /// Nothing is known of the pace.
    const UNKNOWN: Self = Self { lap_ns: 0, step: 0, rises: 0, took_ns: 1 };

    fn report(&mut self, before: u64, lvt: u64) {
        // Two reports without CPU time between them say nothing about the pace.
        if lvt == before || self.lap_ns == 0 {
            return;
        }
        self.took_ns = self.took_ns / 2 + std::mem::take(&mut self.lap_ns);
        self.rises /= 2;
        // After a rollback the step is 0: it takes as long to come back as it took to get there, and the next
        // rise is unknown.
        self.step = lvt.saturating_sub(before);
        self.rises = self.rises.saturating_add(self.step);
    }

    /// The estimated LVT of a VCPU that last reported `lvt`: it rises at its pace until it has risen by the
    /// last step. If no report has come by then, the estimate is that step plus one nanosecond for each
    /// nanosecond of CPU time since the last change. That is slow in most models: so all overdue VCPUs
    /// advance side by side, and more slowly than those whose pace is known.
    fn expected(&self, lvt: u64) -> u64 {
        let rise = u128::from(self.lap_ns) * u128::from(self.rises) / u128::from(self.took_ns);
        let rise = match u64::try_from(rise) {
            Ok(rise) if rise <= self.step => rise,
            _ => self.step.saturating_add(self.lap_ns),
        };
        lvt.saturating_add(rise)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Vcpu {
    pub(super) dom: DomId,
    pub(super) privileged: bool,
    pub(super) pin: Option<PcpuId>,
    pub(super) awake: bool,
    pub(super) yielded: bool,
    pub(super) simulates: bool,
    /// How much longer it may run as a federate without saying whether it simulates; 0 once it has said so.
    pub(super) grace_ns: u64,
    pub(super) waits: bool,
    /// Its waiting flag, if it uses it.
    pub(super) flag: Option<bool>,
    pub(super) lvt: u64,
    pub(super) highest_lvt: u64,
    /// How long it has run since it last made progress.
    pub(super) stalled_ns: u64,
    pub(super) ran_until_ns: u64,
    pub(super) pace: Pace,
    pub(super) account: Account,
}

impl Vcpu {
    pub(super) fn new(domain: &NewDomain, pin: Option<PcpuId>, grace_ns: u64) -> Self {
        Self {
            dom: domain.dom,
            privileged: domain.privileged,
            pin,
            awake: false,
            yielded: false,
            simulates: false,
            grace_ns,
            waits: false,
            flag: None,
            lvt: 0,
            highest_lvt: 0,
            stalled_ns: 0,
            ran_until_ns: 0,
            pace: Pace::UNKNOWN,
            account: Account::default(),
        }
    }

    pub(super) fn place(&self) -> Place {
        Place::of(self.pin)
    }

    pub(super) fn key(&self) -> Key {
        match self {
            vcpu if vcpu.account.due => (DUE, u64::from(vcpu.pin.is_none())),
            vcpu if vcpu.privileged && !vcpu.waits => (DOM0, 0),
            vcpu if (vcpu.simulates || vcpu.grace_ns > 0) && !vcpu.waits => {
                (FEDERATE, vcpu.pace.expected(vcpu.lvt))
            }
            vcpu => (OTHERS, vcpu.ran_until_ns),
        }
    }

    /// Its key while it runs: within a slice, no other of the last class comes before it.
    pub(super) fn standing(&self) -> Key {
        let (class, order) = self.key();
        (class, if class == OTHERS { 0 } else { order })
    }

    /// Charges it for `ran_ns`, until `now_ns`.
    pub(super) fn charge(&mut self, ran_ns: u64, now_ns: u64) {
        self.stalled_ns += ran_ns;
        self.grace_ns = self.grace_ns.saturating_sub(ran_ns);
        self.ran_until_ns = now_ns;
        if !self.waits {
            self.pace.lap_ns += ran_ns;
        }
    }

    pub(super) fn report(&mut self, lvt: u64) {
        self.pace.report(self.lvt, lvt);
        self.lvt = lvt;
        if lvt > self.highest_lvt {
            self.highest_lvt = lvt;
            self.restore();
        }
    }

    /// It has nothing to do. Its next LVT is progress, whatever it is.
    pub(super) fn idle(&mut self) {
        (self.waits, self.highest_lvt) = (true, 0);
    }

    /// Notes whether it simulates. A new simulation may begin at any LVT, so what is known from an earlier
    /// one is dropped.
    pub(super) fn mode(&mut self, simulates: bool) {
        if simulates && !self.simulates {
            (self.lvt, self.highest_lvt, self.pace, self.flag) = (0, 0, Pace::UNKNOWN, None);
        }
        (self.simulates, self.grace_ns) = (simulates, 0);
    }

    pub(super) fn federate(&self) -> bool {
        self.simulates && !self.privileged
    }

    pub(super) fn restore(&mut self) {
        self.waits = false;
        self.stalled_ns = 0;
    }
}
