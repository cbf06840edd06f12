//! `cargo bench -p paceline-emulate`: what guests cost. `-- TABLE` measures one of `grants`, `computing`,
//! `idle`, `frames`, `many`.
//!
//! In every round each row of a table is run once, so that whatever disturbs the machine disturbs all; what
//! counts is the median. CPU times do not depend on what else runs here, real times do. Needs
//! `scripts/emulator`.

#[path = "guests/alone.rs"]
mod alone;
#[path = "guests/measure.rs"]
mod measure;
#[path = "../tests/emulate/guest/support.rs"]
#[expect(dead_code, reason = "the tests of guests use all of it")]
mod support;

use alone::Alone;
use measure::{Meter, interleave};
use paceline_emulate::guest::{Emulator, Frame, Guest, GuestSettings, GuestState};
use std::time::{Duration, Instant};
use std::{env, fs};
use support::{MS, Run, SECOND, folder, loaded};

/// Grants of a guest that sleeps: each passes a millisecond of idle time.
fn grants(emulator: &Emulator) {
    const GRANTS: u64 = 5000;
    let mut guest = Guest::start(&loaded(emulator, &folder("grants"), "sleep 100000"), emulator).unwrap();
    let mut now = guest.wait().unwrap().time_ns + SECOND;
    let mut pass = |grants: u64, window: u64| {
        let meter = Meter::start(guest.process_id());
        for _ in 0..grants {
            now += window;
            guest.grant(now, &[]).unwrap();
            guest.wait().unwrap();
        }
        meter.stop().map(|ns| ns as f64 / 1e3 / GRANTS as f64)
    };
    pass(1, SECOND);
    let columns = ["real time, us", "CPU of the guest, us", "CPU of the coordinator, us"];
    let rows = [("windows of 1 ms", (GRANTS, MS)), ("the same time in one", (1, GRANTS * MS))];
    interleave("A grant and its answer, an idle guest", columns, rows, |(grants, window)| {
        pass(grants, window)
    });
}

/// A guest that computes to its end: in grants, and QEMU with the same arguments but without the plugin.
fn computing(emulator: &Emulator) {
    let script = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; poweroff -f";
    let settings = loaded(emulator, &folder("computing"), script);
    let granted = |window: u64| {
        let mut guest = Guest::start(&settings, emulator).unwrap();
        let mut stopped = guest.wait().unwrap();
        let meter = Meter::start(guest.process_id());
        while stopped.state == GuestState::Standing {
            guest.grant(stopped.time_ns + window, &[]).unwrap();
            stopped = guest.wait().unwrap();
        }
        meter.stop_at_end().map(|ns| ns as f64 / 1e9)
    };
    let alone = || {
        let alone = Alone::load(&settings, emulator);
        let meter = Meter::start(alone.process_id());
        alone.go_on();
        meter.stop_at_end().map(|ns| ns as f64 / 1e9)
    };
    let columns = ["real time, s", "CPU of the guest, s", "CPU of the coordinator, s"];
    let rows = [("QEMU alone", None), ("windows of 1 s", Some(SECOND)), ("windows of 1 ms", Some(MS))];
    interleave("A guest that computes", columns, rows, |window| window.map_or_else(alone, granted));
}

/// A guest that sleeps for a virtual minute.
fn idle(emulator: &Emulator) {
    let mut guest = Guest::start(&loaded(emulator, &folder("idle"), "sleep 100000"), emulator).unwrap();
    let mut now = guest.wait().unwrap().time_ns + SECOND;
    let pass = |window: u64| {
        let meter = Meter::start(guest.process_id());
        let until = now + 60 * SECOND;
        while now < until {
            now += window;
            guest.grant(now, &[]).unwrap();
            guest.wait().unwrap();
        }
        meter.stop().map(|ns| ns as f64 / 1e6)
    };
    let columns = ["real time, ms", "CPU of the guest, ms", "CPU of the coordinator, ms"];
    let rows = [("windows of 1 s", SECOND), ("windows of 10 ms", 10 * MS)];
    interleave("60 idle virtual seconds", columns, rows, pass);
}

