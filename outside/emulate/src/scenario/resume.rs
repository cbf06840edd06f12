//! From the machines of a checkpoint to guests that stand where they were saved.
//!
//! Invariant: nothing starts before all that the checkpoint needs was looked at: states, logs, emulator,
//! image, and that the guests are the same.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use paceline_engine::CheckpointFile;
use tempfile::TempDir;

use super::start::{Ready, StartError, Started, Watched, image_in, settings_in_place};
use super::{Emulation, Place};
use crate::guest::{self, Guest};
use crate::run::placed::{Failures, Kept, Placed, Seen, SwitchedOff};
use crate::run::{Echoes, Machine, MachineState, ResumeError, SavedMachines, Stopped};

impl Emulation {
    /// The machines in a checkpoint of this emulation.
    ///
    /// # Errors
    ///
    /// They are of other guests, were saved by another emulator or with another image, or a file is missing
    /// or damaged.
    pub fn saved(&self, ready: &Ready, checkpoint: &CheckpointFile) -> Result<SavedMachines, ResumeError> {
        let saved = SavedMachines::open(checkpoint)?;
        let names = self.guests.guests.iter().zip(self.nodes());
        let names: Vec<_> = names.map(|(guest, node)| (node, &*guest.name)).collect();
        saved.of(&names)?;
        for (node, name) in names {
            let kept = Kept::read(&saved, node)?;
            if let Some(part) = kept.other_part(&ready.parts).map_err(ResumeError::Parts)? {
                let (path, guest) = (saved.path().to_owned(), name.to_owned());
                return Err(ResumeError::OtherParts { path, guest, part });
            }
        }
        Ok(saved)
    }

    /// Starts all guests from the states of a checkpoint ([`saved`](Self::saved)). `seed` is that of the run.
    ///
    /// # Errors
    ///
    /// [`StartError`].
    pub fn start_saved(
        &self,
        ready: &Ready,
        seed: u64,
        failures: &Failures,
        saved: SavedMachines,
    ) -> Result<Started, StartError> {
        let folder = tempfile::Builder::new().prefix("paceline-emulate-").tempdir()?;
        ready.write_image(folder.path())?;
        let mut guests = Vec::new();
        // All of them first: they load side by side.
        for number in 0..self.places.len() {
            guests.push(self.start_one(number, ready, seed, &saved, &folder)?);
        }
        let mut watched = Watched::of(folder);
        let mut machines: Vec<(u32, Box<dyn Machine>)> = Vec::new();
        for (guest, cards) in guests.into_iter().zip(&self.places) {
            let (machine, first, kept) = guest.stand()?;
            let seen = (watched.watch(machine.name(), cards), failures.clone());
            let macs = cards.iter().map(|place| place.mac).collect();
            let placed = Placed::resumed(machine, first, kept, macs, seen, ready.parts.clone())?;
            machines.push((cards[0].node, Box::new(placed)));
        }
        ready.remove_image(watched.folder());
        Ok(Started { machines, watched, saved: Some(saved) })
    }

    fn start_one(
        &self,
        number: usize,
        ready: &Ready,
        seed: u64,
        saved: &SavedMachines,
        folder: &TempDir,
    ) -> Result<Loading, StartError> {
        let (guest, places) = (&self.guests.guests[number], &self.places[number]);
        let node = places[0].node;
        let kept = Kept::read(saved, node)?;
        let clock = kept.clock();
        let hosts = self.hosts();
        let mut settings = settings_in_place((guest, places), ready, folder.path(), (seed, &hosts), clock);
        saved.write_logs(node, &settings.logs())?;
        if saved.is_off(node) {
            let machine = SwitchedOff::new(&guest.name, kept.machine_ns(), settings.logs())?;
            return Ok(Loading::Off(machine, kept));
        }
        (settings.load, settings.appends) = (saved.state(node), true);
        Ok(Loading::Guest(Box::new(Guest::start(&settings, &ready.emulator)?), kept))
    }
}

/// A machine that comes up.
enum Loading {
    Guest(Box<Guest>, Kept),
    Off(SwitchedOff, Kept),
}

impl Loading {
    /// Waits until it stands.
    fn stand(self) -> Result<(Box<dyn Machine>, Stopped, Kept), StartError> {
        let (mut guest, kept) = match self {
            Self::Guest(guest, kept) => (guest, kept),
            Self::Off(machine, kept) => {
                let first = machine.stopped();
                return Ok((Box::new(machine), first, kept));
            }
        };
        let guest::Stopped { time_ns, next_ns, .. } = guest.wait()?;
        let kept_ns = kept.machine_ns();
        if time_ns != kept_ns {
            let guest = guest.name().to_owned();
            return Err(ResumeError::OtherTime { guest, found_ns: time_ns, kept_ns }.into());
        }
        let first = Stopped { time_ns, frames: Vec::new(), next_ns, state: MachineState::Standing };
        Ok((guest, first, kept))
    }
}

impl Ready {
    /// Writes the image where settings name it.
    pub(super) fn write_image(&self, folder: &Path) -> io::Result<()> {
        self.image.as_ref().map_or(Ok(()), |image| fs::write(image_in(folder), image))
    }

    /// Removes it, once all guests have read it.
    pub(super) fn remove_image(&self, folder: &Path) {
        // There is none where every guest has its own; what stays goes with the folder.
        let _ = fs::remove_file(image_in(folder));
    }
}

impl Watched {
    /// No guest yet, whose files will be in a folder.
    pub(super) fn of(folder: TempDir) -> Self {
        Self { guests: Vec::new(), folder: Arc::new(folder) }
    }

    /// Watches one more guest.
    pub(super) fn watch(&mut self, guest: &str, cards: &[Place]) -> Arc<Seen> {
        let addresses = cards.iter().map(|place| place.address.ip).collect();
        let seen = Arc::new(Seen { echoes: Mutex::new(Echoes::of(addresses)), ..Seen::default() });
        self.guests.push((guest.to_owned(), seen.clone()));
        seen
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }
}
