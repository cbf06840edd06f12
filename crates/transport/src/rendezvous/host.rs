//! Which processes may share memory: those that run under the same boot of the same kernel, see the same folder for it, and have
//! the same user. Whether sharing really works shows when they open it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The folder of shared memory.
const FOLDER: &str = "/dev/shm";

/// A place where processes can share memory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Host {
    boot: String,
    device: u64,
    user: u32,
}

impl Host {
    /// The place of this process, if it has shared memory.
    pub(super) fn here() -> Option<Self> {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned();
        let device = fs::metadata(FOLDER).ok()?.dev();
        Some(Self { boot, device, user: rustix::process::geteuid().as_raw() })
    }
}

/// The path of the shared memory with this name; `None` if the name is not a plain file name.
pub(super) fn path(name: &str) -> Option<PathBuf> {
    let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    plain.then(|| PathBuf::from(FOLDER).join(name))
}

#[cfg(test)]
mod test {
    use super::path;

    #[test]
    fn a_name_does_not_lead_elsewhere() {
        assert!(path("paceline-0f").is_some());
        for name in ["", "..", "../etc/passwd", "a/b", "a b", "a\0"] {
            assert_eq!(path(name), None, "{name}");
        }
    }
}
