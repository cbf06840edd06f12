//! How much memory there is: of the machine, and of the control groups that the process is in.
//!
//! Sources: proc(5), `MemTotal`; the kernel's documentation of control groups, version 2 (`memory.max`) and
//! version 1 (`memory.limit_in_bytes`). Invariant: a limit that cannot be read does not count.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::text;

/// The memory that this process can have at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The limit in bytes.
    pub bytes: u64,
    /// Who sets it: nobody besides the machine, or the file of a control group.
    pub by: Option<PathBuf>,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = text::bytes(self.bytes);
        match &self.by {
            None => write!(f, "this machine has {bytes}"),
            Some(file) => write!(f, "{} allows {bytes}", file.display()),
        }
    }
}

/// The least of all limits; none where the system says nothing (elsewhere than on Linux).
pub fn of_machine() -> Option<Limit> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    let machine = machine.map(|bytes| Limit { bytes, by: None });
    let of_group = files(&groups, Path::new("/sys/fs/cgroup")).into_iter().filter_map(|file| {
        let bytes = fs::read_to_string(&file).ok()?.trim().parse().ok()?;
        Some(Limit { bytes, by: Some(file) })
    });
    of_group.chain(machine).min_by_key(|limit| limit.bytes)
}

/// The memory of the machine, out of /proc/meminfo.
fn total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The files that may limit the groups that /proc/self/cgroup names, and the groups around them.
fn files(groups: &str, root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let (root, name) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            named if named.split(',').any(|name| name == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let folder = root.join(path.trim_start_matches('/'));
        files.extend(
            folder.ancestors().take_while(|group| group.starts_with(&root)).map(|group| group.join(name)),
        );
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_sought_in_all_groups_around_the_process() {
        let root = Path::new("/g");
        let of =
            |groups| files(groups, root).iter().map(|file| file.display().to_string()).collect::<Vec<_>>();
        assert_eq!(of("0::/a/b\n"), ["/g/a/b/memory.max", "/g/a/memory.max", "/g/memory.max"]);
        assert_eq!(of("0::/\n"), ["/g/memory.max"]);
        let first = "4:cpu,cpuacct:/x\n9:memory:/x\n";
        assert_eq!(of(first), ["/g/memory/x/memory.limit_in_bytes", "/g/memory/memory.limit_in_bytes"]);
        assert!(of("").is_empty() && of("nonsense").is_empty());
    }

    #[test]
    fn the_memory_of_a_machine_is_read() {
        assert_eq!(total("MemTotal:       16384 kB\nMemFree: 1 kB\n"), Some(16 << 20));
        assert_eq!(total("MemFree: 1 kB\n"), None);
        assert_eq!(total("MemTotal: 18446744073709551615 kB\n"), None);
    }
}
