//! A slot that is kept for a thread which does not publish itself: one that runs a VCPU, or one of a program
//! that knows nothing of pages.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::bell::Bell;
use crate::error::Error;
use crate::layout::{SIMULATION, Slot, WAITING};
use crate::mapping::Mapping;
use crate::owner::Owner;
use crate::page::Page;
use crate::publisher;
use crate::relay::guest::GuestReport;
use crate::slot::Name;

/// Publishes for another thread, and frees its slot in the end.
#[derive(Debug)]
pub struct Deputy {
    mapping: Arc<Mapping>,
    index: u32,
    owner: Owner,
}

impl Deputy {
    /// Claims a slot for `owner`: LVT 0, not in simulation mode. A slot that the thread has already is taken
    /// over: another program kept it for the thread before, and was killed.
    ///
    /// # Errors
    ///
    /// [`Error::Full`]; what [`Page::slots`] says of a page that is none any more.
    pub fn claim(page: &Page, owner: Owner, name: Name) -> Result<Self, Error> {
        let mapping = page.mapping()?;
        let full = || Error::Full { path: page.path().to_owned(), slots: page.capacity() };
        let index = publisher::find(mapping.slots(), owner).ok_or_else(full)?;
        mapping.slots()[index as usize].settle(owner, name.bytes(), 0);
        Ok(Self { mapping, index, owner })
    }

    /// The thread that the slot is claimed for.
    pub const fn owner(&self) -> Owner {
        self.owner
    }

    /// Writes what the guest says; where it says nothing the thread is not to be run by its LVT. `false`, and
    /// nothing is written, where the slot is no longer the thread's.
    pub fn write(&self, report: Option<GuestReport>) -> bool {
        let slot = self.slot();
        if slot.owner() != Ok(self.owner) {
            return false;
        }
        let waiting = report.is_some_and(|report| report.waiting);
        let flags = if report.is_some() { SIMULATION } else { 0 } | if waiting { WAITING } else { 0 };
        slot.lvt_ns.store(report.map_or(0, |report| report.lvt_ns), Relaxed);
        slot.flags.store(flags, Relaxed);
        true
    }

    /// Lets whoever paces decide at once.
    pub fn ring(&self) {
        Bell::ring(&self.mapping);
    }

    fn slot(&self) -> &Slot {
        &self.mapping.slots()[self.index as usize]
    }
}

impl Drop for Deputy {
    fn drop(&mut self) {
        self.slot().release(self.owner.tid);
    }
}
