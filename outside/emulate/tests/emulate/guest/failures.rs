//! Guests that end in another way than by switching off, and emulators that fail: said with guest and virtual
//! time.

use super::support::{MS, Run, SECOND, console, emulator, folder, loaded, run_to_end};
use paceline_emulate::guest::{Emulator, Guest, GuestError, GuestState, Stopped};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::futex;
use rustix::time::Timespec;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

fn signal(guest: &Guest, signal: Signal) {
    kill_process(Pid::from_raw(guest.process_id() as i32).unwrap(), signal).unwrap();
}

#[test]
fn a_killed_emulator_is_named_with_guest_and_virtual_time() {
    let Some(emulator) = emulator() else { return };
    let settings = loaded(&emulator, &folder("killed"), "while :; do :; done");
    let mut guest = Guest::start(&settings, &emulator).unwrap();
    let start = guest.wait().unwrap().time_ns;
    guest.grant(start + 2 * SECOND, &[]).unwrap();
    let time_ns = guest.wait().unwrap().time_ns;
    guest.grant(time_ns + 100 * SECOND, &[]).unwrap();
    signal(&guest, Signal::KILL);
    let error = guest.wait().unwrap_err();
    assert!(matches!(error, GuestError::Died { time_ns: at, .. } if at == time_ns), "{error:?}");
    let place = format!("after {}.{:09} s of virtual time", time_ns / SECOND, time_ns % SECOND);
    let text = error.to_string();
    assert!(text.starts_with("guest web: ") && text.contains("signal 9") && text.contains(&place), "{text}");
}

/// What the guest did, by its bell alone.
fn listen(guest: &mut Guest) -> Result<Stopped, GuestError> {
    let most = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
    loop {
        if let Some(stopped) = guest.read()? {
            return Ok(stopped);
        }
        let (bell, heard) = guest.bell().expect("it has stood before");
        let _ = futex::wait(bell, futex::Flags::empty(), heard, Some(&most));
    }
}

#[test]
fn a_bell_rings_for_answers_and_frames_and_who_cannot_ring_any_more_is_noticed() {
    let Some(emulator) = emulator() else { return };
    let script = "ip link set eth0 up; ip addr add 10.0.0.1/24 dev eth0; ping 10.0.0.2";
    let mut settings = loaded(&emulator, &folder("bell"), script);
    settings.patience = Duration::from_secs(3);
    let begin = || {
        let mut guest = Guest::start(&settings, &emulator).unwrap();
        let mut time_ns = guest.wait().unwrap().time_ns;
        let mut frames = 0;
        for _ in 0..200 {
            time_ns += 20 * MS;
            guest.grant(time_ns, &[]).unwrap();
            let stopped = listen(&mut guest).unwrap();
            assert_eq!((stopped.state, stopped.time_ns), (GuestState::Standing, time_ns));
            frames += stopped.frames.len();
        }
        assert!(frames >= 3, "{frames} requests for an address in four seconds");
        guest.grant(time_ns + 1_000_000 * SECOND, &[]).unwrap();
        (guest, time_ns)
    };
    let (mut guest, time_ns) = begin();
    signal(&guest, Signal::KILL);
    let error = listen(&mut guest).unwrap_err();
    assert!(matches!(error, GuestError::Died { time_ns: at, .. } if at == time_ns), "{error:?}");
    let (mut guest, time_ns) = begin();
    signal(&guest, Signal::STOP);
    let since = Instant::now();
    let error = listen(&mut guest).unwrap_err();
    assert!(matches!(error, GuestError::Hung { time_ns: at, .. } if at == time_ns), "{error:?}");
    assert!(since.elapsed() < settings.patience + Duration::from_secs(2), "{:?}", since.elapsed());
}

