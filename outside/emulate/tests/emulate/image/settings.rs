//! The tables `[[guest]]`: what they mean, and the one message for each mistake in them.

use paceline_emulate::image::settings::{Date, Guests, Ratio};
use paceline_emulate::image::{SetupCard, Sources};
use paceline_kernel::Time;
use paceline_scenario::{Scenario, ScenarioError};
use std::fs;
use std::path::Path;

fn read_in(folder: &Path, text: &str) -> Result<Guests, ScenarioError> {
    let mut scenario = Scenario::parse("demo.toml", text, folder, &[])?;
    let guests = Guests::read(&mut scenario)?;
    scenario.finish(&["guest"])?;
    Ok(guests)
}

fn read(text: &str) -> Result<Guests, ScenarioError> {
    read_in(Path::new("."), text)
}

#[test]
fn a_table_is_read_with_its_defaults() {
    let guests = read("[[guest]]\nname = \"a\"\n").unwrap();
    let a = &guests.guests[0];
    assert_eq!((a.memory_mib, a.vcpus, a.icount_shift, a.time_scale), (128, 1, 0, Ratio::ONE));
    assert_eq!((a.cards.len(), a.cards[0].mtu, a.cards[0].address), (1, 1500, None));
    let text = "[[guest]]\nname = \"b\"\ncount = 3\naddress = \"10.0.0.5/24\"\nspeed = \"1/4\"\nmemory = \"256MiB\"\n\
                time_scale = 2\nrun = [\"nginx\", \"-g\", \"daemon off;\"]\nscript = [{ at = \"2s\", text = \"true\" }, \
                { text = \"date\" }]\nstop = \"9s\"\nout = [\"/var/log\"]\n";
    let guests = read(text).unwrap();
    let names: Vec<_> = guests.guests.iter().map(|guest| guest.name.as_str()).collect();
    assert_eq!(names, ["b-0", "b-1", "b-2"]);
    let b = &guests.guests[2];
    assert_eq!(b.cards[0].address.unwrap().to_string(), "10.0.0.7/24");
    assert_eq!((b.icount_shift, b.time_scale.to_string()), (2, "2".to_owned()));
    let cards: Vec<SetupCard> = Vec::new();
    let setup = b.setup(cards, Vec::new(), 1, &|time| 100 + time.as_nanos());
    let scripts: Vec<_> =
        setup.scripts.iter().map(|s| (s.label.as_str(), s.at_ns, s.text.as_str())).collect();
    let expected = [
        ("script 0", Some(2_000_000_100), "true"),
        ("script 1", None, "date"),
        ("run", None, "exec 'nginx' '-g' 'daemon off;'\n"),
    ];
    assert_eq!(scripts, expected);
    assert_eq!(
        (setup.stop_ns, setup.out),
        (Some(9_000_000_100), vec!["/out".to_owned(), "/var/log".to_owned()])
    );
    assert_eq!(setup.epoch_ns, Some(Date::DEFAULT.ns - 100), "the simulation began 100 ns after the machine");
    let seed = |seed, guest: usize| {
        guests.guests[guest].setup(Vec::new(), Vec::new(), seed, &|time: Time| time.as_nanos()).seed
    };
    assert!(seed(1, 0) != seed(1, 1) && seed(1, 0) != seed(2, 0) && seed(1, 0) == seed(1, 0));
}

