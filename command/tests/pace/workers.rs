//! The programs that are paced: this test program itself, in a role that it finds in its environment.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use paceline_lvt::layout::RECORD_BYTES;
use paceline_lvt::{Error, Page, Publisher};

/// No thread may be kept from running for longer.
pub const STARVED: Duration = Duration::from_secs(1);

/// Not a test unless it is started as a program that is paced.
#[test]
fn worker() {
    let Ok(role) = std::env::var("PACE_ROLE") else { return };
    let argument = std::env::var("PACE_ARGUMENT").expect("a role has an argument");
    let folder = PathBuf::from(std::env::var("PACE_FOLDER").expect("a role has a folder"));
    match &role[..] {
        "spin" => spin(&argument, &folder, STARVED),
        "endure" => spin(&argument, &folder, Duration::MAX),
        "leave" => leave(&folder),
        "scribble" => scribble(&argument, &folder),
        "truncate" => truncate(),
        "crowd" => crowd(),
        "parent" => parent(&folder),
        "host" => crate::machines::host(&argument, &folder),
        _ => panic!("there is no role {role}"),
    }
}

/// Spins until there is a file `stop`, or that time has come, and publishes what its habit is. Fails if it
/// was kept from running for as long as `starved`.
fn spin_as(habit: &str, until: Instant, folder: &Path, starved: Duration) {
    let publisher = (habit != "silent").then(|| Publisher::from_env(habit));
    let mut publisher = publisher.map(|publisher| {
        publisher.unwrap_or_else(|error| {
            // Who endures may come after the end of the pacing.
            assert_eq!(starved, Duration::MAX, "{error}");
            Publisher::absent()
        })
    });
    let (mut rounds, mut last) = (0u64, Instant::now());
    while Instant::now() < until && (rounds % 64 != 0 || !folder.join("stop").exists()) {
        rounds += 1;
        let lvt_ns = match habit {
            "lowest" => 0,
            "backwards" => u64::MAX / 4 - rounds * 1_000,
            _ => rounds * 1_000,
        };
        if let Some(publisher) = &mut publisher {
            if habit == "idle" {
                publisher.publish_done();
            } else {
                publisher.publish(lvt_ns);
            }
            publisher.set_waiting(habit == "waiting");
        }
        (0..200_000u64).for_each(|number| {
            std::hint::black_box(number);
        });
        let now = Instant::now();
        assert!(now - last < starved, "{habit} was kept from running for {:?}", now - last);
        last = now;
    }
}

/// Threads with the habits that the argument names, behind the number of seconds that they spin.
fn spin(argument: &str, folder: &Path, starved: Duration) {
    let mut words = argument.split(' ');
    let seconds = words.next().and_then(|word| word.parse().ok()).expect("first comes the time in seconds");
    let until = Instant::now() + Duration::from_secs(seconds);
    thread::scope(|scope| {
        let threads: Vec<_> =
            words.map(|habit| scope.spawn(move || spin_as(habit, until, folder, starved))).collect();
        for thread in threads {
            thread.join().expect("no thread starves");
        }
    });
}

/// Threads that are paced at first, and then leave the page and stay.
fn leave(folder: &Path) {
    let until = Instant::now() + Duration::from_secs(60);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(move || {
                let publisher = Publisher::from_env("leaves").expect("there is a page");
                while Instant::now() < until && !folder.join("leave").exists() {}
                drop(publisher);
                while Instant::now() < until && !folder.join("stop").exists() {}
            });
        }
    });
}

/// Noise that is the same every time.
fn noise(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 27)
}

