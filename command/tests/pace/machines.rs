//! A virtual machine that is paced: its guest publishes in shared memory, `paceline lvt relay` carries that
//! to the page, and the governor changes the classes of the threads that run its virtual CPUs.
//!
//! QEMU emulates the machine, so no hardware virtualization is needed. It, the guest's kernel and a busybox
//! come from the cache that `scripts/kernel-lab` fills; where that is empty, or a static program cannot be
//! made, the test is skipped.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::Builder;

use paceline_lvt::layout::SIMULATION;
use paceline_lvt::{ENV, Page, Publisher, SlotView};
use procfs::process::Process;

use crate::lab::{IDLE, NORMAL, PATIENCE, Running, classes, pace_worker, send, turn_in_folder, wait_until};

/// SCHED_RR, as the kernel counts classes.
const ROUND_ROBIN: u32 = 2;

/// The least LVT that says that all of the guest's processes have begun: `FIRST_NS` of `lab/linux/guest.c`.
const ALL_BEGUN_NS: u64 = 1_000;

/// More than the machine has cores, so that some have to wait.
fn vcpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from) + 1
}

/// Where `scripts/kernel-lab` keeps the emulator and the kernel; none where it has not been run.
fn lab_root() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
    let cache = cache.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cache")))?;
    let root = cache.join("paceline/kernel-lab/root");
    root.join("complete").exists().then_some(root)
}

/// The guest's first files in `folder`: one program. `false` where it cannot be made.
fn make_initramfs(root: &Path, folder: &Path) -> bool {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let files = folder.join("guest");
    for name in ["proc", "sys", "dev"] {
        fs::create_dir_all(files.join(name)).expect("there can be folders");
    }
    let made = Command::new("cc")
        .args(["-O2", "-static", "-Wall", "-Wextra", "-Werror", "-I"])
        .args([project.join("pacing/lvt/include"), project.join("lab/linux/guest.c")])
        .arg("-o")
        .arg(files.join("init"))
        .output();
    if !made.is_ok_and(|made| made.status.success()) {
        return false;
    }
    let pack = "find . | \"$0\" cpio -o -H newc 2>/dev/null >../initramfs";
    let mut shell = Command::new("sh");
    let packed = shell.args(["-c", pack]).arg(root.join("bin/busybox")).current_dir(&files);
    packed.status().is_ok_and(|status| status.success())
}

/// The emulator, about to start a machine whose shared memory and console are files in `folder`.
fn qemu(root: &Path, folder: &Path) -> Command {
    let kernels = fs::read_dir(root.join("boot")).expect("there is a kernel").flatten();
    let kernel = kernels.map(|entry| entry.path()).next().expect("there is a kernel");
    let console = File::create(folder.join("console")).expect("files can be written");
    let memory = folder.join("vm1.lvt");
    let mut qemu = Command::new(root.join("usr/bin/qemu-system-x86_64"));
    let library = |place: &str| root.join(place).display().to_string();
    let libraries = [library("usr/lib/x86_64-linux-gnu"), library("lib/x86_64-linux-gnu")].join(":");
    qemu.env("LD_LIBRARY_PATH", libraries).env_remove(ENV);
    for folder in ["usr/share/qemu", "usr/share/seabios", "usr/lib/ipxe/qemu"] {
        qemu.arg("-L").arg(root.join(folder));
    }
    qemu.args([
        "-accel",
        "tcg,thread=multi",
        "-machine",
        "q35",
        "-m",
        "256",
        "-nodefaults",
        "-no-user-config",
    ]);
    qemu.args(["-display", "none", "-serial", "stdio", "-no-reboot", "-smp", &vcpus().to_string()]);
    qemu.args(["-name", "guest=vm1,debug-threads=on", "-device", "ivshmem-plain,memdev=lvt", "-object"]);
    qemu.arg(format!("memory-backend-file,id=lvt,share=on,mem-path={},size=64K", memory.display()));
    qemu.arg("-kernel").arg(kernel).arg("-initrd").arg(folder.join("initramfs"));
    qemu.args(["-append", "console=ttyS0 quiet panic=-1 rdinit=/init"]);
    qemu.stdin(Stdio::null()).stdout(console);
    qemu
}