#[test]
fn mistakes_are_refused_at_their_places() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("disk.qcow2"), "QFI").unwrap();
    fs::write(folder.path().join("own"), "070701").unwrap();
    for (lines, place, problem, allowed) in [
        ("", "2:1", "missing key `name` in [[guest]]", "`name` must be a string"),
        ("name = \"a b\"", "2:8", "no guest can be called \"a b\"", "a host name"),
        (
            "name = \"a\"\nspeed = 2",
            "3:9",
            "no guest runs 2 instructions in a nanosecond of its clock",
            "1, or 1 divided by a power of two",
        ),
        ("name = \"a\"\nspeed = \"1/3\"", "3:9", "no guest runs 1/3 instructions", "power of two up to 1024"),
        ("name = \"a\"\nmemory = \"32MiB\"", "3:10", "no guest runs in 32MiB", "a size from 64MiB to 64GiB"),
        ("name = \"a\"\nvcpus = 17", "3:9", "`vcpus` is 17", "a whole number from 1 to 16"),
        ("name = \"a\"\nrun = []", "3:7", "`run` names no program", "a program, then its arguments"),
        (
            "name = \"a\"\nrun = \"nginx\"",
            "3:7",
            "`run` in [[guest]] cannot be the string \"nginx\"",
            "a list of strings",
        ),
        ("name = \"a\"\nimage = \"none\"", "3:9", "there is no file ", "a file's path"),
        (
            "name = \"a\"\nimage = \"disk.qcow2\"",
            "3:9",
            "disk.qcow2 is no image that a kernel unpacks",
            "an initramfs",
        ),
        (
            "name = \"a\"\nimage = \"own\"\nrun = [\"true\"]",
            "4:7",
            "`run` beside `image`",
            "either one of them",
        ),
        ("name = \"a\"\nkernel = \"own\"", "3:10", "`kernel` without `image`", "`image` too"),
        (
            "name = \"a\"\nfiles = { \"etc/x\" = \"own\" }",
            "3:21",
            "\"etc/x\" is no path in a guest for files",
            "an absolute path",
        ),
        ("name = \"a\"\nfiles = { \"/etc/x\" = \"none\" }", "3:22", "there is no file ", "a file's path"),
        ("name = \"a\"\nfiles = [\"x\"]", "3:9", "`files` is no table", "{ \"/path/in/guest\" = "),
        ("name = \"a\"\nscript = 5", "3:10", "`script` is neither", "a string, lines for a shell; or tables"),
        ("name = \"a\"\ntime_scale = 0", "3:14", "it is no ratio of two whole numbers", "2, 0.5 or \"1/3\""),
        (
            "name = \"a\"\naddress = \"10.0.0.255/24\"",
            "3:11",
            "it is that of a broadcast",
            "an IPv4 address of a host",
        ),
        (
            "name = \"a\"\ncount = 3\naddress = \"10.0.0.253/24\"",
            "4:11",
            "3 addresses from 10.0.0.253 on are not all in its network",
            "a network with an address for each",
        ),
        (
            "name = \"a\"\nmac = \"52:54:00:00:00:01\"\ncount = 2",
            "3:7",
            "one Ethernet address for 2 guests",
            "no `mac`",
        ),
        (
            "name = \"a\"\ncongestion_control = \"x; reboot\"",
            "3:22",
            "Linux has no congestion control",
            "\"cubic\"",
        ),
        ("name = \"a\"\ndate = \"2026-02-29\"", "3:8", "there is no such day", "such as \"2026-01-31\""),
        ("name = \"a\"\nmtu = 40", "3:7", "`mtu` is 40", "from 68 to 65535"),
        (
            "name = \"a\"\nscripts = \"true\"",
            "3:1",
            "unknown key `scripts` in [[guest]]; did you mean `script`?",
            "address",
        ),
        ("name = \"a\"\n[[guest]]\nname = \"a\"", "4:8", "a second guest \"a\"", "a name of its own"),
        (
            "name = \"a\"\naddress = \"10.0.0.1\"\n[[guest]]\nname = \"b\"\naddress = \"10.0.0.1/24\"",
            "6:11",
            "guests a and b both have the address 10.0.0.1",
            "of its own for each card",
        ),
        (
            "name = \"a\"\ncount = 2\naddress = \"10.0.0.1\"\n[[guest]]\nname = \"b\"\naddress = \"10.0.0.2\"",
            "7:11",
            "guests a-1 and b both have the address 10.0.0.2",
            "of its own",
        ),
    ] {
        let text = format!("[[guest]]\n{lines}\n");
        let error = read_in(folder.path(), &text).unwrap_err().one_line();
        let (at, place) = (error.split(": ").next().unwrap(), format!("demo.toml:{place}"));
        assert!(error.contains(problem) && error.contains(allowed), "{lines}\n{error}");
        assert!(lines.is_empty() || at == place, "{lines}\n{error}");
    }
    let error =
        Guests::read(&mut Scenario::parse("demo.toml", "", Path::new("."), &[]).unwrap()).unwrap_err();
    assert!(error.one_line().contains("an emulation without guests"), "{error}");
}