/// Two guests at a link of 1 ms, of which one pings the other once a millisecond, granted a millisecond at a
/// time: what a virtual second with pings costs more than one without, by frames.
fn frames(emulator: &Emulator) {
    let begin = |number: usize| {
        let address = format!(
            "ip link set eth0 address 52:54:00:00:00:0{number}; ip link set eth0 up; ip addr add 10.0.0.{number}/24 dev eth0"
        );
        let script = match number {
            1 => format!("{address}; sleep 3; ping -q -i 0.001 10.0.0.2"),
            _ => format!("{address}; sleep 100000"),
        };
        Run::start(&loaded(emulator, &folder(&format!("frames-{number}")), &script), emulator)
    };
    interleave(
        "A frame between two guests",
        ["CPU of both, us", "CPU of the coordinator, us", "frames"],
        [("pings", ())],
        |()| {
            let mut guests = [begin(1), begin(2)];
            let start = guests[0].stopped.time_ns;
            // From the time of the first to that of the second, after `start`; the number of frames.
            let mut pass = |until: u64| {
                let meters = guests.each_ref().map(|guest| Meter::start(guest.guest.process_id()));
                let mut count = 0;
                while guests[0].stopped.time_ns < start + until {
                    let end = guests[0].stopped.time_ns + MS;
                    for guest in &mut guests {
                        let arriving = std::mem::take(&mut guest.arriving);
                        guest.guest.grant(end, &arriving).unwrap();
                    }
                    for guest in &mut guests {
                        guest.stopped = guest.guest.wait().unwrap();
                    }
                    for number in 0..2 {
                        let left = std::mem::take(&mut guests[number].stopped.frames);
                        count += left.len();
                        let arrive =
                            left.into_iter().map(|frame| Frame { time_ns: frame.time_ns + MS, ..frame });
                        guests[1 - number].arriving.extend(arrive);
                    }
                }
                // The coordinator is this thread, which both meters have measured.
                let [[_, one, coordinator], [_, other, _]] = meters.map(Meter::stop);
                ([one + other, coordinator], count)
            };
            pass(SECOND);
            let (idle, none) = pass(2 * SECOND);
            pass(4 * SECOND);
            let (busy, count) = pass(5 * SECOND);
            let each =
                |place: usize| busy[place].saturating_sub(idle[place]) as f64 / 1e3 / (count - none) as f64;
            [each(0), each(1), count as f64]
        },
    );
}

/// Guests from one template, each of which pings twice a virtual second, granted a millisecond at a time.
fn many(emulator: &Emulator) {
    const GUESTS: usize = 64;
    const VIRTUAL: u64 = 2 * SECOND;
    let script = "ip link set eth0 up; ip addr add 10.0.0.1/24 dev eth0; ping -i 0.5 10.0.0.2";
    let start = |number| loaded(emulator, &folder(&format!("many-{number}")), script);
    let since = Instant::now();
    let starting: Vec<GuestSettings> = (0..GUESTS).map(start).collect();
    let mut guests: Vec<Run> = starting.iter().map(|settings| Run::start(settings, emulator)).collect();
    let started = since.elapsed();
    let stood = memory(&guests);
    let until = guests[0].stopped.time_ns + VIRTUAL;
    for guest in &mut guests {
        guest.advance(MS, |run| run.stopped.time_ns >= until);
    }
    let cpu: Duration = guests.iter().map(|run| run.guest.cpu_time()).sum();
    println!("\n{GUESTS} guests of 128 MiB from one template\n");
    println!("started one after the other in {:.1} s", started.as_secs_f64());
    println!("memory (PSS) of all: {stood} MB once started, {} MB after 2 virtual seconds", memory(&guests));
    println!("CPU of all, start and 2 virtual seconds: {:.1} s", cpu.as_secs_f64());
}

/// The real memory of all guests, with each page that several share counted once, in MB.
fn memory(guests: &[Run]) -> u64 {
    let shares = guests.iter().map(|run| {
        let text = fs::read_to_string(format!("/proc/{}/smaps_rollup", run.guest.process_id())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).expect("the kernel counts shares");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number of KiB")
    });
    shares.sum::<u64>() * 1024 / 1_000_000
}

struct Table {
    name: &'static str,
    measure: fn(&Emulator),
}

fn main() {
    let Some(emulator) = support::emulator() else { return };
    let words: Vec<String> = env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let table = |name, measure: fn(&Emulator)| Table { name, measure };
    let tables = [
        table("grants", grants),
        table("computing", computing),
        table("idle", idle),
        table("frames", frames),
        table("many", many),
    ];
    if let Some(word) = words.iter().find(|word| tables.iter().all(|table| table.name != *word)) {
        let names: Vec<&str> = tables.iter().map(|table| table.name).collect();
        panic!("there is no table {word:?}: {}", names.join(", "));
    }
    for table in tables {
        if words.is_empty() || words.iter().any(|word| word == table.name) {
            (table.measure)(&emulator);
        }
    }
}
