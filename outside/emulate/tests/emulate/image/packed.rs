//! A guest of busybox alone: who it is, when its scripts start, what it sends back.

use crate::image::support::{Booted, SECOND, emulator};
use paceline_emulate::image::{Content, Contents, SetupScript, Sources, pack};
use std::fs;

#[test]
fn a_guest_is_who_it_is_told_to_be_and_sends_back_what_it_wrote() {
    let Some(emulator) = emulator() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("greeting");
    fs::write(&file, "hello\n").unwrap();
    let files = vec![("web".into(), "/etc/greeting".into(), file)];
    // A program of this machine, with its libraries; the guest's other ones are static.
    let programs = vec!["/bin/ls".into()];
    let contents =
        Contents { programs, congestion_controls: vec!["bbr".into()], files, ..Contents::default() };
    let booted = Booted::new(emulator, "packed", &contents);
    let script = "hostname; cat /etc/greeting; /bin/ls -d /machine/bin/*; ping -c 1 -W 1 web; ip addr show eth0; arp -n; \
                  cat /proc/sys/net/ipv4/tcp_congestion_control; mkdir -p /out/sub; echo kept >/out/sub/file; \
                  head -c 1000 /dev/urandom >/out/random; \
                  head -c 150000000 /dev/zero >/tmp/large && echo room; rm /tmp/large; exit 3";
    let mut setup = booted.setup("web", script);
    setup.congestion_control = Some("bbr".into());
    setup.out = vec!["/out".into()];
    let late = booted.at_ns + 5 * SECOND;
    let text = "probe clock; trap 'exit 9' TERM; while :; do sleep 1; done".into();
    setup.scripts.push(SetupScript { label: "late".into(), at_ns: Some(late), text });
    setup.stop_ns = Some(late + 2 * SECOND);
    let ended = booted.run(&setup);
    let console = &ended.console;
    for line in [
        "web",
        "hello",
        "/machine/bin/ls",
        "1 packets transmitted, 1 packets received",
        "52:54:00:00:00:02",
        "inet 10.0.0.1/24 brd 10.0.0.255",
        "bbr",
        "room",
        "paceline: script ended with status 3",
        "paceline: late ended with status 9",
    ] {
        assert!(console.contains(line), "{line:?} is missing:\n{console}");
    }
    let clock = console.split("clock ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    let after = clock.parse::<u64>().unwrap().checked_sub(late).expect("the script started early");
    assert!(after < SECOND / 100, "the script started {after} ns late");
    let out = ended.out();
    assert_eq!(out.get("out/sub/file").unwrap().content, Content::File(b"kept\n".to_vec()));
    // The same again, and with another seed.
    let again = booted.run(&setup);
    assert_eq!((&again.console, &again.sent), (&ended.console, &ended.sent));
    setup.seed = [8; 32];
    let other = booted.run(&setup).out();
    assert_ne!(other.get("out/random"), out.get("out/random"));
}

/// A kernel stops to unpack an image at a file that it has no room for.
#[test]
fn a_guest_with_the_least_memory_has_the_whole_image_or_says_that_it_has_not() {
    const LARGE: usize = 50 << 20;
    let Some(emulator) = emulator() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("large");
    let mut bytes = vec![b'x'; LARGE];
    bytes.extend(b"the end");
    fs::write(&file, bytes).unwrap();
    // That of another guest is not copied to its place in this one.
    let files = vec![("other".into(), "/large".into(), file)];
    let contents = Contents { files, programs: vec!["/bin/ls".into()], ..Contents::default() };
    // Then the file may take half of the memory beside it.
    let console = Booted::without_option(emulator.clone(), "less", &contents, " initramfs_options=size=90%");
    assert!(console.contains("paceline: this guest has too little memory for its image"), "{console}");
    let least = pack(&Sources::of(&emulator), &contents).unwrap().least_memory_mib();
    let booted = Booted::with_memory(emulator, "least", &contents, least);
    let script = "tail -c 7 /paceline/guests/other/large; /bin/ls -l /paceline/guests/other";
    let console = booted.run(&booted.setup("web", script)).console;
    for word in ["the end", &(LARGE + 7).to_string(), "script ended with status 0"] {
        assert!(console.contains(word), "{word:?} is missing:\n{console}");
    }
}

#[test]
fn the_same_contents_are_the_same_bytes_in_whatever_order() {
    let Some(emulator) = emulator() else { return };
    let sources = Sources::of(&emulator);
    let is_there =
        |name: &&str| ["usr/bin", "usr/sbin"].iter().any(|bin| sources.root.join(bin).join(name).exists());
    let debian = ["nginx", "redis-server", "memcached", "python3", "haproxy"].into_iter().filter(is_there);
    let mut programs: Vec<String> = ["sh", "probe"].into_iter().chain(debian).map(str::to_owned).collect();
    let bytes = |programs: &[String]| {
        let contents = Contents { programs: programs.to_vec(), ..Contents::default() };
        pack(&sources, &contents).unwrap().to_bytes()
    };
    let first = bytes(&programs);
    assert!(first == bytes(&programs));
    programs.reverse();
    assert!(first == bytes(&programs), "another order");
}