/// What images are made of, without an emulator.
fn sources(folder: &Path) -> Sources {
    let put = |path: &str, bytes: &[u8]| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    put("busybox", b"..\0[\0[[\0true\0sleep\0\0");
    put("probe", b"probe");
    put("modules/modules.builtin", b"kernel/net/ipv4/tcp_cubic.ko\n");
    put("modules/kernel/virtio_net.ko", b"\0depends=\0");
    put("modules/kernel/qemu_fw_cfg.ko", b"\0depends=\0");
    let mut arm = b"\x7fELF\x02\x01\x01".to_vec();
    arm.resize(64, 0);
    arm[18] = 183;
    put("root/usr/bin/arm", &arm);
    put("root/usr/bin/bashed", b"#!/bin/bash\n");
    put("root/usr/bin/shelled", b"#!/usr/bin/sh\n");
    let mut large = b"#!/bin/sh\n".to_vec();
    large.resize(60 << 20, 0);
    put("root/usr/bin/large", &large);
    let program = fs::read(std::env::current_exe().unwrap()).unwrap();
    put("root/usr/bin/alone", &program);
    Sources {
        busybox: folder.join("busybox"),
        modules: folder.join("modules"),
        root: folder.join("root"),
        probe: folder.join("probe"),
    }
}

#[test]
fn programs_that_cannot_be_packed_are_refused_at_their_places() {
    let folder = tempfile::tempdir().unwrap();
    let sources = sources(folder.path());
    let pack = |lines: &str| read(&format!("[[guest]]\nname = \"a\"\n{lines}\n")).unwrap().pack(&sources);
    assert!(pack("run = [\"/bin/shelled\"]").is_ok(), "/bin is /usr/bin");
    assert!(pack("run = [\"true\"]\ncongestion_control = \"cubic\"").is_ok());
    for (lines, place, problem, allowed) in [
        (
            "run = [\"nginx\"]",
            "3:7",
            "guest a: there is no program \"nginx\"",
            "`scripts/emulator add PACKAGE`",
        ),
        ("run = [\"arm\"]", "3:7", "it is for another processor", "a program for Linux on x86-64"),
        (
            "run = [\"alone\"]",
            "3:7",
            "/usr/bin/alone needs the library lib",
            "`scripts/emulator add PACKAGE`",
        ),
        (
            "run = [\"bashed\"]",
            "3:7",
            "/usr/bin/bashed is a script for /bin/bash, which is not in Debian's packages",
            "`scripts/emulator add bash`",
        ),
        ("run = [\"/none/x\"]", "3:7", "/none/x cannot be read", "a file that exists"),
        (
            "programs = [\"true\", \"curl\"]",
            "3:12",
            "there is no program \"curl\"",
            "an absolute path of this machine",
        ),
        (
            "packages = [\"nginx\"]",
            "3:12",
            "the package nginx was not added",
            "run `scripts/emulator add nginx`",
        ),
        ("congestion_control = \"bbr9\"", "3:22", "no module tcp_bbr9", "modules of the kernel"),
        (
            "run = [\"large\"]",
            "2:1",
            "guest a has 128 MiB, too little for an image of 60 MiB",
            "at least 200 MiB",
        ),
    ] {
        let error = pack(lines).unwrap_err().one_line();
        assert!(error.contains(problem) && error.contains(allowed), "{lines}\n{error}");
        assert!(error.starts_with(&format!("demo.toml:{place}: ")) || place == "2:1", "{lines}\n{error}");
    }
}
