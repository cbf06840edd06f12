//! Boots that are kept: a packed image is booted once for each kind of machine, and further runs start from
//! there.
//!
//! They are in the folder `boots` of the emulator, each under a name that follows from all that a boot
//! depends on. What cannot be kept there is kept in the folder of the run.
//!
//! Invariant: a boot that is kept is whole, since its folder takes its name last; which one a run finds is
//! the same as the one that it would have made.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::guest::{COMMAND_LINE, Emulator};

/// How many boots are kept, of 100 MB each: those used last.
const MOST: usize = 8;
/// How long ago a boot was used at least that is removed: guests of this run or another may be about to start
/// from a later one.
const RECENT: Duration = Duration::from_secs(600);

/// The state of a guest that has booted, for others to start from.
#[derive(Clone, Debug)]
pub(super) struct Boot {
    /// The file of its state, beside which is its memory.
    pub(super) template: PathBuf,
    /// The clock where it was saved, in nanoseconds.
    pub(super) clock_ns: u64,
}

/// Where a boot is kept, or will be.
pub(super) struct Place {
    kept: PathBuf,
    /// Where it is made.
    new: PathBuf,
    recent: Duration,
}

impl Place {
    /// That of the boot of `image` by a machine of this kind. `run` is the folder of the run.
    pub(super) fn new(emulator: &Emulator, image: &[u8], kind: &impl std::hash::Hash, run: &Path) -> Self {
        let mut hasher = DefaultHasher::new();
        (image, COMMAND_LINE, kind).hash(&mut hasher);
        for file in emulator.parts() {
            let metadata = file.metadata().ok();
            let changed = metadata.as_ref().and_then(|metadata| metadata.modified().ok());
            (file, metadata.map(|metadata| metadata.len()), changed).hash(&mut hasher);
        }
        let name = format!("{:016x}", hasher.finish());
        let boots = emulator.boots();
        // Other runs, of this process too, may be about to make the same boot.
        let prefix = format!("{name}.");
        let new = || tempfile::Builder::new().prefix(&prefix).tempdir_in(&boots);
        if let Ok(new) = fs::create_dir_all(&boots).and_then(|()| new()) {
            return Self { kept: boots.join(name), new: new.keep(), recent: RECENT };
        }
        Self { kept: run.join(&name), new: run.join(format!("{name}.new")), recent: RECENT }
    }

    /// The boot, if there is one; else `make` makes one, of which it gives the clock, with its template in
    /// this file.
    pub(super) fn boot<E: From<io::Error>>(
        self,
        make: impl FnOnce(&Path) -> Result<u64, E>,
    ) -> Result<Boot, E> {
        let found = match self.find() {
            Some(boot) => Ok(boot),
            None => self.make(make),
        };
        let _ = fs::remove_dir_all(&self.new);
        found
    }

    fn find(&self) -> Option<Boot> {
        let clock_ns = fs::read_to_string(self.kept.join("clock")).ok()?.trim().parse().ok()?;
        // Noted as used: its folder changes.
        let _ = fs::write(self.kept.join("used"), "");
        let _ = fs::remove_file(self.kept.join("used"));
        Some(Boot { template: self.kept.join("template"), clock_ns })
    }

    fn make<E: From<io::Error>>(&self, make: impl FnOnce(&Path) -> Result<u64, E>) -> Result<Boot, E> {
        fs::create_dir_all(&self.new)?;
        let clock_ns = make(&self.new.join("template"))?;
        fs::write(self.new.join("clock"), clock_ns.to_string())?;
        // Another run may have made the same meanwhile: then this name is taken by an equal one.
        if let Err(error) = fs::rename(&self.new, &self.kept) {
            return self.find().ok_or_else(|| error.into());
        }
        if let Some(boots) = self.kept.parent() {
            forget_old(boots, self.recent);
        }
        Ok(Boot { template: self.kept.join("template"), clock_ns })
    }
}

/// Removes all but the boots that were used last or within `recent`, and what killed runs have left there.
/// What cannot be removed stays.
fn forget_old(boots: &Path, recent: Duration) {
    let is_recent = |used: &Option<SystemTime>| {
        // One from the future is recent, too.
        used.is_some_and(|used| used.elapsed().map_or(true, |ago| ago < recent))
    };
    let entries = fs::read_dir(boots).into_iter().flatten().flatten();
    let used = |entry: &fs::DirEntry| entry.metadata().and_then(|metadata| metadata.modified()).ok();
    let mut all: Vec<(Option<SystemTime>, PathBuf)> =
        entries.map(|entry| (used(&entry), entry.path())).collect();
    all.sort();
    let old = all.len().saturating_sub(MOST);
    for (_, folder) in all[..old].iter().filter(|(used, _)| !is_recent(used)) {
        let _ = fs::remove_dir_all(folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(folder: &Path, name: &str, recent: Duration) -> Place {
        Place { kept: folder.join(name), new: folder.join(format!("{name}.new")), recent }
    }

    #[test]
    fn a_boot_is_made_once_and_those_used_last_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let mut made = 0;
        for round in 0..2 * MOST {
            // The first one is used each time, the others once.
            for name in ["always".to_owned(), format!("once-{round}")] {
                let boot = place(folder.path(), &name, Duration::ZERO).boot(|template| {
                    made += 1;
                    fs::write(template, &name)?;
                    Ok::<u64, io::Error>(7)
                });
                let boot = boot.unwrap();
                assert_eq!((fs::read_to_string(boot.template).unwrap(), boot.clock_ns), (name, 7));
                // Times of files have a resolution.
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        }
        assert_eq!(made, 1 + 2 * MOST);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), MOST);
    }

    /// A run with more kinds of machines than boots are kept needs all of them until its guests have started.
    #[test]
    fn boots_of_this_run_are_kept_however_many() {
        let folder = tempfile::tempdir().unwrap();
        for kind in 0..3 * MOST {
            let boot = place(folder.path(), &kind.to_string(), RECENT).boot(|template| {
                fs::write(template, "")?;
                Ok::<u64, io::Error>(7)
            });
            boot.unwrap();
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3 * MOST);
    }

    #[test]
    fn a_boot_that_fails_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let failed = place(folder.path(), "a", RECENT).boot(|_| Err(io::Error::other("no")));
        assert_eq!(failed.unwrap_err().to_string(), "no");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