#[test]
fn an_emulator_that_hangs_is_given_up() {
    let Some(emulator) = emulator() else { return };
    let mut settings = loaded(&emulator, &folder("hangs"), "sleep 100");
    let mut guest = Guest::start(&settings, &emulator).unwrap();
    let start = guest.wait().unwrap().time_ns;
    drop(guest);
    settings.patience = Duration::from_secs(3);
    let mut guest = Guest::start(&settings, &emulator).unwrap();
    guest.wait().unwrap();
    signal(&guest, Signal::STOP);
    guest.grant(start + SECOND, &[]).unwrap();
    let since = Instant::now();
    let error = guest.wait().unwrap_err();
    assert!(matches!(error, GuestError::Hung { time_ns, .. } if time_ns == start), "{error:?}");
    assert!(since.elapsed() < settings.patience + Duration::from_secs(2), "{:?}", since.elapsed());

    let mut guest = Guest::start(&settings, &emulator).unwrap();
    guest.wait().unwrap();
    signal(&guest, Signal::STOP);
    let error = guest.save(&settings.console.with_file_name("saved")).unwrap_err();
    assert!(matches!(error, GuestError::Hung { time_ns, .. } if time_ns == start), "{error:?}");
}

/// As where the disk is full: the error says why, and the guest goes on as if nobody had tried.
#[test]
fn a_guest_whose_state_cannot_be_written_goes_on() {
    let Some(emulator) = emulator() else { return };
    let script = "cat /proc/uptime; head -c 8 /dev/urandom | hexdump -C";
    let [left_alone, tried] = ["left-alone", "tried"].map(|name| loaded(&emulator, &folder(name), script));
    let end = run_to_end(&left_alone, &emulator, MS);
    let mut run = Run::start(&tried, &emulator);
    let start = run.stopped.time_ns;
    let error = run.guest.save(Path::new("/nowhere/saved")).unwrap_err();
    assert!(matches!(&error, GuestError::Save { time_ns, .. } if *time_ns == start), "{error:?}");
    assert!(error.to_string().ends_with("No such file or directory"), "{error}");
    run.advance(MS, |_| false);
    assert_eq!((run.frames, run.stopped.time_ns, run.stopped.state), end);
    assert_eq!(console(&tried), console(&left_alone));
}

/// A folder with the emulator of another, and one part of it replaced.
fn emulator_with(name: &str, part: &str, put: impl FnOnce(&Path)) -> Emulator {
    let folder = folder(name);
    let program = "root/usr/bin/qemu-system-x86_64";
    fs::create_dir_all(folder.join(program).parent().unwrap()).unwrap();
    let kernel = emulator().unwrap().kernel();
    for other in [program, "plugin.so", "vmlinux"].into_iter().filter(|other| *other != part) {
        symlink(kernel.with_file_name(other), folder.join(other)).unwrap();
    }
    put(&folder.join(part));
    Emulator::at(folder).unwrap()
}

#[test]
fn an_emulator_that_is_missing_or_does_not_fit_says_so() {
    let Some(good) = emulator() else { return };
    let nowhere = Emulator::at("/nowhere").unwrap_err();
    assert!(
        matches!(&nowhere, GuestError::NoEmulator { path } if path.starts_with("/nowhere")),
        "{nowhere:?}"
    );
    assert!(nowhere.to_string().contains("run scripts/emulator"), "{nowhere}");

    let mut settings = loaded(&good, &folder("misfit"), "true");
    settings.patience = Duration::from_secs(3);
    let start = |emulator: &Emulator| Guest::start(&settings, emulator).and_then(|mut guest| guest.wait());

    let script = |line: &'static str| {
        move |program: &Path| {
            fs::write(program, format!("#!/bin/sh\n{line}\n")).unwrap();
            fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
        }
    };
    let program = "root/usr/bin/qemu-system-x86_64";
    let stranger = emulator_with("stranger", program, script("echo 'what is -accel?' >&2; exit 2"));
    let text = start(&stranger).unwrap_err().to_string();
    let words = ["guest web: ", "status 2", "0.000000000 s of virtual time", "emulator: what is -accel?"];
    assert!(words.iter().all(|word| text.contains(word)), "{text}");

    // A plugin that was built before the page: its first record, over standard input, which is the socket.
    let greeting = r"printf 'PCLG\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' >&0; exec sleep 100";
    let older = emulator_with("older", program, script(greeting));
    let text = start(&older).unwrap_err().to_string();
    assert!(text.contains("guest web: its plugin speaks version 1 of the protocol, not 2"), "{text}");
    assert!(text.contains("run scripts/emulator"), "{text}");

    let silent = emulator_with("silent", program, script("exec sleep 100"));
    let error = start(&silent).unwrap_err();
    assert!(matches!(error, GuestError::Hung { time_ns: 0, .. }), "{error:?}");
}