/// A process that is killed, if it is still there, when the test is over.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The scheduling classes of the machine's threads: those of its VCPUs, and all others.
fn classes_of(machine: i32, slots: &[SlotView]) -> (BTreeSet<u32>, BTreeSet<u32>) {
    let (mut paced, mut others) = (BTreeSet::new(), BTreeSet::new());
    let tasks = Process::new(machine).and_then(|process| process.tasks()).into_iter().flatten().flatten();
    for stat in tasks.filter_map(|task| task.stat().ok()) {
        let is_vcpu = slots.iter().any(|slot| slot.tid == stat.pid.cast_unsigned());
        let classes = if is_vcpu { &mut paced } else { &mut others };
        classes.extend(stat.policy);
    }
    (paced, others)
}

/// The program that is paced: starts the machine and the relay, and looks at what becomes of them.
pub fn host(root: &str, folder: &Path) {
    let page = Page::from_env().expect("the page is in order").expect("there is a page");
    let mut machine = Killed(qemu(Path::new(root), folder).spawn().expect("the emulator starts"));
    let machine_pid = machine.0.id();
    let mut relay = Command::new(env!("CARGO_BIN_EXE_paceline"));
    relay.args(["lvt", "relay", "--qemu", &machine_pid.to_string(), "--guest"]).arg(folder.join("vm1.lvt"));
    let mut relay = Killed(relay.spawn().expect("the program starts"));
    let relay_pid = relay.0.id().cast_signed();
    let slots = || page.slots().expect("the page is in order");
    let mut is_there = || {
        let ended = relay.0.try_wait().expect("children can be waited for");
        let console = || fs::read_to_string(folder.join("console")).unwrap_or_default();
        assert!(ended.is_none(), "the relay has ended: {ended:?}; the machine said: {}", console());
    };

    wait_until("all VCPUs have a slot", || {
        is_there();
        slots().len() == vcpus()
    });
    let threads: BTreeSet<u32> = slots().iter().map(|slot| slot.tid).collect();
    for slot in slots() {
        assert_eq!(slot.pid, machine_pid);
        let task =
            Process::new(slot.pid.cast_signed()).and_then(|it| it.task_from_tid(slot.tid.cast_signed()));
        let stat = task.and_then(|task| task.stat()).expect("the thread is there");
        assert!(stat.comm.starts_with("CPU ") && stat.comm.ends_with("/TCG"), "{}", stat.comm);
        assert_eq!((stat.starttime, slot.name.to_string()), (slot.start_time, format!("vm1 {}", stat.comm)));
    }
    assert_eq!(threads.len(), vcpus(), "each has one of its own");
    let relays = classes(&[relay_pid]);
    assert!(relays.contains(&ROUND_ROBIN), "the relay looks when it wants to: {relays:?}");

    wait_until("the guest simulates", || {
        is_there();
        slots().iter().all(|slot| slot.flags & SIMULATION != 0 && slot.lvt_ns >= ALL_BEGUN_NS)
    });
    let (mut least_ns, mut rises, mut held_back) = (0, 0, false);
    wait_until("its LVT rises, and a VCPU has to wait", || {
        is_there();
        let slots = slots();
        let (paced, others) = classes_of(machine_pid.cast_signed(), &slots);
        assert!(others.iter().all(|class| *class == NORMAL), "other threads of the machine: {others:?}");
        held_back |= paced.contains(&IDLE);
        let now_ns = slots.iter().map(|slot| slot.lvt_ns).min().expect("there are slots");
        assert!(now_ns >= least_ns, "the guest never goes back");
        rises += usize::from(now_ns > least_ns);
        least_ns = now_ns;
        rises >= 10 && held_back
    });

    machine.0.kill().expect("it is still there");
    let mut ended = None;
    wait_until("the relay has ended", || {
        ended = relay.0.try_wait().expect("children can be waited for");
        ended.is_some()
    });
    assert_eq!(ended.expect("it has ended").code(), Some(0));
    assert_eq!(slots(), [], "all slots are free again");
}

