//! A process that does not publish is published for: on behalf of the thread that computes most, until it
//! publishes by itself.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use paceline_lvt::layout::{SIMULATION, WAITING};
use paceline_lvt::{GuestReport, Page, ProcessRelay, Publisher};

/// Set for a process that is started by a test.
const STARTED: &str = "PACELINE_TEST_BUSY";
const BUSY: &str = "busy";

/// This program again: it has a thread that computes until its input ends, and publishes if it is to.
struct Busy(Child);

impl Busy {
    fn start(what: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this runs"));
        command.args(["--exact", "process::computes_where_a_test_has_started_it"]).env(STARTED, what);
        Self(command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it starts"))
    }

    fn thread_name(&self, tid: u32) -> String {
        let path = format!("/proc/{}/task/{tid}/comm", self.0.id());
        std::fs::read_to_string(path).expect("it runs").trim().to_owned()
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

#[test]
fn computes_where_a_test_has_started_it() {
    let Ok(what) = std::env::var(STARTED) else { return };
    let compute = move || {
        let page = Page::from_env().expect("a page");
        let _publisher =
            page.filter(|_| what == "publishes").map(|page| Publisher::claim(&page, "itself").expect("room"));
        loop {
            std::hint::spin_loop();
        }
    };
    std::thread::Builder::new().name(BUSY.to_owned()).spawn(compute).expect("there can be threads");
    let _ = std::io::stdin().read(&mut [0]);
    std::process::exit(0);
}

/// Waits until something is so, for a minute at most.
fn until(mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "it does not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_thread_that_computes_most_has_the_slot() {
    let folder = tempfile::tempdir().unwrap();
    let page = Page::create(folder.path().join("page"), 4).unwrap();
    let busy = Busy::start("computes");
    let mut relay = ProcessRelay::new(Page::open(page.path()).unwrap(), busy.0.id(), "kitchen");
    relay.publish(GuestReport { lvt_ns: 7, waiting: false });
    // Until the thread is there, another one computes most.
    until(|| {
        relay.look().expect("there is room");
        relay.thread().is_some_and(|owner| busy.thread_name(owner.tid) == BUSY)
    });
    let shown = || {
        page.slots()
            .unwrap()
            .iter()
            .map(|slot| (slot.name.to_string(), slot.lvt_ns, slot.flags))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        shown(),
        [("kitchen".to_owned(), 7, SIMULATION)],
        "one thread has one, with what was said before"
    );
    relay.publish(GuestReport { lvt_ns: 9, waiting: true });
    assert_eq!(shown(), [("kitchen".to_owned(), 9, SIMULATION | WAITING)]);
    relay.look().expect("there is room");
    assert_eq!(shown().len(), 1, "it keeps its slot");
    drop(busy);
    relay.look().expect("the page is there");
    assert_eq!((relay.thread(), shown()), (None, vec![]), "who has ended has none");
}

#[test]
fn a_process_that_publishes_itself_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page");
    let page = Page::create(&path, 4).unwrap();
    let mut command = Command::new(std::env::current_exe().expect("this runs"));
    command.args(["--exact", "process::computes_where_a_test_has_started_it"]).env(STARTED, "publishes");
    command.env(paceline_lvt::ENV, &path).stdin(Stdio::piped()).stdout(Stdio::null());
    let busy = Busy(command.spawn().expect("it starts"));
    until(|| page.slots().unwrap().len() == 1);
    let mut relay = ProcessRelay::new(Page::open(page.path()).unwrap(), busy.0.id(), "kitchen");
    relay.look().expect("there is room");
    relay.publish(GuestReport { lvt_ns: 9, waiting: true });
    let slots = page.slots().unwrap();
    assert_eq!((slots.len(), slots[0].name.to_string(), slots[0].lvt_ns), (1, "itself".to_owned(), 0));
    assert_eq!(relay.thread(), None);
}