/// Threads that spin while the page is overwritten: "all" of it, or "slots" only, again and again. Of the
/// slots one names a thread that is none of the command's, right to the start time.
fn scribble(argument: &str, folder: &Path) {
    let path = std::env::var_os(paceline_lvt::ENV).expect("there is a page");
    let page = fs::OpenOptions::new().write(true).open(path).expect("the page can be opened");
    let foreign = procfs::process::Process::myself().and_then(|me| me.stat()).expect("there is a /proc");
    let foreign =
        procfs::process::Process::new(foreign.ppid).and_then(|pace| pace.stat()).expect("there is a parent");
    let foreign =
        procfs::process::Process::new(foreign.ppid).and_then(|test| test.stat()).expect("it has one too");
    let (mut state, until) = (1, Instant::now() + Duration::from_secs(2));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| spin_as("works", until, folder, STARVED));
        }
        // At first let them claim their slots.
        thread::sleep(Duration::from_millis(200));
        while Instant::now() < until {
            let mut bytes: Vec<u8> =
                (0..1024 * RECORD_BYTES / 8).flat_map(|_| noise(&mut state).to_ne_bytes()).collect();
            let first = if argument == "all" { 0 } else { RECORD_BYTES };
            // The first one: of strangers only so many are looked up at a time.
            let slot = &mut bytes[..RECORD_BYTES];
            slot[0..8].copy_from_slice(&0u64.to_ne_bytes());
            slot[8..12].copy_from_slice(&1u32.to_ne_bytes());
            slot[12..16].copy_from_slice(&foreign.pid.to_ne_bytes());
            slot[16..24].copy_from_slice(&foreign.starttime.to_ne_bytes());
            slot[24..28].copy_from_slice(&foreign.pid.to_ne_bytes());
            std::os::unix::fs::FileExt::write_at(&page, &bytes, first as u64)
                .expect("the page can be written");
            thread::sleep(Duration::from_millis(1));
        }
    });
}

/// Tries to truncate the page, which must not be possible.
fn truncate() {
    let path = std::env::var_os(paceline_lvt::ENV).expect("there is a page");
    let page = fs::OpenOptions::new().write(true).open(&path).expect("the page can be opened");
    for bytes in [0, 64, 1 << 20] {
        page.set_len(bytes).expect_err("nobody can change the size of the page");
    }
    Page::open(path).expect("the page is as it was");
}

/// 10,000 threads at once, of which each claims a slot, or finds none free, and runs to its end.
fn crowd() {
    let (claimed, refused, done) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let all_there = Barrier::new(10_000);
    thread::scope(|scope| {
        for _ in 0..10_000 {
            let member = || {
                let publisher = Publisher::from_env("one of many");
                match &publisher {
                    Ok(_) => claimed.fetch_add(1, Ordering::Relaxed),
                    Err(Error::Full { .. }) => refused.fetch_add(1, Ordering::Relaxed),
                    Err(other) => panic!("{other}"),
                };
                all_there.wait();
                (0..20_000u64).for_each(|number| {
                    std::hint::black_box(number);
                });
                done.fetch_add(1, Ordering::Relaxed);
            };
            thread::Builder::new()
                .stack_size(64 << 10)
                .spawn_scoped(scope, member)
                .expect("there can be so many");
        }
    });
    let counts = [claimed, refused, done].map(AtomicU64::into_inner);
    assert_eq!(counts, [1_024, 8_976, 10_000]);
}

/// Threads that spin, and start children that publish nothing; the children's ids are written into a file.
fn parent(folder: &Path) {
    let until = Instant::now() + Duration::from_secs(60);
    thread::scope(|scope| {
        for number in 0..6 {
            scope.spawn(move || {
                let _publisher = Publisher::from_env("parent").expect("there is a page");
                // Long enough that all are paced, and most in the idle class.
                let start = Instant::now();
                while start.elapsed() < Duration::from_millis(300) {}
                let mut child = Command::new("sleep").arg("60").spawn().expect("there is `sleep`");
                fs::write(folder.join(format!("child{number}")), child.id().to_string())
                    .expect("it can be written");
                while Instant::now() < until && !folder.join("stop").exists() {}
                child.kill().expect("it is still there");
                child.wait().expect("it can be waited for");
            });
        }
    });
}
