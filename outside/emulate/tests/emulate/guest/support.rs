//! A small system for guests to boot, a snapshot of it, and a peer that answers pings.

use paceline_emulate::guest::{Card, Emulator, Frame, Guest, GuestSettings, GuestState, Stopped};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1000 * MS;
pub const MAC: [u8; 6] = [0x52, 0x54, 0, 0, 0, 1];
const PEER_MAC: [u8; 6] = [0x52, 0x54, 0, 0, 0, 2];

/// Boots, says `ready`, sleeps for a second in which it is saved, and runs the script that it was given.
const INIT: &str = r#"#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc p /proc; mount -t sysfs s /sys; mount -t devtmpfs d /dev
for m in failover net_failover virtio_net pvpanic pvpanic-pci; do insmod /modules/$m.ko; done
echo "ready"
sleep 1
insmod /modules/qemu_fw_cfg.ko
sh /sys/firmware/qemu_fw_cfg/by_name/opt/script/raw
echo "over"
poweroff -f
"#;

const MODULES: [&str; 6] = [
    "net/core/failover",
    "drivers/net/net_failover",
    "drivers/net/virtio_net",
    "drivers/misc/pvpanic/pvpanic",
    "drivers/misc/pvpanic/pvpanic-pci",
    "drivers/firmware/qemu_fw_cfg",
];

/// The emulator, or `None` with a word about why the test does nothing.
pub fn emulator() -> Option<Emulator> {
    Emulator::find().inspect_err(|error| eprintln!("skipped: {error}")).ok()
}

/// A folder of one test, empty.
pub fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guest").join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// A guest with one card that boots the system and runs a script.
pub fn settings(emulator: &Emulator, folder: &Path, script: &str) -> GuestSettings {
    let mut settings = GuestSettings::new("web", emulator.kernel(), folder.join("console"));
    settings.initramfs = Some(initramfs(emulator).clone());
    settings.cards = vec![Card { mac: MAC, mtu: 1500 }];
    settings.texts = vec![("opt/script".into(), script.into())];
    settings
}

/// The same, from where the system has said `ready`.
pub fn loaded(emulator: &Emulator, folder: &Path, script: &str) -> GuestSettings {
    let mut settings = settings(emulator, folder, script);
    settings.load = Some(snapshot(emulator).clone());
    settings
}

pub fn console(settings: &GuestSettings) -> String {
    fs::read_to_string(&settings.console).unwrap()
}

/// A guest and its peer.
pub struct Run {
    pub guest: Guest,
    pub stopped: Stopped,
    /// The frames that left the guest, in order.
    pub frames: Vec<Frame>,
    /// Answers on their way to the guest.
    pub arriving: Vec<Frame>,
}

impl Run {
    pub fn start(settings: &GuestSettings, emulator: &Emulator) -> Self {
        let mut guest = Guest::start(settings, emulator).unwrap();
        let stopped = guest.wait().unwrap();
        Self { guest, stopped, frames: Vec::new(), arriving: Vec::new() }
    }

    /// Grants time until the guest has ended or the condition holds; `window` is the longest grant after an
    /// event.
    pub fn advance(&mut self, window: u64, until: impl Fn(&Self) -> bool) {
        let limit = self.stopped.time_ns + 100 * SECOND;
        while self.stopped.state == GuestState::Standing && !until(self) {
            let first = self.arriving.iter().map(|frame| frame.time_ns).min();
            let next = self.stopped.next_ns.into_iter().chain(first).min().expect("it waits for ever");
            assert!(next < limit, "the guest does nothing");
            let until = next.max(self.stopped.time_ns) + window.min(LATENCY);
            let (now, later) = self.arriving.drain(..).partition(|frame| frame.time_ns < until);
            self.arriving = later;
            self.guest.grant(until, &now).unwrap();
            self.stopped = self.guest.wait().unwrap();
            for frame in self.stopped.frames.drain(..) {
                self.arriving.extend(answer(&frame));
                self.frames.push(frame);
            }
        }
    }
}

