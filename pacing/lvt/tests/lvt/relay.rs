//! The relay copies what a guest publishes to the host's page under the ids of the VCPU threads, and nothing
//! else, whatever the guest writes. The virtual machine is this test program, with threads that are called as
//! QEMU calls VCPUs.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use paceline_lvt::layout::{DONE, LVT_MAX, SIMULATION, WAITING};
use paceline_lvt::{Error, GuestMemory, GuestReport, Owner, Page, Publisher, Relay, SlotView};
use proptest::prelude::*;
use tempfile::TempDir;

/// The machines of two tests would be one.
static TURN: Mutex<()> = Mutex::new(());

/// A thread that is called like a VCPU, until it is dropped.
struct Vcpu {
    owner: Owner,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Vcpu {
    fn start(name: &str) -> Self {
        let ((stop, stopped), (sender, owners)) = (mpsc::channel::<()>(), mpsc::channel());
        let run = move || {
            sender.send(Owner::of_this_thread().expect("there is a /proc")).expect("somebody listens");
            // Ends when the sender is dropped.
            let _ = stopped.recv();
        };
        let thread = thread::Builder::new().name(name.into()).spawn(run).expect("there can be threads");
        Self { owner: owners.recv().expect("it starts"), stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Vcpu {
    fn drop(&mut self) {
        self.stop = None;
        self.thread.take().expect("it ends once").join().expect("it does not panic");
        // The kernel forgets a thread a moment after it has been joined.
        let start = Instant::now();
        while !self.owner.is_gone() && start.elapsed() < Duration::from_secs(60) {
            thread::yield_now();
        }
    }
}

/// A machine with two VCPUs, a page of the host, and a guest's memory of 64 KiB that is all zero.
struct Machine {
    folder: TempDir,
    host: Page,
    vcpus: Vec<Vcpu>,
    _turn: MutexGuard<'static, ()>,
}

fn machine() -> Machine {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let host = Page::create(folder.path().join("host"), 4).unwrap();
    let vcpus = ["CPU 0/TCG", "CPU 1/TCG"].map(Vcpu::start).into();
    let machine = Machine { folder, host, vcpus, _turn: turn };
    machine.set_bytes(64 << 10);
    machine
}

impl Machine {
    fn memory(&self) -> PathBuf {
        self.folder.path().join("vm1.lvt")
    }

    fn file(&self) -> File {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600).open(self.memory()).unwrap()
    }

    fn set_bytes(&self, bytes: u64) {
        self.file().set_len(bytes).unwrap();
    }

    fn relay(&self) -> Result<Relay, Error> {
        let host = Page::open(self.host.path()).unwrap();
        Relay::start(host, self.memory(), std::process::id())
    }

    /// What the host's page shows, if its slots are those of all VCPUs, in any order (the kernel's thread
    /// numbers begin again from 300 when they reach their limit), and say the same.
    #[track_caller]
    fn shown(&self) -> (u64, u32) {
        let slots = self.host.slots().unwrap();
        let owners: HashSet<_> = slots.iter().map(SlotView::owner).collect();
        let vcpus: HashSet<_> = self.vcpus.iter().map(|vcpu| vcpu.owner).collect();
        assert_eq!((owners, slots.len()), (vcpus, self.vcpus.len()));
        assert!(slots.iter().all(|slot| (slot.lvt_ns, slot.flags) == (slots[0].lvt_ns, slots[0].flags)));
        (slots[0].lvt_ns, slots[0].flags)
    }
}

/// A publisher of the guest, in a slot of its own: a thread has one only, so each is of another thread, which
/// ends.
fn published(page: &Page, lvt_ns: u64, waiting: bool) {
    let publish = || {
        let mut publisher = Publisher::claim(page, "").expect("there is a free slot");
        publisher.publish(lvt_ns);
        publisher.set_waiting(waiting);
        if lvt_ns == DONE {
            publisher.publish_done();
        }
        std::mem::forget(publisher);
    };
    thread::scope(|scope| scope.spawn(publish).join().expect("claiming does not panic"));
}

#[test]
fn the_least_lvt_of_a_guest_stands_in_a_slot_of_every_vcpu_thread() {
    let machine = machine();
    let mut relay = machine.relay().unwrap();
    assert_eq!(machine.shown(), (0, 0), "nobody simulates yet");
    let names: Vec<_> = machine.host.slots().unwrap().iter().map(|slot| slot.name.to_string()).collect();
    assert_eq!(names, ["vm1 CPU 0/TCG", "vm1 CPU 1/TCG"]);
    let mut carried = || {
        relay.carry(Instant::now()).unwrap();
        machine.shown()
    };
    assert_eq!(carried(), (0, 0));
    let page = Page::open(machine.memory()).expect("it has been made a page");
    let mut publisher = Publisher::claim(&page, "rank 0").unwrap();
    for lvt_ns in [700, 800] {
        publisher.publish(lvt_ns);
        assert_eq!(carried(), (lvt_ns, SIMULATION));
    }
    publisher.set_waiting(true);
    assert_eq!(carried(), (800, SIMULATION | WAITING));
    published(&page, 900, false);
    assert_eq!(carried(), (800, SIMULATION), "not all wait");
    publisher.publish_done();
    assert_eq!(carried(), (900, SIMULATION), "who is done holds nobody back");
    drop(relay);
    assert_eq!(machine.host.slots().unwrap(), [], "all slots are free again");
}

#[test]
fn a_guest_that_is_done_or_does_not_simulate_says_so() {
    let machine = machine();
    let mut relay = machine.relay().unwrap();
    let page = Page::open(machine.memory()).unwrap();
    let mut publisher = Publisher::claim(&page, "rank 0").unwrap();
    publisher.publish(5);
    publisher.publish_done();
    relay.carry(Instant::now()).unwrap();
    assert_eq!(machine.shown(), (DONE, SIMULATION));
    publisher.set_simulation(false);
    relay.carry(Instant::now()).unwrap();
    assert_eq!(machine.shown(), (0, 0));
}

#[test]
fn who_was_killed_in_a_guest_holds_it_back_for_a_limited_time() {
    let machine = machine();
    let mut memory = GuestMemory::open(&machine.memory()).unwrap();
    let page = Page::open(machine.memory()).unwrap();
    published(&page, 5, false);
    let mut publisher = Publisher::claim(&page, "goes on").unwrap();
    let start = Instant::now();
    let mut at = |seconds, lvt_ns| {
        publisher.publish(lvt_ns);
        let report = memory.report(start + Duration::from_secs(seconds)).unwrap();
        report.expect("somebody simulates").lvt_ns
    };
    assert_eq!([at(0, 100), at(9, 200), at(10, 300)], [5, 5, 300]);
    assert_eq!([at(19, 300), at(20, 300), at(21, 400)], [300, 5, 400], "where all stand still, all count");
}

#[test]
fn slots_far_behind_are_found_when_a_relay_comes_later() {
    let machine = machine();
    GuestMemory::open(&machine.memory()).unwrap();
    let page = Page::open(machine.memory()).unwrap();
    let mut record = [0; 64];
    record[0..8].copy_from_slice(&77_u64.to_ne_bytes());
    record[8..12].copy_from_slice(&SIMULATION.to_ne_bytes());
    record[12] = 9;
    record[16] = 1;
    machine.file().write_all_at(&record, 64 * 200).unwrap();
    assert_eq!(page.slots().unwrap().len(), 1);
    let mut memory = GuestMemory::open(&machine.memory()).unwrap();
    let found = Some(GuestReport { lvt_ns: 77, waiting: false });
    for _ in 0..2 {
        assert_eq!(memory.report(Instant::now()).unwrap(), found);
    }
}

#[test]
fn a_slot_that_the_vcpu_thread_has_lost_is_left_alone() {
    let mut machine = machine();
    let mut relay = machine.relay().unwrap();
    machine.vcpus.clear();
    assert_eq!(machine.host.reclaim().unwrap(), 2);
    let mut publisher = Publisher::claim(&machine.host, "somebody else").unwrap();
    publisher.publish(3);
    relay.carry(Instant::now()).unwrap();
    assert_eq!(relay.vcpus(), 0);
    drop(relay);
    let slots = machine.host.slots().unwrap();
    assert_eq!((slots.len(), slots[0].lvt_ns, slots[0].flags), (1, 3, SIMULATION));
}

#[test]
fn vcpus_that_come_later_get_a_slot_and_a_killed_relay_is_replaced() {
    let mut machine = machine();
    let start = Instant::now();
    std::mem::forget(machine.relay().unwrap());
    let mut relay = machine.relay().unwrap();
    assert_eq!((relay.vcpus(), machine.shown()), (2, (0, 0)), "it takes over");
    machine.vcpus.push(Vcpu::start("CPU 2/TCG"));
    relay.carry(start + Duration::from_secs(5)).unwrap();
    assert_eq!((relay.vcpus(), machine.shown()), (3, (0, 0)));
}

#[test]
fn mistakes_are_reported() {
    let machine = machine();
    let printed = |result: Result<Relay, Error>| result.expect_err("it is a mistake").to_string();
    let mut other = Command::new("sleep").arg("60").spawn().unwrap();
    let no_machine = Relay::start(Page::open(machine.host.path()).unwrap(), machine.memory(), other.id());
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(printed(no_machine).contains("-name guest=NAME,debug-threads=on"));
    for bytes in [0, 64, 4_100, 8 << 20] {
        machine.set_bytes(bytes);
        assert!(printed(machine.relay()).contains(&format!("has {bytes} bytes")), "{bytes}");
    }
    machine.set_bytes(64 << 10);
    let mut relay = machine.relay().unwrap();
    machine.set_bytes(100);
    let error = relay.carry(Instant::now()).expect_err("it was truncated");
    assert!(error.to_string().contains("reading it"), "{error}");
}

proptest! {
    #[test]
    fn whatever_a_guest_writes_the_host_shows_its_vcpus_with_an_lvt_in_range(
        words in proptest::collection::vec(
            prop_oneof![any::<u64>(), 0..4_u64, Just(u64::MAX), LVT_MAX + 1..],
            1_024,
        ),
        written in prop_oneof![16..40_usize, Just(1_024)],
    ) {
        let machine = machine();
        let mut relay = machine.relay().unwrap();
        let bytes: Vec<u8> = words[..written].iter().flat_map(|word| word.to_ne_bytes()).collect();
        machine.file().write_all_at(&bytes, 0).unwrap();
        for round in 0..2 {
            relay.carry(Instant::now() + Duration::from_secs(round * 20)).unwrap();
            let (lvt_ns, flags) = machine.shown();
            prop_assert!(lvt_ns <= LVT_MAX || lvt_ns == DONE, "{}", lvt_ns);
            prop_assert!(flags & !(SIMULATION | WAITING) == 0 && (flags & SIMULATION != 0 || lvt_ns == 0));
        }
    }
}
