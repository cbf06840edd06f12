//! Where the page is pinned, so that programs find it: a file in the kernel's BPF file system, named by the
//! pacer's process.
//!
//! Invariant: a pin outlives its pacer only if that was killed; the next pacer to start removes it.

use std::path::{Path, PathBuf};
use std::{fs, process};

/// Where the BPF file system is mounted.
const FOLDER: &str = "/sys/fs/bpf";
/// The prefix of the names of pins; the pacer's process id follows.
const PREFIX: &str = "paceline-";

/// The place of a page, removed when dropped.
pub struct Pin(PathBuf);

impl Pin {
    /// A place for the page of this process, at which nothing is created yet. Pins that dead pacers have left
    /// are removed.
    pub fn new() -> Self {
        for entry in fs::read_dir(FOLDER).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let owner = name
                .to_str()
                .and_then(|name| name.strip_prefix(PREFIX))
                .and_then(|rest| rest.split('-').next());
            if owner.is_some_and(|pid| pid.parse::<u32>().is_ok() && !Path::new("/proc").join(pid).exists()) {
                // Another process may have been faster, or may own it: a pin that stays does no harm.
                let _ = fs::remove_file(entry.path());
            }
        }
        let free = (0..).map(|number| Path::new(FOLDER).join(format!("{PREFIX}{}-{number}", process::id())));
        Self(free.into_iter().find(|path| !path.exists()).expect("one of unbounded many names is free"))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        // Programs that have the page open keep it. If it was never pinned, there is nothing to remove.
        let _ = fs::remove_file(&self.0);
    }
}
