//! What PSX+ knows of a VCPU, and where that puts it in the order of all.
//!
//! Invariant: the key depends on nothing but what is here, so whoever changes any of it has the run queue put right.

use super::shares::Account;
use crate::run_queue::Place;
use crate::{DomId, NewDomain, PcpuId};

/// A class, the first first, and the order in it.
pub(super) type Key = (u8, u64);

pub(super) const DUE: u8 = 0;
pub(super) const DOM0: u8 = 1;
pub(super) const FEDERATE: u8 = 2;
pub(super) const OTHERS: u8 = 3;

#[derive(Clone, Debug)]
pub(super) struct Vcpu {
    pub(super) dom: DomId,
    pub(super) privileged: bool,
    pub(super) pin: Option<PcpuId>,
    pub(super) awake: bool,
    pub(super) yielded: bool,
    pub(super) simulates: bool,
    pub(super) waits: bool,
    /// Its waiting flag, if it uses it.
    pub(super) flag: Option<bool>,
    pub(super) lvt: u64,
    pub(super) highest_lvt: u64,
    /// How long it has run since it has last made progress.
    pub(super) stalled_ns: u64,
    pub(super) ran_until_ns: u64,
    pub(super) account: Account,
}

impl Vcpu {
    pub(super) fn new(domain: &NewDomain, pin: Option<PcpuId>) -> Self {
        Self {
            dom: domain.dom,
            privileged: domain.privileged,
            pin,
            awake: false,
            yielded: false,
            simulates: false,
            waits: false,
            flag: None,
            lvt: 0,
            highest_lvt: 0,
            stalled_ns: 0,
            ran_until_ns: 0,
            account: Account::default(),
        }
    }

    pub(super) fn place(&self) -> Place {
        Place::of(self.pin)
    }

    /// Where it comes in the queue.
    pub(super) fn key(&self) -> Key {
        match self {
            own if own.account.due => (DUE, u64::from(own.pin.is_none())),
            own if own.privileged && !own.waits => (DOM0, 0),
            own if own.simulates && !own.waits => (FEDERATE, own.lvt),
            own => (OTHERS, own.ran_until_ns),
        }
    }

    /// The same while it runs: within a slice, no other of the last class goes before it.
    pub(super) fn standing(&self) -> Key {
        let (class, order) = self.key();
        (class, if class == OTHERS { 0 } else { order })
    }

    pub(super) fn federate(&self) -> bool {
        self.simulates && !self.privileged
    }

    pub(super) fn restore(&mut self) {
        self.waits = false;
        self.stalled_ns = 0;
    }
}
