//! Which processes may share memory: those that run under the same boot of the same kernel, number processes
//! alike, and have the same user. Whether sharing really works shows when they open it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A place where processes can share memory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Host {
    boot: String,
    /// The namespace of process numbers (pid_namespaces(7)): the memory is found by the number of the
    /// process that has made it.
    numbers: u64,
    user: u32,
}

impl Host {
    pub(super) fn here() -> Option<Self> {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned();
        let numbers = fs::metadata("/proc/self/ns/pid").ok()?.ino();
        Some(Self { boot, numbers, user: rustix::process::geteuid().as_raw() })
    }
}

/// Where shared memory is found, which has no name: the process that has made it, and its descriptor there.
/// Being made of numbers, it leads nowhere else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Location {
    pub(super) process: u32,
    pub(super) descriptor: u32,
}

impl Location {
    /// Where it can be opened.
    pub(super) fn path(self) -> PathBuf {
        format!("/proc/{}/fd/{}", self.process, self.descriptor).into()
    }
}
