//! Files of shared memory that killed processes have left: a group whose creator is killed before all have joined keeps its name.
//!
//! Whoever has joined holds a lock in the file as long as it lives, and its creator does from the moments after it was made. So a file
//! without a lock that is not new belongs to nobody. Invariant: only files of this user, of this format, without any lock are removed.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use super::region::{MAGIC, is_locked};

/// What the names of these files begin with.
const BEGINNING: &str = "paceline-";
/// A file that is younger may be about to be locked.
const YOUNG: Duration = Duration::from_secs(60);

/// Removes what nobody uses from the folder of shared memory. What cannot be removed stays: the next run tries again.
pub(crate) fn remove(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(BEGINNING) && is_abandoned(&entry.path()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_abandoned(path: &Path) -> bool {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let opened = OpenOptions::new().read(true).write(true).custom_flags(flags.bits() as i32).open(path);
    let Ok(file) = opened else { return false };
    let Ok(data) = file.metadata() else { return false };
    let is_ours = data.is_file() && data.uid() == rustix::process::geteuid().as_raw();
    let is_old = data.modified().is_ok_and(|then| then.elapsed().is_ok_and(|age| age >= YOUNG));
    let mut magic = [0; 8];
    // A creator that is killed early leaves zeros.
    let is_known = match file.read_exact_at(&mut magic, 0) {
        Ok(()) => [0, MAGIC].contains(&u64::from_le_bytes(magic)),
        Err(_) => data.len() == 0,
    };
    is_ours && is_old && is_known && !is_locked(&file)
}
