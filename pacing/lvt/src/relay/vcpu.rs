//! Which threads of a process run VCPUs, by the names that QEMU gives them with `-name debug-threads=on`.

use procfs::process::Process;

use crate::owner::Owner;

/// The VCPU threads of process `pid` with their names, in the order of their ids; none where there is no such
/// process.
pub fn threads(pid: u32) -> Vec<(Owner, String)> {
    let process = i32::try_from(pid).ok().and_then(|pid| Process::new(pid).ok());
    let tasks = process.and_then(|process| process.tasks().ok()).into_iter().flatten();
    // A thread that cannot be read has ended.
    let stats = tasks.filter_map(|task| task.ok().and_then(|task| Some((task.tid, task.stat().ok()?))));
    let mut found: Vec<_> = stats
        .filter(|(_, stat)| is_vcpu(&stat.comm))
        .map(|(tid, stat)| (Owner { pid, tid: tid.cast_unsigned(), start_time: stat.starttime }, stat.comm))
        .collect();
    found.sort_by_key(|(owner, _)| owner.tid);
    found
}

/// Whether a thread of this name runs a VCPU: `CPU 3/KVM`, `CPU 3/TCG`, or `ALL CPUs/TCG` where one thread
/// emulates all.
fn is_vcpu(name: &str) -> bool {
    let of_one = |name: &str| {
        let (number, accelerator) = name.strip_prefix("CPU ")?.split_once('/')?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        Some(is_number && matches!(accelerator, "KVM" | "TCG"))
    };
    name == "ALL CPUs/TCG" || of_one(name).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::is_vcpu;

    #[test]
    fn vcpus_are_known_by_their_names() {
        for name in ["CPU 0/KVM", "CPU 12/TCG", "ALL CPUs/TCG"] {
            assert!(is_vcpu(name), "{name}");
        }
        for name in
            ["qemu-system-x86", "IO mon_iothread", "CPU /KVM", "CPU x/TCG", "CPU 0", "call_rcu", "worker"]
        {
            assert!(!is_vcpu(name), "{name}");
        }
    }
}
