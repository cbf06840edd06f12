//! Relays: copy what a virtual machine's guest publishes to the host's page, under the ids of the threads
//! that run its virtual CPUs (VCPUs).
//!
//! A guest cannot be given the host's page: it holds the slots of all. It gets a memory of its own
//! ([`GuestMemory`]), with the layout of a page, and publishes on that as any program does. A [`Relay`] reads
//! it and keeps one slot of the host's page for each VCPU thread. All of them show the same: the host cannot
//! know which of the guest's threads a VCPU runs.
//!
//! A [`ProcessRelay`] does the same for a process of the host that does not publish, for whoever knows how
//! far it is.
//!
//! Invariants:
//! - Nothing of a guest's memory reaches the host's page but the least LVT, held to its range, and whether
//!   all wait.
//! - A slot is written to only while it is the VCPU thread's; when that thread has ended, another one may
//!   have claimed it.
//! - What a look costs is bound by the slots that the guest has used, at most those that its memory has room
//!   for.

mod deputy;
mod guest;
mod process;
mod vcpu;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::page::Page;
use crate::slot::Name;
use deputy::Deputy;
pub use guest::{GuestMemory, GuestReport};
pub use process::ProcessRelay;

/// The period of checks for VCPUs that were added or removed.
const VCPUS_EVERY: Duration = Duration::from_secs(1);

/// Carries a guest's LVT to the host's page; when it is dropped, its slots there are free again.
#[derive(Debug)]
pub struct Relay {
    host: Page,
    guest: GuestMemory,
    pid: u32,
    /// What the machine is called on the page.
    machine: String,
    deputies: Vec<Deputy>,
    looked: Instant,
}

impl Relay {
    /// A relay from the memory that is the file `guest` to `host`, for the VCPU threads of process `pid`. A
    /// file that is no page yet is made one. The machine is called as the file is.
    ///
    /// # Errors
    ///
    /// [`Error::NoVcpu`] where the process has no thread that is called as QEMU calls VCPUs; those of
    /// [`GuestMemory::open`]; [`Error::Full`] and [`Error::System`] for the host's page.
    pub fn start(host: Page, guest: impl AsRef<Path>, pid: u32) -> Result<Self, Error> {
        let guest = GuestMemory::open(guest.as_ref())?;
        let machine = guest.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let looked = Instant::now();
        let mut relay = Self { host, guest, pid, machine, deputies: Vec::new(), looked };
        relay.meet()?;
        if relay.deputies.is_empty() {
            return Err(Error::NoVcpu(pid));
        }
        Ok(relay)
    }

    /// Which file the guest publishes in.
    pub fn guest(&self) -> &PathBuf {
        self.guest.path()
    }

    /// How many VCPU threads have a slot.
    pub const fn vcpus(&self) -> usize {
        self.deputies.len()
    }

    /// Reads the guest's memory at the moment `now`, and writes its report into the slots of the VCPU
    /// threads.
    ///
    /// # Errors
    ///
    /// Those of [`GuestMemory::report`]; [`Error::Full`] where a VCPU was added and the host's page has no
    /// room for it.
    pub fn carry(&mut self, now: Instant) -> Result<Option<GuestReport>, Error> {
        if now.saturating_duration_since(self.looked) >= VCPUS_EVERY {
            self.looked = now;
            self.meet()?;
        }
        let report = self.guest.report(now)?;
        self.deputies.retain(|deputy| deputy.write(report));
        Ok(report)
    }

    /// Claims slots for the VCPU threads that have none.
    fn meet(&mut self) -> Result<(), Error> {
        for (owner, thread) in vcpu::threads(self.pid) {
            if !self.deputies.iter().any(|deputy| deputy.owner() == owner) {
                // The thread's name goes whole, the machine's as far as there is room.
                let room = crate::layout::NAME_BYTES.saturating_sub(thread.len() + 1);
                let name = Name::new(&format!("{} {thread}", shortened(&self.machine, room)));
                self.deputies.push(Deputy::claim(&self.host, owner, name)?);
            }
        }
        Ok(())
    }
}

/// As many of the first characters as `bytes` have room for.
fn shortened(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}