#[test]
fn a_guest_paces_the_threads_of_its_virtual_cpus() {
    let Some((_turn, folder)) = turn_in_folder() else { return };
    let Some(root) = lab_root() else {
        eprintln!("skipped: there is no emulator and kernel; scripts/kernel-lab gets them");
        return;
    };
    if !make_initramfs(&root, folder.path()) {
        eprintln!("skipped: cc cannot make a static program for the guest, or its files cannot be packed");
        return;
    }
    let root = root.to_str().expect("its path is UTF-8");
    let attempt = || {
        let mut command = pace_worker(&["--policy", "governor"], "host", root, folder.path());
        let said = folder.path().join("said");
        command.stdout(File::create(&said).expect("files can be written"));
        // The program waits four times at most, and says for what in vain.
        let (status, printed) = Running::start(command).ended_within(5 * PATIENCE);
        (status.code(), printed + &fs::read_to_string(said).expect("it is UTF-8"))
    };
    // With many virtual CPUs the emulator now and then ends with an assertion of its own.
    let by_itself = |(_, said): &(_, String)| said.contains("qemu-system-") && said.contains(": Assertion `");
    let (code, said) = Some(attempt()).filter(|outcome| !by_itself(outcome)).unwrap_or_else(attempt);
    assert_eq!(code, Some(0), "{said}");
}

/// A page and a guest's memory in `folder`.
fn pages(folder: &Path) -> (Page, PathBuf) {
    let page = Page::create(folder.join("page"), 4).expect("there is room");
    let memory = folder.join("vm1.lvt");
    let options = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&memory);
    options.and_then(|file| file.set_len(64 << 10)).expect("files can be written");
    (page, memory)
}

#[test]
fn a_relay_that_is_asked_to_end_frees_its_slots() {
    let folder = tempfile::tempdir().expect("there can be folders");
    let (page, memory) = pages(folder.path());
    let (stop, stopped) = mpsc::channel::<()>();
    let vcpu = Builder::new().name("CPU 0/KVM".into());
    let vcpu = vcpu.spawn(move || stopped.recv().is_err()).expect("there can be threads");
    let mut relay = Command::new(env!("CARGO_BIN_EXE_paceline"));
    relay.args(["lvt", "relay", "--qemu", &std::process::id().to_string(), "--guest"]).arg(&memory);
    let mut relay = Killed(relay.env(ENV, page.path()).spawn().expect("the program starts"));
    let slots = || page.slots().expect("the page is in order");
    wait_until("the VCPU has a slot", || slots().len() == 1);
    assert_eq!(slots()[0].flags, 0, "nobody simulates");
    let guest = Page::open(&memory).expect("it has been made a page");
    let mut publisher = Publisher::claim(&guest, "rank 0").expect("there is a free slot");
    for lvt_ns in [5, 6] {
        publisher.publish(lvt_ns);
        wait_until("the LVT has come to the page", || (slots()[0].lvt_ns, slots()[0].flags) == (lvt_ns, 1));
    }
    send(relay.0.id().cast_signed(), "TERM");
    wait_until("the slot is free", || slots().is_empty());
    assert_eq!(relay.0.wait().expect("children can be waited for").code(), Some(0));
    drop(stop);
    assert!(vcpu.join().expect("it does not panic"));
}

#[test]
fn mistakes_of_a_relay_are_reported_in_one_line_with_status_2() {
    let folder = tempfile::tempdir().expect("there can be folders");
    let (page, memory) = pages(folder.path());
    let page = page.path().to_str().expect("its path is UTF-8");
    // No virtual machine.
    let other = Killed(Command::new("sleep").arg("60").spawn().expect("there is `sleep`"));
    let other_pid = &other.0.id().to_string()[..];
    for (page, qemu, interval, printed) in [
        ("", other_pid, "1ms", "there is no page to carry to"),
        ("/dev/null", other_pid, "1ms", "neither a regular file nor a pinned BPF map"),
        (page, "2147483647", "1ms", "cannot watch process 2147483647"),
        (page, other_pid, "2s", "allowed: 100us to 1s"),
        (page, other_pid, "1ms", "has no thread of a virtual CPU"),
        (page, "0", "1ms", "0 is not in 1..=2147483647"),
    ] {
        let mut relay = Command::new(env!("CARGO_BIN_EXE_paceline"));
        relay.args(["lvt", "relay", "--qemu", qemu, "--interval", interval, "--guest"]).arg(&memory);
        let output = relay.env(ENV, page).output().expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr);
        let lines = if qemu == "0" { said.lines().count() } else { 1 };
        assert!(said.contains(printed) && said.lines().count() == lines, "{said}");
        assert_eq!(output.status.code(), Some(2), "{said}");
    }
}
