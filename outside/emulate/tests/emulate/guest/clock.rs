//! The guest's clock is the granted time, and the same grants give the same run.

use super::support::{MS, Run, SECOND, console, emulator, folder, loaded, run_to_end, settings};
use paceline_emulate::guest::{Guest, GuestState};
use std::fs;

/// Hundredths of seconds since the boot, as the guest's own clock has them: the lines of /proc/uptime on its
/// console.
fn uptimes(console: &str) -> Vec<u64> {
    let digits = |line: &str| Some(line.strip_prefix("at ")?.split(' ').next()?.replace('.', ""));
    console.lines().filter_map(|line| digits(line)?.parse().ok()).collect()
}

#[test]
fn a_guest_boots_and_its_clock_is_the_granted_time() {
    let Some(emulator) = emulator() else { return };
    let script = "echo at $(cat /proc/uptime); sleep 3; echo at $(cat /proc/uptime); sleep 1";
    let settings = settings(&emulator, &folder("boots"), script);
    let mut guest = Guest::start(&settings, &emulator).unwrap();
    assert_eq!(guest.wait().unwrap().time_ns, 0);
    let mut seen = Vec::new();
    let mut until = 0;
    let stopped = loop {
        until += 50 * MS;
        guest.grant(until, &[]).unwrap();
        let stopped = guest.wait().unwrap();
        if stopped.state != GuestState::Standing {
            break stopped;
        }
        assert_eq!(stopped.time_ns, until, "one instruction a nanosecond: the clock stops exactly");
        assert!(until < 30 * SECOND, "console:\n{}", console(&settings));
        if uptimes(&console(&settings)).len() > seen.len() {
            seen.push(until);
        }
    };
    assert_eq!(stopped.state, GuestState::ShutDown);
    assert!(stopped.time_ns <= until && stopped.time_ns > until - 50 * MS, "ended at {}", stopped.time_ns);
    let shown = uptimes(&console(&settings));
    assert_eq!((shown.len(), seen.len()), (2, 2));
    // The guest saw as much time pass between its lines as was granted between them, to a grant's length at
    // each.
    let (passed, granted) = (shown[1] - shown[0], (seen[1] - seen[0]) / (10 * MS));
    assert!(passed.abs_diff(granted) <= 10, "the guest: {shown:?}; granted: {seen:?}");
    assert!(passed >= 300, "{shown:?}");
}

#[test]
fn an_idle_guest_costs_next_to_nothing() {
    let Some(emulator) = emulator() else { return };
    let settings = loaded(&emulator, &folder("idle"), "sleep 1000");
    let mut guest = Guest::start(&settings, &emulator).unwrap();
    let start = guest.wait().unwrap().time_ns;
    // What a guest does once it is loaded, a module and a script, is work: it takes most of a second of CPU
    // beside a load that empties its caches.
    const SETTLED: u64 = 2;
    guest.grant(start + SETTLED * SECOND, &[]).unwrap();
    guest.wait().unwrap();
    let before = guest.cpu_time();
    for second in 1..=60 {
        guest.grant(start + (SETTLED + second) * SECOND, &[]).unwrap();
        guest.wait().unwrap();
    }
    let cost = guest.cpu_time() - before;
    let status = fs::read_to_string(format!("/proc/{}/status", guest.process_id())).unwrap();
    let memory = status.lines().filter(|line| line.starts_with("Rss")).collect::<Vec<_>>().join(", ");
    eprintln!("memory of a guest from a template: {memory}");
    eprintln!(
        "60 idle virtual seconds: {} ms of CPU; {} ms until then",
        cost.as_millis(),
        before.as_millis()
    );
    assert!(cost.as_millis() <= 1000, "{cost:?}");
}

#[test]
fn two_loads_and_other_grants_give_the_same_run() {
    let Some(emulator) = emulator() else { return };
    let script = "ip link set eth0 up; ip addr add 10.0.0.1/24 dev eth0; ping -c 3 10.0.0.2; \
                  head -c 8 /dev/urandom | hexdump; sh -c 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done'; \
                  echo at $(cat /proc/uptime)";
    let mut runs = Vec::new();
    for (name, window) in [("first", 10 * MS), ("again", 10 * MS), ("short", 300_000)] {
        let settings = loaded(&emulator, &folder(&format!("same-{name}")), script);
        let run = run_to_end(&settings, &emulator, window);
        runs.push((name, run, console(&settings)));
    }
    let (_, (frames, ..), shown) = &runs[0];
    assert!(frames.len() > 3 && uptimes(shown).len() == 1, "{} frames, console:\n{shown}", frames.len());
    for (name, run, console) in &runs[1..] {
        assert_eq!(console, shown, "{name}");
        assert_eq!(run, &runs[0].1, "{name}");
    }
}

/// The kernel draws its random numbers from the times of interrupts, among others: they are others where one
/// came a nanosecond earlier or later.
#[test]
fn a_saved_guest_and_its_copy_go_on_alike() {
    let Some(emulator) = emulator() else { return };
    let script = "ip link set eth0 up; ip addr add 10.0.0.1/24 dev eth0; ping -c 5 -i 0.2 10.0.0.2; \
                  cat /proc/uptime; head -c 32 /dev/urandom | hexdump -C; cat /proc/interrupts";
    let folder = folder("saved");
    let first = loaded(&emulator, &folder, script);
    let mut run = Run::start(&first, &emulator);
    // In the middle of an exchange: a request has left, its answer is on the way.
    run.advance(MS, |run| run.frames.len() >= 4 && !run.arriving.is_empty());
    let file = folder.join("saved");
    run.guest.save(&file).unwrap();
    let (saved_at, on_the_way) = (run.stopped.time_ns, run.arriving.clone());
    let shown_before = console(&first).len();
    run.frames.clear();
    run.advance(MS, |_| false);

    let mut second = first.clone();
    second.load = Some(file);
    second.console = folder.join("console of the copy");
    let mut copy = Run::start(&second, &emulator);
    assert_eq!(copy.stopped.time_ns, saved_at);
    copy.arriving = on_the_way;
    copy.advance(3 * MS, |_| false);

    assert!(!run.frames.is_empty() && run.stopped.state == GuestState::ShutDown);
    assert_eq!(copy.frames, run.frames);
    assert_eq!(copy.stopped.time_ns, run.stopped.time_ns);
    assert_eq!(console(&second), console(&first)[shown_before..]);
}