/// Runs a guest to its end with grants of `window`; gives the frames that left it, and when and how it ended.
pub fn run_to_end(
    settings: &GuestSettings,
    emulator: &Emulator,
    window: u64,
) -> (Vec<Frame>, u64, GuestState) {
    let mut run = Run::start(settings, emulator);
    run.advance(window, |_| false);
    (run.frames, run.stopped.time_ns, run.stopped.state)
}

/// From a frame's departure to the arrival of its answer.
pub const LATENCY: u64 = 10 * MS;

/// What the peer, 10.0.0.2, answers to requests of ARP (RFC 826) and ICMP echo (RFC 792).
fn answer(frame: &Frame) -> Option<Frame> {
    let mut bytes = frame.bytes.clone();
    let (destination, source) = (bytes[6..12].to_vec(), PEER_MAC);
    bytes[..6].copy_from_slice(&destination);
    bytes[6..12].copy_from_slice(&source);
    match (bytes[12], bytes[13]) {
        (8, 6) if bytes[21] == 1 => {
            let asked = bytes[38..42].to_vec();
            bytes.copy_within(22..32, 32);
            bytes[21] = 2;
            bytes[22..28].copy_from_slice(&PEER_MAC);
            bytes[28..32].copy_from_slice(&asked);
        }
        (8, 0) if bytes[23] == 1 && bytes[34] == 8 => {
            let (from, to) = (bytes[26..30].to_vec(), bytes[30..34].to_vec());
            bytes[26..30].copy_from_slice(&to);
            bytes[30..34].copy_from_slice(&from);
            // A reply is a request whose type, 8, is 0: the checksum rises by as much (RFC 1624).
            bytes[34] = 0;
            let sum = u32::from(bytes[36]) << 8 | u32::from(bytes[37]);
            let sum = sum + 0x800;
            let sum = (sum & 0xffff) + (sum >> 16);
            bytes[36..38].copy_from_slice(&(sum as u16).to_be_bytes());
        }
        _ => return None,
    }
    Some(Frame { time_ns: frame.time_ns + LATENCY, card: frame.card, bytes })
}

fn initramfs(emulator: &Emulator) -> &'static PathBuf {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| {
        let mut archive = Vec::new();
        for name in ["bin", "modules", "proc", "sys", "dev"] {
            add(&mut archive, name, 0o040_755, &[]);
        }
        add(&mut archive, "init", 0o100_755, INIT.as_bytes());
        add(&mut archive, "bin/busybox", 0o100_755, &fs::read(emulator.busybox()).unwrap());
        for module in MODULES {
            let packed = emulator.modules().join("kernel").join(format!("{module}.ko.xz"));
            let unpacked = Command::new("xz").arg("-dc").arg(packed).output().unwrap().stdout;
            let name = module.rsplit('/').next().unwrap();
            add(&mut archive, &format!("modules/{name}.ko"), 0o100_644, &unpacked);
        }
        add(&mut archive, "TRAILER!!!", 0, &[]);
        let file = folder("initramfs").join("archive");
        fs::write(&file, archive).unwrap();
        file
    })
}

/// A file in the kernel's format of archives (cpio, "newc"), with no time and no inode.
fn add(archive: &mut Vec<u8>, name: &str, mode: u32, data: &[u8]) {
    let fields = [0, mode, 0, 0, 1, 0, data.len() as u32, 0, 0, 0, 0, name.len() as u32 + 1, 0];
    archive.extend(b"070701");
    for field in fields {
        archive.extend(format!("{field:08X}").bytes());
    }
    archive.extend(name.bytes().chain([0]));
    archive.resize(archive.len().next_multiple_of(4), 0);
    archive.extend(data);
    archive.resize(archive.len().next_multiple_of(4), 0);
}

/// The system in its second of sleep, as a template.
fn snapshot(emulator: &Emulator) -> &'static PathBuf {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| {
        let folder = folder("snapshot");
        let mut settings = settings(emulator, &folder, "true");
        let file = folder.join("saved");
        settings.template = Some(file.clone());
        let mut run = Run::start(&settings, emulator);
        run.advance(100 * MS, |_| console(&settings).contains("ready"));
        run.guest.save_template().unwrap();
        file
    })
}
