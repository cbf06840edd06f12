//! The machine that is booted: two PCPUs under QEMU's software emulation, in its deterministic mode.
//!
//! One host thread, time counted in instructions, a clock that starts on a fixed day and a fixed seed, so
//! that the machine's behaviour does not depend on the host's speed. Some features of the emulated processor
//! are hidden: under emulation SMAP breaks returns to PV guests, MONITOR breaks the idle loop, and RDRAND
//! would bring in real randomness.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::boot::Boot;
use crate::error::LabError;
use crate::process::{Ended, Stop, command, follow};
use crate::systems::library_path;

const PROCESSOR: &str = "EPYC,-smap,-smep,-monitor,-rdseed,-rdrand,-sha-ni,-fxsr-opt,-misalignsse,-3dnowprefetch,-osvw,\
                         -topoext,-nrip-save,-xsavec";

// If Xen saves floating-point registers lazily, under this emulator a process sometimes gets those of
// another, under every scheduler: of 900 short programs in six guests one to four ended with a fault, none
// with `eager-fpu`.
const XEN_OPTIONS: &str = "console=com1 com1=115200,8n1 dom0_mem=1280M,max:1280M dom0_max_vcpus=1 noreboot cpuidle=0 \
                           smap=0 smep=0 spec-ctrl=eager-fpu";

const KERNEL_OPTIONS: &str = "console=hvc0 quiet mitigations=off";

// A clock that only ticks. The emulated processors take turns that end with the next timer, each with its
// share of the time until then. Without this clock a processor would stop in the middle of its work until the
// next timer is due, while the other one continues.
const TURNS: [&str; 4] =
    ["-netdev", "hubport,id=turns,hubid=0", "-object", "filter-buffer,id=clock,netdev=turns,interval=50"];

const PCPUS: u32 = 2;

/// The machine's memory besides that of its guests, in MiB: dom0, Xen, and a reserve.
const MEMORY_MIB: u32 = 1792;

/// The names of the files that are booted. Xen is passed the names of its modules, so that their length
/// affects addresses in memory.
pub(crate) const HYPERVISOR: &str = "xen";
pub(crate) const KERNEL: &str = "vmlinux";
pub(crate) const DOM0: &str = "dom0.cpio";

/// Boots what is in `folder` with the emulator of the packages in `root`, and passes on each line of the
/// serial console until the machine is off.
pub(crate) fn emulate(
    root: &Path,
    folder: &Path,
    boot: &Boot,
    stop: &Stop,
    line: impl FnMut(&str),
) -> Result<Ended, LabError> {
    let mut machine = machine(root, boot);
    machine.current_dir(folder);
    follow(machine, Some(Duration::from_secs(boot.limit_s.into())), stop, line)
}

fn machine(root: &Path, boot: &Boot) -> Command {
    let guests: u32 = boot.domains.iter().map(|domain| domain.memory_mib).sum();
    let memory_mib = (MEMORY_MIB + guests).next_multiple_of(256);
    let options = [XEN_OPTIONS, &format!("sched={}", boot.scheduler), &boot.options.join(" ")].join(" ");
    let mut machine = command(root.join("usr/bin/qemu-system-x86_64"));
    machine.env("LD_LIBRARY_PATH", library_path(root));
    for folder in ["usr/share/qemu", "usr/share/seabios", "usr/lib/ipxe/qemu"] {
        machine.arg("-L").arg(root.join(folder));
    }
    machine
        .args(["-accel", "tcg,thread=single", "-icount", "shift=1,sleep=off"])
        .args(["-rtc", "base=2026-01-01,clock=vm", "-seed", "42", "-cpu", PROCESSOR])
        .args(["-smp", &PCPUS.to_string(), "-m", &memory_mib.to_string()])
        .args(TURNS)
        .args(["-nodefaults", "-no-user-config", "-display", "none", "-serial", "stdio", "-no-reboot"])
        .args(["-kernel", HYPERVISOR, "-append", options.trim_end()])
        .args(["-initrd", &format!("{KERNEL} {KERNEL_OPTIONS},{DOM0}")]);
    machine
}
