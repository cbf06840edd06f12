//! What tshark says of captures: that they are well-formed, and how often it sees retransmissions and
//! duplicate ACKs. Skipped where there is no tshark.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use paceline_kernel::Time;
use paceline_packets::loss::LossModel;
use paceline_packets::queue::Share;
use paceline_packets::tcp::{Algorithm, Counters, Settings};
use paceline_packets::{Drive, Flow, LinkSpec, Packets, Tcp, Udp, topology};

use crate::capture::{Files, mixed, sequential};
use crate::web::crowd;

/// A folder with these files; nothing where there is no tshark.
fn folder(name: &str, files: &Files) -> Option<PathBuf> {
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("skipped: there is no tshark");
        return None;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    for (name, bytes) in files {
        fs::write(folder.join(name), bytes).unwrap();
    }
    Some(folder)
}

/// What tshark prints of a file with these arguments, line by line.
fn tshark(file: &Path, arguments: &[&str]) -> Vec<String> {
    let output = Command::new("tshark").arg("-r").arg(file).args(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    // It warns whoever runs it as root, whatever the file.
    let errors: Vec<&str> = errors.lines().filter(|line| !line.contains("\"root\"")).collect();
    assert!(output.status.success() && errors.is_empty(), "{}: {errors:?}", file.display());
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// Datagrams and segments of all lengths, also longer than IPv4 has them and shorter than their headers.
fn odd() -> Packets {
    let network = topology::star(2, &LinkSpec::new(1_000_000_000, 1_000_000)).unwrap();
    let udp = |wire_bytes| Udp { rate: 1_000_000_000, wire_bytes, drive: Drive::Constant, packets: Some(3) };
    let sizes = [1, 29, 30, 31, 65_537, 65_538, 100_000, 1_000_000];
    let mut flows: Vec<Flow> = sizes.iter().map(|size| Flow::udp(0, 1, udp(*size))).collect();
    for (mss, below_bytes) in [(65_495, 22), (1_000, 0), (1_000, 62)] {
        let settings = Settings { mss, receive_buffer: 1 << 24, ..Settings::default() };
        flows.push(Flow::tcp(0, 1, Tcp { below_bytes, ..Tcp::new(settings).bytes(500_000) }));
    }
    Packets::new(network, flows).unwrap()
}

#[test]
fn tshark_has_no_complaint() {
    const CHECKED: [&str; 6] =
        ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"];
    for (name, model, port, snap) in [
        ("mixed", mixed(), "left-0", None),
        ("mixed-whole", mixed(), "left-1", Some(2_000)),
        ("mixed-router", mixed(), "router-right -> router-left", None),
        ("web", crowd(true), "right-0", Some(2_000)),
        ("web-fresh", crowd(false), "router-left -> router-right", Some(2_000)),
        ("odd", odd(), "host-0", None),
        ("odd-whole", odd(), "host-0", Some(262_144)),
    ] {
        let (files, _) = sequential(&model.capture(&[port], snap).unwrap(), Time::secs(1));
        let Some(folder) = folder(name, &files) else { return };
        for name in files.keys() {
            let file = folder.join(name);
            // A line of what it noticed: how often, what kind ("Malformed" is one), which protocol, what.
            let noticed = tshark(&file, &[&["-q", "-z", "expert"][..], &CHECKED].concat());
            for line in noticed {
                let mut words = line.split_whitespace();
                let is_count = words.next().is_some_and(|word| word.parse::<u64>().is_ok());
                assert!(!is_count || words.next() == Some("Sequence"), "{}: {line}", file.display());
            }
            if snap.is_some() {
                let count = |filter: &str| tshark(&file, &[&["-Y", filter][..], &CHECKED].concat()).len();
                let all = count("frame");
                assert!(all > 10, "{}", file.display());
                let good =
                    "ip.checksum.status == 1 && (tcp.checksum.status == 1 || udp.checksum.status == 1)";
                assert_eq!(count(good), all, "{}", file.display());
            }
        }
    }
}

/// A connection through a slow link that loses so many of a thousand packets in either direction: its
/// counters at the sender, and the file there.
fn download(number: u64, settings: Settings, loss: u64) -> Option<(Counters, PathBuf)> {
    let mut link = LinkSpec::new(20_000_000, 10_000_000_000).drop_tail(30);
    link.loss = Some(LossModel::Random(Share::ratio(loss, 1_000).unwrap()));
    let network = topology::dumbbell(1, &LinkSpec::new(1_000_000_000, 100_000_000), &link).unwrap();
    let (from, to) = (network.node("left-0").unwrap(), network.node("right-0").unwrap());
    let flow = Flow::tcp(from, to, Tcp::new(settings).bytes(3_000_000));
    let model = Packets::new(network, vec![flow]).unwrap().seed(number);
    let (files, results) = sequential(&model.capture(&["left-0"], None).unwrap(), Time::secs(200));
    let folder = folder(&format!("download-{number}"), &files)?;
    Some((results.flows[0].sender.unwrap().counters, folder.join("left-0-and-router-left.pcap")))
}

/// Segments that are sent again, and ACKs that say nothing new, are as many as the connection counts.
#[test]
fn tshark_counts_what_connections_count() {
    let base = Settings::default();
    for (number, (settings, loss)) in [
        (base.clone(), 10),
        (Settings { sack: false, ..base.clone() }, 10),
        (Settings { rack: false, prr: false, ..base.clone() }, 10),
        (Settings { timestamps: false, ..base.clone() }, 0),
        (Settings { algorithm: Algorithm::Bbr, ..base.clone() }, 5),
        (Settings { min_rto: Time::millis(200), ..base }, 50),
    ]
    .into_iter()
    .enumerate()
    {
        let Some((counters, file)) = download(number as u64, settings, loss) else { return };
        // At a sender nothing overtakes. What is sent again soon after the newest segment tshark takes for
        // something that was overtaken.
        let again = "retransmission fast_retransmission spurious_retransmission out_of_order";
        let fields = again.split(' ').chain(["duplicate_ack"]).map(|name| format!("tcp.analysis.{name}"));
        let fields: Vec<String> = fields.collect();
        let mut arguments = vec!["-T", "fields", "-E", "separator=,", "-e", "ip.src"];
        fields.iter().for_each(|field| arguments.extend(["-e", field]));
        let (mut repeated, mut duplicates) = (0, 0);
        for line in tshark(&file, &arguments) {
            let (analysis, duplicate) = line.rsplit_once(',').unwrap();
            let is_of_sender = analysis.starts_with("10.0.0.1,");
            repeated += u32::from(is_of_sender && analysis.contains(",1"));
            duplicates += u32::from(!is_of_sender && duplicate == "1");
        }
        assert!(repeated > 10 && duplicates > 100, "case {number}: {repeated}, {duplicates}");
        assert_eq!(repeated, counters.retransmissions, "case {number}: segments sent again");
        assert_eq!(duplicates, counters.duplicate_acks, "case {number}: duplicate ACKs");
    }
}