#[test]
fn a_guest_that_computes_or_halts_for_ever_stands_where_it_is_granted() {
    let Some(emulator) = emulator() else { return };
    for (script, computes) in [("while :; do :; done", true), ("halt -f", false)] {
        let settings = loaded(&emulator, &folder("for-ever"), script);
        let mut guest = Guest::start(&settings, &emulator).unwrap();
        let mut now = guest.wait().unwrap().time_ns;
        let mut last = None;
        for window in [2 * SECOND, 7 * MS, 100 * MS] {
            now += window;
            guest.grant(now, &[]).unwrap();
            let stopped = guest.wait().unwrap();
            assert_eq!((stopped.state, stopped.time_ns), (GuestState::Standing, now), "{script}");
            last = stopped.next_ns;
        }
        // One that has halted does nothing by itself for hours.
        assert_eq!(last == Some(now), computes, "{script}: {last:?}");
        assert!(computes || last.is_none_or(|next| next > now + 3600 * SECOND), "{script}: {last:?}");
    }
}

#[test]
fn ends_of_guests_are_told_apart() {
    let Some(emulator) = emulator() else { return };
    let ends = [
        ("reboot -f", GuestState::Reset),
        ("echo c > /proc/sysrq-trigger", GuestState::Crashed),
        ("poweroff -f", GuestState::ShutDown),
    ];
    for (script, expected) in ends {
        let mut times = Vec::new();
        // When it ended does not depend on how the time was granted.
        for window in [10 * MS, 7 * MS] {
            let settings = loaded(&emulator, &folder("ends"), script);
            let (_, time, state) = run_to_end(&settings, &emulator, window);
            assert_eq!(state, expected, "{script}; console:\n{}", console(&settings));
            times.push(time);
        }
        assert_eq!(times[0], times[1], "{script}");
    }
}

#[test]
fn a_guest_that_computes_ends_with_its_coordinator() {
    let Some(emulator) = emulator() else { return };
    let settings = loaded(&emulator, &folder("left"), "while :; do :; done");
    let mut guest = Guest::start(&settings, &emulator).unwrap();
    let start = guest.wait().unwrap().time_ns;
    guest.grant(start + 1000 * SECOND, &[]).unwrap();
    let since = Instant::now();
    // What `end` closes is what the system closes when a process ends. After a second it would kill.
    guest.end();
    assert!(since.elapsed() < Duration::from_millis(900), "{:?}", since.elapsed());
}

#[test]
fn what_cannot_start_says_why() {
    let Some(emulator) = emulator() else { return };
    let good = loaded(&emulator, &folder("start"), "true");
    let refused = |change: fn(&mut paceline_emulate::guest::GuestSettings), words: &str| {
        let mut settings = good.clone();
        change(&mut settings);
        let error = Guest::start(&settings, &emulator).and_then(|mut guest| guest.wait()).unwrap_err();
        assert!(error.to_string().starts_with("guest web: ") && error.to_string().contains(words), "{error}");
    };
    refused(|s| s.vcpus = 17, "1 to 16 are allowed");
    refused(|s| s.memory_mib = 1, "at least 64");
    refused(|s| s.icount_shift = 11, "2^0 to 2^10 ns are allowed");
    refused(|s| s.texts[0].1.clear(), "the text opt/script is empty");
    refused(|s| s.kernel = "/nowhere/kernel".into(), "kernel /nowhere/kernel: No such file");
    refused(|s| s.load = Some("/dev/null".into()), "the emulator exited with status 1");
    refused(|s| s.plugin_arguments = vec!["nonsense".into()], "the plugin's arguments are");
}
