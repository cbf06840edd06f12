//! The readers on damaged input: they may refuse it with a message that has a place, but never panic, and
//! never use memory out of proportion. What they accept can be used.

use std::fs;
use std::path::Path;

use paceline_kernel::Rng;
use paceline_network::{Deployment, FlowModel, Flows, HostId, Network, Platform, ReadError, read};

/// The number of damaged versions of each file, and the most memory that the process may use.
const VERSIONS: u64 = 4000;
const MOST_BYTES: u64 = 1 << 30;

/// Words of platform files, to replace other text.
const WORDS: [&str; 30] = [
    "\"0\"",
    "\"-1\"",
    "\"4294967296\"",
    "\"1e308\"",
    "\"0-262143\"",
    "\"0-99999\"",
    "\"1,1,1,1\"",
    "\"2;4,4;1,2;1,2\"",
    "<zone id=\"",
    "</zone>",
    "<AS",
    "<cluster",
    "<link_ctn id=\"",
    "routing=\"Floyd\"",
    "routing=\"Dijkstra\"",
    "routing=\"Full\"",
    "routing=\"Cluster\"",
    "SPLITDUPLEX",
    "FATPIPE",
    "SHARED",
    "TORUS",
    "FAT_TREE",
    "DRAGONFLY",
    "symmetrical=\"NO\"",
    "direction=\"UP\"",
    "&amp;",
    "&#0;",
    "<!--",
    "]]>",
    "PERIODICITY 1e-300",
];

fn text(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    fs::read_to_string(folder.join(name)).expect("the file is there")
}

/// The peak memory of the process, if the system reports it.
fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

/// A text with some damage to its bytes, attributes, lines and words.
fn damaged(text: &str, rng: &mut Rng) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=rng.below(3) {
        let length = bytes.len() as u64;
        let (at, other) = (rng.below(length) as usize, rng.below(length) as usize);
        // A stretch between two quotes, or a whole line.
        let stretch = |ends: u8| {
            let start = bytes[..at].iter().rposition(|byte| *byte == ends).map_or(0, |place| place + 1);
            let end =
                bytes[at..].iter().position(|byte| *byte == ends).map_or(bytes.len(), |place| at + place);
            start..end.max(start)
        };
        let (value, line) = (stretch(b'"'), stretch(b'\n'));
        match rng.below(10) {
            0 => bytes.truncate(at.max(1)),
            1 => bytes[at] = rng.u64() as u8,
            2 => bytes[at] = b"\"'<>&=/ \n0987654321eE-,;"[rng.below(24) as usize],
            3 => {
                bytes.splice(value, []);
            }
            4 => {
                let digits = rng.u64().to_string().into_bytes();
                bytes.splice(value, digits[..1 + rng.below(8) as usize].to_vec());
            }
            5 => {
                bytes.splice(line, []);
            }
            6 => {
                let copy = bytes[line].to_vec();
                bytes.splice(other..other, copy);
            }
            7 => {
                let word = WORDS[rng.below(WORDS.len() as u64) as usize];
                bytes.splice(value, word.trim_matches('"').bytes());
            }
            8 => {
                let word = WORDS[rng.below(WORDS.len() as u64) as usize];
                let end = (at + rng.below(20) as usize).min(bytes.len());
                bytes.splice(at..end, word.bytes());
            }
            _ => {
                let piece = bytes[at.min(other)..at.max(other)].to_vec();
                bytes.splice(at..at, piece);
            }
        }
        if bytes.is_empty() {
            bytes.push(b' ');
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A refusal must have a place in the text, and a message of one line.
fn look(mistake: &ReadError, text: &str) {
    let message = mistake.to_string();
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(!mistake.problem.is_empty() && !mistake.allowed.is_empty(), "{message}");
    assert!(mistake.line >= 1 && mistake.column >= 1, "{message}");
    if mistake.file == "damaged.xml" {
        let line = text.split('\n').nth(mistake.line - 1).unwrap_or_else(|| panic!("{message}: {text}"));
        assert!(mistake.column <= line.chars().count() + 1, "{message}: {line}");
    }
}

/// Routes and transfers between some hosts; a missing route must be reported.
fn travel(platform: &Platform, rng: &mut Rng) {
    let hosts = platform.hosts().len() as u64;
    if hosts == 0 {
        return;
    }
    let mut network = Flows::new(platform, FlowModel::LV08);
    for _ in 0..6 {
        let [from, to] = [(); 2].map(|()| HostId(rng.below(hosts) as u32));
        match (platform.route(from, to), network.start(from, to, 1e6)) {
            (Ok(route), Ok(_)) => assert!(!route.links.is_empty() && route.latency.is_finite()),
            (Ok(_), Err(error)) => assert!(platform.route(to, from).is_err(), "{error}"),
            (Err(error), started) => {
                assert!(started.is_err() && !error.to_string().is_empty());
            }
        }
    }
    let mut before = 0.0;
    for _ in 0..40 {
        let Some(at) = network.next() else { break };
        assert!(at >= before, "time does not go back: {at} after {before}");
        before = at;
        network.advance(at);
    }
}

#[test]
fn damaged_files_are_refused_or_read() {
    let zones = text("zones.xml");
    let platform = read("zones.xml", &zones, &mut |name| Ok(text(name))).expect("a sound file");
    let (mut rng, mut read_ones, mut refused) = (Rng::new(1, 1), [0u32; 3], [0u32; 3]);
    for version in 0..3 * VERSIONS {
        let kind = (version % 3) as usize;
        let name = ["zones.xml", "clusters.xml", "deployment.xml"][kind];
        let text_of = damaged(&text(name), &mut rng);
        let mut profiles = Rng::new(2, version);
        let mut other = |name: &str| -> Result<String, String> {
            let known = ["bandwidth.trace", "speed.trace", "state.trace"].contains(&name);
            let whole = if known { text(name) } else { return Err("there is none".into()) };
            Ok(if profiles.below(4) == 0 { damaged(&whole, &mut profiles) } else { whole })
        };
        let mistake = if kind == 2 {
            Deployment::read("damaged.xml", &text_of, &platform).err()
        } else {
            read("damaged.xml", &text_of, &mut other).map(|platform| travel(&platform, &mut rng)).err()
        };
        match &mistake {
            Some(mistake) => {
                look(mistake, &text_of);
                refused[kind] += 1;
            }
            None => read_ones[kind] += 1,
        }
    }
    // Damage that always or never leads to a refusal would test nothing.
    let rare = VERSIONS as u32 / 100;
    assert!(read_ones.iter().chain(&refused).all(|number| *number > rare), "{read_ones:?} {refused:?}");
    let peak = peak_bytes().unwrap_or(0);
    eprintln!("{read_ones:?} read, {refused:?} refused, at most {peak} bytes");
    assert!(peak < MOST_BYTES, "{peak} bytes");
}

#[test]
fn deep_and_long_texts_are_refused_or_read() {
    let start = "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">";
    for piece in "<|>|<zone>|<a b=\"|&|&amp;|<!--|<!DOCTYPE|<![CDATA[|<?|\"|</a>|\u{0}|ü".split('|') {
        let long = piece.repeat(50_000);
        for text in [long.clone(), format!("{start}{long}"), format!("<platform version=\"{long}\"/>")] {
            if let Err(mistake) = read("damaged.xml", &text, &mut |_| Err("there is none".into())) {
                look(&mistake, &text);
            }
        }
    }
}
